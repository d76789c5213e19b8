//! Crates and modules have an order, and use only what stands above them in it.

use super::{File, Problem, Repository};

/// A crate uses only crates that stand above it in the table of ARCHITECTURE.md. Tests may use any.
pub fn crate_out_of_order(repository: &Repository) -> Vec<Problem> {
    let order: Vec<&str> = repository
        .with_suffix("ARCHITECTURE.md")
        .flat_map(|file| file.text.lines())
        .filter_map(|line| line.strip_prefix("| [")?.split_once("](crates/").map(|(name, _)| name))
        .collect();
    let place = |name: &str| order.iter().position(|known| *known == name);
    let mut problems = Vec::new();
    for file in repository.with_suffix("/Cargo.toml") {
        let Some(name) = file.crate_name() else { continue };
        let Some(own) = place(name) else {
            problems.push(Problem::at(file, 0, "the crate is not in the table of ARCHITECTURE.md"));
            continue;
        };
        let mut is_dependency = false;
        for (index, line) in file.text.lines().enumerate() {
            if line.starts_with('[') {
                is_dependency = line == "[dependencies]";
            }
            let Some(used) = line.strip_prefix("oomph-").filter(|_| is_dependency) else { continue };
            let used = used.split(['.', ' ', '=']).next().unwrap_or_default();
            if place(used).is_none_or(|place| place >= own) {
                problems.push(Problem::at(file, index + 1, format!("`{name}` stands above `{used}`")));
            }
        }
    }
    problems
}

/// A module uses only those of its siblings that are declared above it; so there are no cycles, and the declarations
/// are a reading order.
pub fn module_out_of_order(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in repository.rust().filter(|file| file.is_source()) {
        let Some(own) = Module::of(&file.path) else { continue };
        for (line, path) in paths(&file.code_without_tests()) {
            let Some(target) = own.resolved(&path) else { continue };
            let shared = own.path.iter().zip(&target).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (own.path.get(shared), target.get(shared)) else { continue };
            let siblings = own.declared(repository, &own.path[..shared]);
            let place = |name: &String| siblings.iter().position(|sibling| sibling == name);
            if let (Some(from_place), Some(to_place)) = (place(from), place(to))
                && from_place < to_place
            {
                problems.push(Problem::at(
                    file,
                    line,
                    format!("`{from}` uses `{to}`, which is declared below it"),
                ));
            }
        }
    }
    problems.dedup();
    problems
}

/// Where a file stands in its crate.
struct Module {
    /// `crates/engine/src`.
    root: String,
    /// `["torch", "pool"]`; empty for lib.rs and main.rs.
    path: Vec<String>,
}

impl Module {
    fn of(file: &str) -> Option<Module> {
        let (name, inside) = file.strip_prefix("crates/")?.split_once("/src/")?;
        let mut path: Vec<String> = inside.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
        if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            path.pop();
        }
        Some(Module { root: format!("crates/{name}/src"), path })
    }

    /// The module path that `crate::…`, `super::…` or `self::…` means here.
    fn resolved(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, mut rest) = path.split_first()?;
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => self.path.clone(),
            "super" => self.path[..self.path.len().checked_sub(1)?].to_vec(),
            _ => return None,
        };
        while rest.first().is_some_and(|next| next == "super") {
            base.pop()?;
            rest = &rest[1..];
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The modules that the file of the module at `path` declares, in order.
    fn declared(&self, repository: &Repository, path: &[String]) -> Vec<String> {
        let base = [std::slice::from_ref(&self.root), path].concat().join("/");
        let names = if path.is_empty() {
            vec![format!("{base}/lib.rs"), format!("{base}/main.rs")]
        } else {
            vec![format!("{base}.rs"), format!("{base}/mod.rs")]
        };
        let file = repository.rust().find(|file| names.contains(&file.path));
        let declaration = |line: String| {
            let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
            let name = line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')?;
            Some(name.to_owned())
        };
        file.into_iter().flat_map(File::code).filter_map(declaration).collect()
    }
}

/// Every path in the code that begins with `crate`, `super` or `self`, with its line; groups in braces are spread out.
fn paths(code: &[String]) -> Vec<(usize, Vec<String>)> {
    let text = code.join("\n");
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(root) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = text[..at].matches('\n').count() + 1;
            spread(&text[at..], &mut Vec::new(), &mut |path| found.push((line, path.to_vec())));
        }
    }
    found.sort();
    found
}

/// Reads `a::b::{c, d::e}` and gives each path in it; returns what follows.
fn spread<'a>(text: &'a str, prefix: &mut Vec<String>, each: &mut dyn FnMut(&[String])) -> &'a str {
    let depth = prefix.len();
    let mut rest = text.trim_start();
    loop {
        if let Some(mut inner) = rest.strip_prefix('{') {
            loop {
                inner = spread(inner, prefix, each).trim_start();
                match inner.strip_prefix(',') {
                    Some(next) if !next.trim_start().starts_with('}') => inner = next,
                    Some(next) => inner = next.trim_start(),
                    None => break,
                }
            }
            prefix.truncate(depth);
            return inner.strip_prefix('}').unwrap_or(inner);
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if end == 0 {
            break;
        }
        prefix.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(more) => rest = more,
            None => break,
        }
    }
    if prefix.len() > depth {
        each(prefix);
    }
    prefix.truncate(depth);
    rest
}
