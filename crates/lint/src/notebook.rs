//! Notebooks: their code cells as one text, line for line.

use serde_json::Value;

/// The code of a notebook, and where each cell begins in it.
pub(crate) struct Code {
    pub(crate) text: String,
    /// The cell's number among all cells, from 1, and its first line, from 1.
    pub(crate) cells: Vec<(usize, usize)>,
}

/// The code cells of a notebook; `None` where it is no notebook.
pub(crate) fn code(source: &str) -> Option<Code> {
    let notebook: Value = serde_json::from_str(source).ok()?;
    let mut code = Code { text: String::new(), cells: Vec::new() };
    for (index, cell) in notebook.get("cells")?.as_array()?.iter().enumerate() {
        if cell.get("cell_type").and_then(Value::as_str) != Some("code") {
            continue;
        }
        let text = match cell.get("source") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
            _ => continue,
        };
        code.cells.push((index + 1, code.text.matches('\n').count() + 1));
        // A cell for another language or program is not Python.
        let is_foreign = text.trim_start().starts_with("%%")
            && !text.trim_start().starts_with("%%oomph")
            && !text.trim_start().starts_with("%%time");
        for line in text.lines() {
            let begins = line.trim_start();
            let is_magic = begins.starts_with('%')
                || begins.starts_with('!')
                || begins.starts_with('?')
                || begins.ends_with('?');
            if is_magic || is_foreign {
                // The line stays, and a block that has nothing else stays whole.
                code.text.push_str(&line[..line.len() - begins.len()]);
                code.text.push_str("pass");
            } else {
                code.text.push_str(line);
            }
            code.text.push('\n');
        }
    }
    Some(code)
}

impl Code {
    /// The cell that a line is in, and the line's number in it.
    pub(crate) fn place(&self, line: usize) -> (usize, usize) {
        let at = self.cells.partition_point(|&(_, first)| first <= line);
        self.cells.get(at.wrapping_sub(1)).map_or((1, line), |&(cell, first)| (cell, line - first + 1))
    }
}
