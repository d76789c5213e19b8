//! The classes and functions of a file, and which of its containers are emptied somewhere.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ModModule, Stmt, StmtClassDef, StmtFunctionDef};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::live;
use crate::names::{Names, last, mentions_place};
use crate::value::Home;

/// A function of the file. The first one is the file itself.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) def: Option<&'a StmtFunctionDef>,
    pub(crate) body: &'a [Stmt],
    pub(crate) class: Option<usize>,
    /// The function that it is defined in.
    pub(crate) parent: usize,
    /// What it was decorated with, in full.
    pub(crate) decorators: Vec<String>,
    pub(crate) yields: bool,
}

impl Function<'_> {
    pub(crate) fn name(&self) -> &str {
        self.def.map_or("", |def| def.name.as_str())
    }
}

/// A class of the file.
#[derive(Debug)]
pub(crate) struct Class<'a> {
    pub(crate) def: &'a StmtClassDef,
    pub(crate) bases: Vec<String>,
    pub(crate) methods: FxHashMap<&'a str, usize>,
}

/// What a file defines.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    pub(crate) functions: Vec<Function<'a>>,
    pub(crate) classes: Vec<Class<'a>>,
    /// Functions by their definition, and by the function they are defined in and their name.
    pub(crate) function_of: FxHashMap<u32, usize>,
    pub(crate) named: FxHashMap<(usize, &'a str), usize>,
    pub(crate) class_named: FxHashMap<&'a str, usize>,
    /// What something is taken from, or what is emptied or made anew, somewhere.
    pub(crate) emptied: FxHashSet<Home<'a>>,
    /// Names of methods that are called somewhere with no arguments.
    pub(crate) called_bare: FxHashSet<&'a str>,
}

impl<'a> Outline<'a> {
    pub(crate) fn of(module: &'a ModModule, names: &Names<'a>) -> Outline<'a> {
        let whole = Function {
            def: None,
            body: &module.body,
            class: None,
            parent: 0,
            decorators: Vec::new(),
            yields: false,
        };
        let outline = Outline {
            functions: vec![whole],
            classes: Vec::new(),
            function_of: FxHashMap::default(),
            named: FxHashMap::default(),
            class_named: FxHashMap::default(),
            emptied: FxHashSet::default(),
            called_bare: FxHashSet::default(),
        };
        let mut walk = Walk {
            outline,
            names,
            function: 0,
            class: None,
            aliases: FxHashMap::default(),
            loops: 0,
            globals: Vec::new(),
        };
        walk.visit_body(&module.body);
        walk.outline
    }

    /// The method of a class, or of a class of this file that it is made from.
    pub(crate) fn method(&self, class: usize, name: &str) -> Option<usize> {
        let mut at = Some(class);
        for _ in 0..8 {
            let found = &self.classes[at?];
            if let Some(&method) = found.methods.get(name) {
                return Some(method);
            }
            at = found.bases.iter().find_map(|base| self.class_named.get(last(base)).copied());
        }
        None
    }

    /// Whether a class is made from one with this name, directly or through classes of this file.
    pub(crate) fn is_a(&self, class: usize, is_base: &dyn Fn(&str) -> bool) -> bool {
        let mut stack = vec![class];
        for _ in 0..16 {
            let Some(at) = stack.pop() else { return false };
            for base in &self.classes[at].bases {
                match self.class_named.get(last(base)) {
                    Some(&known) if known != at => stack.push(known),
                    _ if is_base(base) => return true,
                    _ => {}
                }
            }
        }
        false
    }

    /// Whether a class is a model.
    pub(crate) fn is_module(&self, class: usize) -> bool {
        self.is_a(class, &|base| {
            let name = last(base);
            let is_torch = base.contains("torch.nn.") || base.starts_with("nn.");
            is_torch && name.starts_with(char::is_uppercase)
                || name == "Module"
                || name.ends_with("Module")
                || name == "PreTrainedModel"
                || name.ends_with("PreTrainedModel")
        })
    }

    /// Whether a class is a data set.
    pub(crate) fn is_dataset(&self, class: usize) -> bool {
        self.is_a(class, &|base| last(base).ends_with("Dataset"))
    }
}

struct Walk<'a, 'n> {
    outline: Outline<'a>,
    names: &'n Names<'a>,
    function: usize,
    class: Option<usize>,
    /// Locals that are another name of an attribute.
    aliases: FxHashMap<&'a str, &'a str>,
    loops: usize,
    globals: Vec<&'a str>,
}

/// Methods that take something out of a container.
const TAKES: [&str; 9] =
    ["pop", "popleft", "popitem", "clear", "remove", "discard", "get_nowait", "reset", "get"];

