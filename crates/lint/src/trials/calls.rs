//! Calls, changed at their place.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtAssign};
use ruff_text_size::{Ranged, TextRange};

use super::edits::{Edit, before, with_keyword, without_method, wrapped};
use super::spot::{NO_CHANGE, Spot};
use crate::names::{mentions_place, root};
use crate::patterns::callee;

type Edits = Result<Vec<Edit>, &'static str>;

/// The call at a place.
pub(super) fn at<'a>(spot: &Spot<'a>) -> Result<&'a ExprCall, &'static str> {
    spot.expr().and_then(Expr::as_call_expr).ok_or(NO_CHANGE)
}

/// An argument by name.
pub(super) fn keyword(spot: &Spot<'_>, name: &str, value: &str) -> Edits {
    Ok(vec![with_keyword(at(spot)?, name, value)])
}

/// The call under `torch.no_grad()`, with the line it stands in.
pub(super) fn under_no_grad(spot: &Spot<'_>) -> Edits {
    let line = spot.line().ok_or(NO_CHANGE)?;
    Ok(vec![before(line.start(), "with torch.no_grad(): ")])
}

/// The call alone under `torch.no_grad()`: what else the line computes may need its graph.
pub(super) fn asked_without_graph(spot: &Spot<'_>) -> Edits {
    let call = at(spot)?;
    let value = match spot.line() {
        Some(Stmt::Expr(found)) => Some(&*found.value),
        Some(Stmt::Assign(found)) => Some(&*found.value),
        Some(Stmt::Return(found)) => found.value.as_deref(),
        _ => None,
    };
    if value.is_some_and(|value| value.range() == call.range()) {
        return under_no_grad(spot);
    }
    Ok(wrapped(&call.func, "without_graph"))
}

/// `x.float()` as `x`.
pub(super) fn left_out(spot: &Spot<'_>) -> Edits {
    without_method(at(spot)?).map(|edit| vec![edit]).ok_or(NO_CHANGE)
}

/// The copy before a copy, left out.
pub(super) fn one_copy(spot: &Spot<'_>) -> Edits {
    let Expr::Attribute(method) = &*at(spot)?.func else { return Err(NO_CHANGE) };
    let inner = method.value.as_call_expr().filter(|inner| callee(inner) == "clone").ok_or(NO_CHANGE)?;
    without_method(inner).map(|edit| vec![edit]).ok_or(NO_CHANGE)
}

/// Data that is moved to the GPU as a whole, left where it is; `list(loader)` as `loader`.
pub(super) fn not_moved(spot: &Spot<'_>) -> Edits {
    let call = at(spot)?;
    if let (Expr::Name(_), [inner]) = (&*call.func, &*call.arguments.args) {
        return Ok(vec![(call.range(), spot.text(inner).to_owned())]);
    }
    // What is moved beside it, for the same data set, stays as well.
    let around = spot.exprs.iter().rev().find(|expr| expr.range() != spot.range);
    let beside = around.and_then(|expr| expr.as_call_expr()).map_or(&[][..], |outer| &outer.arguments.args);
    let moves =
        beside.iter().filter_map(Expr::as_call_expr).filter(|each| matches!(callee(each), "to" | "cuda"));
    let mut edits: Vec<Edit> = moves.filter_map(without_method).collect();
    if edits.is_empty() {
        edits.extend(without_method(call));
    }
    if edits.is_empty() { Err(NO_CHANGE) } else { Ok(edits) }
}

/// `state` in `out, state = model(x, state)`, without its graph.
pub(super) fn state_detached(spot: &Spot<'_>) -> Edits {
    let Some(Stmt::Assign(StmtAssign { targets, .. })) = spot.stmts.last() else { return Err(NO_CHANGE) };
    let call = spot
        .expr()
        .and_then(Expr::as_call_expr)
        .or_else(|| spot.exprs.iter().rev().find_map(|expr| expr.as_call_expr()));
    let arguments = call.map_or(&[][..], |call| &call.arguments.args);
    let states = arguments.iter().filter(|each| targets.iter().any(|target| mentions_place(target, each)));
    let edits: Vec<Edit> = states.flat_map(|state| wrapped(state, "detached")).collect();
    if edits.is_empty() { Err(NO_CHANGE) } else { Ok(edits) }
}

