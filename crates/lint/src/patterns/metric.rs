//! Metrics that keep every prediction.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use super::Here;
use super::pairs::assigned;
use crate::live;
use crate::names::last;
use crate::rule::Rule;

/// Curves of torchmetrics without thresholds are made from all scores at once.
const CURVES: [&str; 4] = ["AveragePrecision", "PrecisionRecallCurve", "ROC", "AUROC"];

pub(super) fn call<'a>(here: &mut Here<'a, '_>, call: &'a ExprCall) {
    let full = here.names.full(&call.func).unwrap_or_default();
    let name = last(&full);
    let is_curve = full.starts_with("torchmetrics.") && CURVES.iter().any(|curve| name.ends_with(curve));
    if !is_curve {
        return;
    }
    let is_exact = match call.arguments.find_keyword("thresholds") {
        None => true,
        Some(each) => is_none(here, &each.value),
    };
    if is_exact {
        here.report(
            Rule::Metric,
            call.range(),
            format!("`{name}` keeps every score and label it is given, on the GPU. `thresholds=200` keeps a table instead"),
        );
    }
}

/// Whether a value is `None`, by what is written here or where its name was assigned.
fn is_none(here: &Here<'_, '_>, expr: &Expr) -> bool {
    match expr {
        Expr::NoneLiteral(_) => true,
        Expr::If(found) => match live::known(&found.test) {
            Some(true) => is_none(here, &found.body),
            Some(false) => is_none(here, &found.orelse),
            None => false,
        },
        Expr::Name(name) => {
            let value = assigned(here.body(), name.id.as_str())
                .or_else(|| assigned(&here.module.body, name.id.as_str()));
            // What is assigned from another name is not followed.
            value.is_some_and(|value| !names_any(value) && is_none(here, value))
        }
        _ => false,
    }
}

fn names_any(expr: &Expr) -> bool {
    match expr {
        Expr::If(found) => names_any(&found.body) || names_any(&found.orelse),
        _ => expr.is_name_expr(),
    }
}
