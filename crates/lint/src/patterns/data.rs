//! Data sets: on the GPU as a whole, or as lists that every worker copies.

use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtClassDef};
use ruff_text_size::Ranged;

use super::{Here, callee, calls};
use crate::live;
use crate::names::{last, mention, root};
use crate::rule::Rule;

/// `TensorDataset(x.to("cuda"), …)`.
pub(super) fn call<'a>(here: &mut Here<'a, '_>, call: &'a ExprCall) {
    let full = here.names.full(&call.func).unwrap_or_default();
    if last(&full) != "TensorDataset" {
        return;
    }
    if let Some(moved) = call.arguments.args.iter().find(|each| is_moved(each)) {
        here.report(
            Rule::DataOnGpu,
            moved.range(),
            "the whole data set is on the GPU for the whole run. Keep it on the host and move each batch",
        );
    }
}

/// `data = data.cuda()`, and then a batch of it in every step.
pub(super) fn in_body<'a>(here: &mut Here<'a, '_>, body: &'a [Stmt]) {
    if !here.classes.is_empty() {
        return;
    }
    let mut moved: Vec<(&str, &Expr)> = Vec::new();
    collect(body, &mut moved);
    for stmt in body {
        let Stmt::For(found) = stmt else { continue };
        for (name, value) in &moved {
            if picks(&found.body, name) {
                here.report(
                    Rule::DataOnGpu,
                    value.range(),
                    "the whole data set is on the GPU for the whole run. Keep it on the host and move each batch",
                );
            }
        }
        moved.retain(|(name, _)| !picks(&found.body, name));
    }
}

fn collect<'a>(body: &'a [Stmt], moved: &mut Vec<(&'a str, &'a Expr)>) {
    for stmt in live::reached(body) {
        match stmt {
            Stmt::If(found) => live::branches(found).bodies.into_iter().for_each(|body| collect(body, moved)),
            Stmt::Assign(found) if is_moved(&found.value) => {
                if let [Expr::Name(name)] = &found.targets[..]
                    && is_named_like_data(name.id.as_str())
                {
                    moved.push((name.id.as_str(), &found.value));
                }
            }
            _ => {}
        }
    }
}

fn is_named_like_data(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["data", "train", "images", "samples", "windows", "series", "corpus", "x_", "inputs", "features"]
        .iter()
        .any(|part| name.contains(part))
        || name == "x"
}

/// Whether statements take a batch out of a tensor: `data[rows]`, and not a fixed part.
fn picks(body: &[Stmt], name: &str) -> bool {
    mention(body, &|each| {
        each.as_subscript_expr().is_some_and(|found| {
            found.value.as_name_expr().is_some_and(|each| each.id.as_str() == name)
                && !found.slice.is_number_literal_expr()
                && !found.slice.is_tuple_expr()
        })
    })
}

/// Whether an expression moves a tensor to a GPU.
fn is_moved(expr: &Expr) -> bool {
    let Some(call) = expr.as_call_expr() else { return false };
    match callee(call) {
        "cuda" => true,
        "to" => {
            let device =
                call.arguments.find_keyword("device").map(|each| &each.value).or(call.arguments.args.first());
            device.is_some_and(|device| match device {
                Expr::StringLiteral(text) => text.value.to_str().starts_with("cuda"),
                Expr::Name(name) => name.id.as_str().to_ascii_lowercase().starts_with("dev"),
                Expr::Attribute(attribute) => attribute.attr.as_str() == "device",
                _ => false,
            })
        }
        _ => false,
    }
}

/// A data set that moves everything to the GPU as it is made, or that workers copy.
pub(super) fn in_class<'a>(here: &mut Here<'a, '_>, def: &'a StmtClassDef) {
    let Some(&class) = here.outline.class_named.get(def.name.as_str()) else { return };
    if !here.outline.is_dataset(class) {
        return;
    }
    let init = def
        .body
        .iter()
        .find_map(|stmt| stmt.as_function_def_stmt().filter(|each| each.name.as_str() == "__init__"));
    let Some(init) = init else { return };
    let mut search = Stores { lists: Vec::new(), moved: Vec::new() };
    search.visit_body(&init.body);
    for range in search.moved {
        here.report(
            Rule::DataOnGpu,
            range,
            "the whole data set is on the GPU for the whole run. Keep it on the host and move each batch",
        );
    }
    let has_workers = calls(&here.module.body).into_iter().any(has_workers)
        || here.outline.functions.iter().any(|function| calls(function.body).into_iter().any(has_workers));
    if let (true, Some(range)) = (has_workers, search.lists.first()) {
        here.report(
            Rule::ListsInWorkers,
            *range,
            "every worker of the DataLoader comes to have a copy of this list: looking at a Python object writes to it. Keep it in one NumPy array or tensor",
        );
    }
}

fn has_workers(call: &ExprCall) -> bool {
    callee(call) == "DataLoader"
        && call.arguments.find_keyword("num_workers").is_some_and(|each| match &each.value {
            Expr::NumberLiteral(number) => !number.value.as_int().is_some_and(|value| *value == 0),
            _ => false,
        })
}

struct Stores {
    lists: Vec<ruff_text_size::TextRange>,
    moved: Vec<ruff_text_size::TextRange>,
}

impl<'a> Visitor<'a> for Stores {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::If(found) => {
                return live::branches(found).bodies.iter().for_each(|body| self.visit_body(body));
            }
            Stmt::Assign(found) if found.targets.iter().any(Expr::is_attribute_expr) => {
                let is_large = match &*found.value {
                    Expr::ListComp(_) | Expr::DictComp(_) => true,
                    Expr::Call(call) => {
                        matches!(callee(call), "readlines" | "splitlines" | "glob" | "rglob" | "to_dict")
                            || callee(call) == "list"
                            || (callee(call) == "sorted"
                                && call.arguments.args.first().is_some_and(Expr::is_call_expr))
                            || (callee(call) == "load"
                                && root(&call.func).is_some_and(|root| root == "json" || root == "pickle"))
                    }
                    _ => false,
                };
                if is_large {
                    self.lists.push(found.range());
                }
                if is_moved(&found.value) {
                    self.moved.push(found.value.range());
                }
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }
}
