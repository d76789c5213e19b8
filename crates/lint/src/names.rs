//! Dotted names: what `F.cross_entropy` means where `F` was imported.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ModModule, Stmt};
use rustc_hash::FxHashMap;

/// The names that a file imports, with what each stands for in full.
#[derive(Debug, Default)]
pub(crate) struct Names<'a> {
    imported: FxHashMap<&'a str, String>,
}

impl<'a> Names<'a> {
    /// All imports of a file, wherever they stand.
    pub(crate) fn of(module: &'a ModModule) -> Names<'a> {
        let mut names = Names::default();
        names.visit_body(&module.body);
        names
    }

    /// The full name of an expression that is a name, or attributes of one: `torch.nn.functional.cross_entropy`. What is not
    /// imported stays as it is written.
    pub(crate) fn full(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(name) => {
                let id = name.id.as_str();
                Some(self.imported.get(id).cloned().unwrap_or_else(|| id.to_owned()))
            }
            Expr::Attribute(attribute) => {
                let mut base = self.full(&attribute.value)?;
                base.push('.');
                base.push_str(attribute.attr.as_str());
                Some(base)
            }
            _ => None,
        }
    }

    /// Whether something of this package is imported.
    pub(crate) fn has(&self, package: &str) -> bool {
        self.imported.values().any(|full| full.split('.').next() == Some(package))
    }
}

impl<'a> Visitor<'a> for Names<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.name.as_str();
                    match &alias.asname {
                        Some(short) => self.imported.insert(short.as_str(), name.to_owned()),
                        // `import a.b` binds `a`.
                        None => {
                            let first = name.split('.').next().unwrap_or(name);
                            self.imported.insert(first, first.to_owned())
                        }
                    };
                }
            }
            Stmt::ImportFrom(import) if import.level == 0 => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                for alias in &import.names {
                    let short = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.imported.insert(short.as_str(), format!("{module}.{}", alias.name.as_str()));
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// The last part of a dotted name.
pub(crate) fn last(full: &str) -> &str {
    full.rsplit('.').next().unwrap_or(full)
}

/// The name that an expression begins with: `a` of `a.b[0].c()`.
pub(crate) fn root(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => root(&attribute.value),
        Expr::Subscript(subscript) => root(&subscript.value),
        Expr::Call(call) => root(&call.func),
        Expr::Starred(starred) => root(&starred.value),
        _ => None,
    }
}

/// Whether an expression, or a part of it, is what is wanted.
pub(crate) fn mentions(expr: &Expr, wanted: &dyn Fn(&Expr) -> bool) -> bool {
    let mut search = Search { wanted, found: false };
    search.visit_expr(expr);
    search.found
}

/// Whether statements mention what is wanted, in any place.
pub(crate) fn mention(body: &[Stmt], wanted: &dyn Fn(&Expr) -> bool) -> bool {
    let mut search = Search { wanted, found: false };
    search.visit_body(body);
    search.found
}

struct Search<'s> {
    wanted: &'s dyn Fn(&Expr) -> bool,
    found: bool,
}

impl<'a> Visitor<'a> for Search<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if !self.found {
            self.found = (self.wanted)(expr);
            if !self.found {
                walk_expr(self, expr);
            }
        }
    }
}

/// Whether an expression mentions this name or these attributes: `x`, `self.x`.
pub(crate) fn mentions_place(expr: &Expr, place: &Expr) -> bool {
    mentions(expr, &|each| same_place(each, place))
}

/// Whether two expressions are the same name, or the same attributes of one.
pub(crate) fn same_place(one: &Expr, other: &Expr) -> bool {
    match (one, other) {
        (Expr::Name(one), Expr::Name(other)) => one.id == other.id,
        (Expr::Attribute(one), Expr::Attribute(other)) => {
            one.attr.as_str() == other.attr.as_str() && same_place(&one.value, &other.value)
        }
        (Expr::Subscript(one), Expr::Subscript(other)) => {
            same_place(&one.value, &other.value) && same_place(&one.slice, &other.slice)
        }
        (Expr::StringLiteral(one), Expr::StringLiteral(other)) => one.value.to_str() == other.value.to_str(),
        _ => false,
    }
}
