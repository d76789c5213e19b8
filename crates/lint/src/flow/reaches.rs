//! Whether a value is still needed with its graph: it reaches `backward()`, or leaves the function.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, Stmt};
use rustc_hash::FxHashSet;

use crate::live;
use crate::names::{mention, root};
use crate::patterns::{callee, calls};

/// Whether statements call `backward()`, or take gradients otherwise.
pub(super) fn has_backward(body: &[Stmt]) -> bool {
    calls(body).into_iter().any(|call| is_backward(&call.func))
}

/// Whether a function that is called runs a backward pass.
pub(super) fn is_backward(callee: &Expr) -> bool {
    match callee {
        Expr::Attribute(method) => {
            let name = method.attr.as_str();
            name == "backward"
                || name == "manual_backward"
                || (name == "grad" && root(callee) != Some("self"))
        }
        Expr::Name(name) => matches!(name.id.as_str(), "backward" | "grad"),
        _ => false,
    }
}

/// Whether what a local holds reaches a backward pass, or leaves the function with its graph: it is returned, yielded, kept
/// elsewhere or given to a function that is not known to only look at it.
pub(super) fn reaches(body: &[Stmt], name: &str) -> bool {
    let mut search = Search { holders: FxHashSet::from_iter([name]), found: false };
    // Values go on to names that are assigned later, and in loops earlier.
    for _ in 0..3 {
        let before = search.holders.len();
        search.visit_body(body);
        if search.found || search.holders.len() == before {
            break;
        }
    }
    search.found
}

struct Search<'a> {
    holders: FxHashSet<&'a str>,
    found: bool,
}

/// What ends the graph, or only looks.
const LOOKS: [&str; 16] = [
    "item", "detach", "tolist", "numpy", "cpu", "float", "int", "len", "print", "append", "str", "format",
    "log", "isnan", "isfinite", "extend",
];

impl<'a> Search<'a> {
    /// Whether an expression has a holder's graph in it.
    fn carries(&self, expr: &'a Expr) -> bool {
        match expr {
            Expr::Name(name) => self.holders.contains(name.id.as_str()),
            Expr::Call(call) => {
                let callee = match &*call.func {
                    Expr::Attribute(method) => {
                        if LOOKS.contains(&method.attr.as_str()) && method.attr.as_str() != "cpu" {
                            return false;
                        }
                        self.carries(&method.value)
                    }
                    Expr::Name(name) if LOOKS.contains(&name.id.as_str()) => return false,
                    _ => false,
                };
                callee
                    || call.arguments.args.iter().any(|each| self.carries(each))
                    || call.arguments.keywords.iter().any(|each| self.carries(&each.value))
            }
            Expr::Attribute(attribute) => self.carries(&attribute.value),
            Expr::Subscript(subscript) => self.carries(&subscript.value),
            Expr::BinOp(op) => self.carries(&op.left) || self.carries(&op.right),
            Expr::UnaryOp(op) => self.carries(&op.operand),
            Expr::Tuple(tuple) => tuple.elts.iter().any(|each| self.carries(each)),
            Expr::List(list) => list.elts.iter().any(|each| self.carries(each)),
            Expr::Dict(dict) => dict.items.iter().any(|each| self.carries(&each.value)),
            Expr::Starred(starred) => self.carries(&starred.value),
            Expr::If(found) => self.carries(&found.body) || self.carries(&found.orelse),
            Expr::ListComp(list) => self.comprehends(&list.elt, &list.generators),
            Expr::Generator(list) => self.comprehends(&list.elt, &list.generators),
            Expr::DictComp(dict) => self.comprehends(&dict.value, &dict.generators),
            _ => false,
        }
    }

    fn comprehends(&self, element: &'a Expr, generators: &'a [ruff_python_ast::Comprehension]) -> bool {
        let mut inner = Search { holders: self.holders.clone(), found: false };
        for each in generators {
            if inner.carries(&each.iter) {
                inner.hold(&each.target);
            }
        }
        inner.carries(element)
    }

    fn hold(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) => {
                self.holders.insert(name.id.as_str());
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|each| self.hold(each)),
            Expr::List(list) => list.elts.iter().for_each(|each| self.hold(each)),
            Expr::Starred(starred) => self.hold(&starred.value),
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for Search<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        live::reached(body).iter().for_each(|stmt| self.visit_stmt(stmt));
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            // A function inside may use it in ways that are not followed.
            Stmt::FunctionDef(def) => {
                let uses = |expr: &Expr| {
                    expr.as_name_expr().is_some_and(|name| self.holders.contains(name.id.as_str()))
                };
                self.found |= mention(&def.body, &uses) && has_backward(&def.body);
                return;
            }
            Stmt::ClassDef(_) => return,
            Stmt::If(found) => {
                live::branches(found).bodies.iter().for_each(|body| self.visit_body(body));
                return;
            }
            Stmt::Assign(found) if self.carries(&found.value) => {
                for target in &found.targets {
                    self.hold(target);
                    self.found |= target.is_attribute_expr();
                }
            }
            Stmt::AugAssign(found) if self.carries(&found.value) => {
                self.hold(&found.target);
            }
            Stmt::For(found) if self.carries(&found.iter) => {
                self.hold(&found.target);
            }
            Stmt::Return(found) => {
                self.found |= found.value.as_ref().is_some_and(|value| self.carries(value));
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Yield(found) => self.found |= found.value.as_ref().is_some_and(|value| self.carries(value)),
            Expr::Call(call) => {
                let arguments =
                    call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|each| &each.value));
                let given = arguments.clone().any(|each| self.carries(each));
                if is_backward(&call.func) {
                    let of = call.func.as_attribute_expr().is_some_and(|method| self.carries(&method.value));
                    self.found |= of || given;
                } else if given {
                    let name = callee(call);
                    // What such a function does with it is not read here.
                    self.found |= ["update", "learn", "backward", "optimize", "train_on", "step"]
                        .iter()
                        .any(|part| name.contains(part));
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