/// A hook in the place of the one that this line set before.
pub(super) fn newest_hook(spot: &Spot<'_>) -> Edits {
    Ok(wrapped(spot.expr().ok_or(NO_CHANGE)?, "newest"))
}

/// A cache that keeps one result.
pub(super) fn small_cache(spot: &Spot<'_>) -> Edits {
    match spot.expr().ok_or(NO_CHANGE)? {
        Expr::Call(call) => match &*call.arguments.args {
            [] => Ok(vec![with_keyword(call, "maxsize", "1")]),
            [size] => Ok(vec![(size.range(), "1".to_owned())]),
            _ => Err(NO_CHANGE),
        },
        bare => Ok(vec![(bare.range(), "__import__(\"functools\").lru_cache(maxsize=1)".to_owned())]),
    }
}

/// `forever(loader)` for `itertools.cycle(loader)`.
pub(super) fn forever(spot: &Spot<'_>) -> Edits {
    Ok(vec![(at(spot)?.func.range(), "forever".to_owned())])
}

/// `gc.enable()` for `gc.disable()`.
pub(super) fn collector_on(spot: &Spot<'_>) -> Edits {
    match &*at(spot)?.func {
        Expr::Attribute(method) => Ok(vec![(method.attr.range(), "enable".to_owned())]),
        _ => Err(NO_CHANGE),
    }
}

/// `.float()` on what NumPy made.
pub(super) fn in_float32(spot: &Spot<'_>) -> Edits {
    let expr = spot.expr().ok_or(NO_CHANGE)?;
    let made = calls_within(expr)
        .into_iter()
        .find(|call| matches!(callee(call), "from_numpy" | "tensor" | "as_tensor"));
    Ok(vec![before(made.map_or(expr.end(), Ranged::end), ".float()")])
}

/// A product with one-hot rows, as a look into the table.
pub(super) fn looked_up(spot: &Spot<'_>) -> Edits {
    let product = spot.expr().and_then(Expr::as_bin_op_expr).ok_or(NO_CHANGE)?;
    let looked = |rows: &str| {
        (product.range(), format!("torch.nn.functional.embedding({rows}, {})", spot.text(&*product.right)))
    };
    let one_hot = |expr| calls_within(expr).into_iter().find(|call| callee(call) == "one_hot");
    if let Some(rows) = one_hot(&product.left).and_then(|call| call.arguments.args.first()) {
        return Ok(vec![looked(spot.text(rows))]);
    }
    let name = root(&product.left).ok_or(NO_CHANGE)?;
    let mut assigned = assignments(spot, name).into_iter().filter_map(|assign| {
        let call = assign.value.as_call_expr().filter(|call| callee(call) == "one_hot")?;
        Some((call.range(), spot.text(call.arguments.args.first()?).to_owned()))
    });
    let rows: (TextRange, String) = assigned.next().ok_or(NO_CHANGE)?;
    if assigned.next().is_some() { Err(NO_CHANGE) } else { Ok(vec![rows, looked(name)]) }
}

/// Every call in an expression, from the outside in.
fn calls_within(expr: &Expr) -> Vec<&ExprCall> {
    #[derive(Default)]
    struct Calls<'a>(Vec<&'a ExprCall>);
    impl<'a> Visitor<'a> for Calls<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.0.extend(expr.as_call_expr());
            walk_expr(self, expr);
        }
    }
    let mut calls = Calls::default();
    calls.visit_expr(expr);
    calls.0
}

/// Where a name is set, in the function around a place.
fn assignments<'a>(spot: &Spot<'a>, name: &str) -> Vec<&'a StmtAssign> {
    struct Search<'a, 's>(&'s str, Vec<&'a StmtAssign>);
    impl<'a> Visitor<'a> for Search<'a, '_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::Assign(assign) = stmt
                && assign.targets.iter().any(|each| each.as_name_expr().is_some_and(|each| each.id == self.0))
            {
                self.1.push(assign);
            }
            ruff_python_ast::visitor::walk_stmt(self, stmt);
        }
    }
    let function = spot.stmts.iter().rev().find_map(|stmt| stmt.as_function_def_stmt());
    let mut search = Search(name, Vec::new());
    search.visit_body(function.map_or(&spot.module.body, |function| &function.body));
    search.1
}
