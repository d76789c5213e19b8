//! A place of the source, and everything around it.

use ruff_python_ast::visitor::{Visitor, walk_except_handler, walk_expr, walk_stmt};
use ruff_python_ast::{ExceptHandler, ExceptHandlerExceptHandler, Expr, ModModule, Stmt, StmtTry};
use ruff_text_size::{Ranged, TextRange};

/// Where the line is written in a way that no change here is for.
pub(super) const NO_CHANGE: &str = "no change of this line could be tried: it is yours to mend";

/// A place, and what it lies in, from the outside in.
pub(super) struct Spot<'a> {
    pub(super) range: TextRange,
    pub(super) source: &'a str,
    pub(super) module: &'a ModModule,
    pub(super) stmts: Vec<&'a Stmt>,
    pub(super) exprs: Vec<&'a Expr>,
    /// The handlers around it, with the statements they belong to.
    pub(super) handlers: Vec<(&'a StmtTry, &'a ExceptHandlerExceptHandler)>,
}

impl<'a> Spot<'a> {
    pub(super) fn of(source: &'a str, module: &'a ModModule, range: TextRange) -> Spot<'a> {
        let mut spot =
            Spot { range, source, module, stmts: Vec::new(), exprs: Vec::new(), handlers: Vec::new() };
        spot.visit_body(&module.body);
        spot
    }

    /// The expression at exactly this place.
    pub(super) fn expr(&self) -> Option<&'a Expr> {
        self.exprs.iter().rev().find(|expr| expr.range() == self.range).copied()
    }

    /// The innermost statement, where it is a simple one that begins its line: something can be put before it.
    pub(super) fn line(&self) -> Option<&'a Stmt> {
        let stmt = self.stmts.last()?;
        let is_simple = matches!(
            stmt,
            Stmt::Expr(_) | Stmt::Assign(_) | Stmt::AugAssign(_) | Stmt::AnnAssign(_) | Stmt::Return(_)
        );
        (is_simple && self.begins_line(stmt.range())).then_some(*stmt)
    }

    /// Whether nothing but space stands before it on its line.
    pub(super) fn begins_line(&self, range: TextRange) -> bool {
        self.indent(range).is_some()
    }

    /// The space before it, where nothing else stands before it on its line.
    pub(super) fn indent(&self, range: TextRange) -> Option<&'a str> {
        let before = &self.source[..usize::from(range.start())];
        let line = before.rsplit('\n').next().unwrap_or(before);
        line.trim().is_empty().then_some(line)
    }

    /// The text of a part of the source.
    pub(super) fn text(&self, part: &impl Ranged) -> &'a str {
        let range = part.range();
        &self.source[usize::from(range.start())..usize::from(range.end())]
    }

    fn is_in(&self, range: TextRange) -> bool {
        range.contains_range(self.range)
    }
}

impl<'a> Visitor<'a> for Spot<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if !self.is_in(stmt.range()) {
            return;
        }
        self.stmts.push(stmt);
        if let Stmt::Try(found) = stmt {
            for ExceptHandler::ExceptHandler(handler) in &found.handlers {
                if self.is_in(handler.range()) {
                    self.handlers.push((found, handler));
                }
            }
        }
        walk_stmt(self, stmt);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        if self.is_in(handler.range()) {
            walk_except_handler(self, handler);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.is_in(expr.range()) {
            self.exprs.push(expr);
            walk_expr(self, expr);
        }
    }
}
