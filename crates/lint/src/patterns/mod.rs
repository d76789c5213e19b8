//! Rules that a look at the text around a place decides: what stands in which loop, function or handler.

mod accumulation;
mod attention;
mod backward;
mod data;
mod keras;
mod pairs;
mod metric;
mod pinned;
mod retry;
mod small;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{ExceptHandler, Expr, ExprCall, ModModule, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::TextRange;

use crate::finding::{Finding, Fix};
use crate::live;
use crate::names::Names;
use crate::outline::Outline;
use crate::rule::Rule;

/// Where the reader stands.
pub(crate) struct Here<'a, 'n> {
    pub(crate) names: &'n Names<'a>,
    pub(crate) outline: &'n Outline<'a>,
    pub(crate) module: &'a ModModule,
    pub(crate) functions: Vec<&'a StmtFunctionDef>,
    pub(crate) classes: Vec<&'a StmtClassDef>,
    /// The bodies of the loops of this function, from the outside in.
    pub(crate) loops: Vec<&'a [Stmt]>,
    pub(crate) in_handler: bool,
    pub(crate) has_gpu: bool,
    /// Somewhere in the file attention is left to a kernel.
    pub(crate) has_attention: bool,
    found: Vec<Finding>,
}

impl<'a> Here<'a, '_> {
    pub(crate) fn report(&mut self, rule: Rule, range: TextRange, message: impl Into<String>) {
        self.found.push(Finding { rule, range, message: message.into(), fix: None });
    }

    pub(crate) fn report_fixed(
        &mut self,
        rule: Rule,
        range: TextRange,
        message: impl Into<String>,
        fix: Option<Fix>,
    ) {
        self.found.push(Finding { rule, range, message: message.into(), fix });
    }

    fn visit_loop(&mut self, head: &'a Expr, body: &'a [Stmt], orelse: &'a [Stmt]) {
        self.visit_expr(head);
        self.loops.push(body);
        backward::in_loop(self, body);
        keras::in_loop(self, body);
        self.visit_body(body);
        self.loops.pop();
        self.visit_body(orelse);
    }

    /// The statements of the function around, or of the file.
    pub(crate) fn body(&self) -> &'a [Stmt] {
        self.functions.last().map_or(&self.module.body[..], |function| &function.body[..])
    }
}

/// Everything that these rules find in a file.
pub(crate) fn findings<'a>(
    module: &'a ModModule,
    names: &Names<'a>,
    outline: &Outline<'a>,
    has_gpu: bool,
    has_attention: bool,
) -> Vec<Finding> {
    let mut here = Here {
        names,
        outline,
        module,
        functions: Vec::new(),
        classes: Vec::new(),
        loops: Vec::new(),
        in_handler: false,
        has_gpu,
        has_attention,
        found: Vec::new(),
    };
    accumulation::in_function(&mut here, &module.body);
    data::in_body(&mut here, &module.body);
    here.visit_body(&module.body);
    here.found
}

impl<'a> Visitor<'a> for Here<'a, '_> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        live::reached(body).iter().for_each(|stmt| self.visit_stmt(stmt));
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => {
                let loops = std::mem::take(&mut self.loops);
                let in_handler = std::mem::replace(&mut self.in_handler, false);
                self.functions.push(def);
                accumulation::in_function(self, &def.body);
                data::in_body(self, &def.body);
                attention::in_function(self, def);
                for each in &def.decorator_list {
                    self.visit_expr(&each.expression);
                }
                self.visit_body(&def.body);
                self.functions.pop();
                (self.loops, self.in_handler) = (loops, in_handler);
            }
            Stmt::ClassDef(def) => {
                let functions = std::mem::take(&mut self.functions);
                self.classes.push(def);
                data::in_class(self, def);
                self.visit_body(&def.body);
                self.classes.pop();
                self.functions = functions;
            }
            Stmt::If(found) => {
                let branches = live::branches(found);
                branches.tests.iter().for_each(|test| self.visit_expr(test));
                branches.bodies.iter().for_each(|body| self.visit_body(body));
            }
            Stmt::For(found) => self.visit_loop(&found.iter, &found.body, &found.orelse),
            Stmt::While(found) => self.visit_loop(&found.test, &found.body, &found.orelse),
            Stmt::Try(found) => {
                retry::in_try(self, found);
                self.visit_body(&found.body);
                for ExceptHandler::ExceptHandler(handler) in &found.handlers {
                    let outer = std::mem::replace(&mut self.in_handler, true);
                    self.visit_body(&handler.body);
                    self.in_handler = outer;
                }
                self.visit_body(&found.orelse);
                self.visit_body(&found.finalbody);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::If(found) => match live::known(&found.test) {
                Some(true) => return self.visit_expr(&found.body),
                Some(false) => return self.visit_expr(&found.orelse),
                None => {}
            },
            Expr::Call(call) => {
                small::call(self, call);
                pairs::call(self, call);
                pinned::call(self, call);
                data::call(self, call);
                metric::call(self, call);
            }
            Expr::BinOp(op) => pairs::operation(self, op),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// Every call of some statements that may run, with those of functions inside them left out.
pub(crate) fn calls(body: &[Stmt]) -> Vec<&ExprCall> {
    #[derive(Default)]
    struct Calls<'a>(Vec<&'a ExprCall>);
    impl<'a> Visitor<'a> for Calls<'a> {
        fn visit_body(&mut self, body: &'a [Stmt]) {
            live::reached(body).iter().for_each(|stmt| self.visit_stmt(stmt));
        }

        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                Stmt::If(found) => {
                    let branches = live::branches(found);
                    branches.tests.iter().for_each(|test| self.visit_expr(test));
                    branches.bodies.iter().for_each(|body| self.visit_body(body));
                }
                _ => walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::If(found) = expr
                && let Some(value) = live::known(&found.test)
            {
                return self.visit_expr(if value { &found.body } else { &found.orelse });
            }
            if let Expr::Call(call) = expr {
                self.0.push(call);
            }
            walk_expr(self, expr);
        }
    }
    let mut calls = Calls::default();
    calls.visit_body(body);
    calls.0
}

/// The name of what is called: `c` of `a.b.c()`.
pub(crate) fn callee(call: &ExprCall) -> &str {
    match &*call.func {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => "",
    }
}
