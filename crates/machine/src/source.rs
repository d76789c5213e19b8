//! The user's source, to show a line beside its place.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use oomph_diagnose::place::Line;

/// No source is longer; what is, was not written by people.
const LONGEST: u64 = 16 << 20;

/// What the line says, if its file is here. Only Python's files are opened: the names come from a recording, which is
/// foreign, and whatever is read may be shown to others.
pub fn line(place: &Line) -> Option<String> {
    let path = Path::new(&place.file);
    let index = usize::try_from(place.line).ok()?.checked_sub(1)?;
    if path.extension()? != "py" || !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let lines = BufReader::new(File::open(path).ok()?.take(LONGEST)).lines();
    let text = lines.map_while(Result::ok).nth(index)?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, line_number: u32, expected: Option<&str>) {
        let folder = std::env::temp_dir().join(format!("oomph-source-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for file in ["train.py", "secret.txt"] {
            fs::write(folder.join(file), "import torch\n\n    loss = model(x)\n").unwrap();
        }
        let file = folder.join(name).to_string_lossy().into_owned();
        let found = line(&Line { file, line: line_number, function: "step".to_owned() });
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.as_deref(), expected, "{name}:{line_number}");
    }

    #[test]
    fn a_line_is_found_in_python_files_only() {
        check("train.py", 3, Some("loss = model(x)"));
        check("train.py", 2, None);
        check("train.py", 4, None);
        check("train.py", 0, None);
        check("missing.py", 1, None);
        check("secret.txt", 1, None);
    }
}