impl<'a> Walk<'a, '_> {
    fn function(&mut self, def: &'a StmtFunctionDef) {
        let id = self.outline.functions.len();
        let class = if self.function == 0 || self.class.is_some() { self.class } else { None };
        let decorators = def.decorator_list.iter().filter_map(|each| {
            let expr = each.expression.as_call_expr().map_or(&each.expression, |call| &call.func);
            self.names.full(expr)
        });
        self.outline.functions.push(Function {
            def: Some(def),
            body: &def.body,
            class,
            parent: self.function,
            decorators: decorators.collect(),
            yields: false,
        });
        self.outline.function_of.insert(def.range.start().to_u32(), id);
        match class {
            Some(class) => {
                self.outline.classes[class].methods.insert(def.name.as_str(), id);
            }
            None => {
                self.outline.named.insert((self.function, def.name.as_str()), id);
            }
        }
        let outer = (
            self.function,
            self.class,
            std::mem::take(&mut self.aliases),
            self.loops,
            std::mem::take(&mut self.globals),
        );
        (self.function, self.class, self.loops) = (id, None, 0);
        self.visit_body(&def.body);
        (self.function, self.class, self.aliases, self.loops, self.globals) = outer;
    }

    fn class(&mut self, def: &'a StmtClassDef) {
        let id = self.outline.classes.len();
        let bases = def.arguments.iter().flat_map(|arguments| &arguments.args);
        let bases = bases.filter_map(|base| self.names.full(base)).collect();
        self.outline.classes.push(Class { def, bases, methods: FxHashMap::default() });
        self.outline.class_named.insert(def.name.as_str(), id);
        let outer = self.class.replace(id);
        self.visit_body(&def.body);
        self.class = outer;
    }

    /// The home of a container that is used here.
    fn home(&self, expr: &'a Expr) -> Option<Home<'a>> {
        match expr {
            Expr::Attribute(attribute) => Some(Home::Attribute(attribute.attr.as_str())),
            Expr::Name(name) => Some(match self.aliases.get(name.id.as_str()) {
                Some(attribute) => Home::Attribute(attribute),
                None => Home::Outer(name.id.as_str()),
            }),
            Expr::Subscript(subscript) => self.home(&subscript.value),
            _ => None,
        }
    }

    fn empties(&mut self, expr: &'a Expr) {
        if let Some(home) = self.home(expr) {
            self.outline.emptied.insert(home);
        }
    }

    fn assigned(&mut self, target: &'a Expr, value: &'a Expr) {
        match target {
            Expr::Tuple(tuple) => {
                for target in &tuple.elts {
                    self.assigned(target, value);
                }
            }
            // Made anew anywhere but where it is made first; a value made from itself only forgets by a slice.
            Expr::Attribute(_) => {
                let is_first = self.outline.functions[self.function].name() == "__init__";
                if !is_first && (!mentions_place(value, target) || cuts(value, target)) {
                    self.empties(target);
                }
            }
            Expr::Name(name) => {
                if let Expr::Attribute(attribute) = value {
                    self.aliases.insert(name.id.as_str(), attribute.attr.as_str());
                }
                let is_outer =
                    self.globals.contains(&name.id.as_str()) || (self.function == 0 && self.loops > 0);
                if is_outer && (!mentions_place(value, target) || cuts(value, target)) {
                    self.outline.emptied.insert(Home::Outer(name.id.as_str()));
                }
            }
            // `x[:] = …` and `del x[:]`.
            Expr::Subscript(subscript) if subscript.slice.is_slice_expr() => self.empties(&subscript.value),
            _ => {}
        }
    }
}

/// Whether a value is a slice of a place: `x[-5:]`.
pub(crate) fn cuts(value: &Expr, place: &Expr) -> bool {
    crate::names::mentions(value, &|each| {
        each.as_subscript_expr()
            .is_some_and(|each| each.slice.is_slice_expr() && crate::names::same_place(&each.value, place))
    })
}

impl<'a> Visitor<'a> for Walk<'a, '_> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        live::reached(body).iter().for_each(|stmt| self.visit_stmt(stmt));
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => self.function(def),
            Stmt::ClassDef(def) => self.class(def),
            Stmt::If(found) => {
                let branches = live::branches(found);
                branches.tests.iter().for_each(|test| self.visit_expr(test));
                branches.bodies.iter().for_each(|body| self.visit_body(body));
            }
            Stmt::For(_) | Stmt::While(_) => {
                self.loops += 1;
                walk_stmt(self, stmt);
                self.loops -= 1;
            }
            Stmt::Global(found) => {
                self.globals.extend(found.names.iter().map(ruff_python_ast::Identifier::as_str));
            }
            Stmt::Nonlocal(found) => {
                self.globals.extend(found.names.iter().map(ruff_python_ast::Identifier::as_str));
            }
            Stmt::Delete(found) => {
                for target in &found.targets {
                    match target {
                        Expr::Subscript(subscript) => self.empties(&subscript.value),
                        Expr::Attribute(_) => self.empties(target),
                        _ => {}
                    }
                }
            }
            Stmt::Assign(found) => {
                for target in &found.targets {
                    self.assigned(target, &found.value);
                }
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                if let Expr::Attribute(method) = &*call.func {
                    if TAKES.contains(&method.attr.as_str()) {
                        // `get` of a dictionary takes nothing out; that of a queue has no argument.
                        if method.attr.as_str() != "get" || call.arguments.is_empty() {
                            self.empties(&method.value);
                        }
                    }
                    if call.arguments.is_empty() {
                        self.outline.called_bare.insert(method.attr.as_str());
                    }
                }
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => self.outline.functions[self.function].yields = true,
            Expr::If(found) => {
                match live::known(&found.test) {
                    Some(true) => self.visit_expr(&found.body),
                    Some(false) => self.visit_expr(&found.orelse),
                    None => walk_expr(self, expr),
                }
                return;
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
