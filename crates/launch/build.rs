//! Embeds the recorder and what a plan adds to it: every Python file of theirs becomes a row of a table in the program.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the packages lie, from this crate, and what each is called in the hook's folder.
const PACKAGES: [(&str, &str); 2] =
    [("../../python/oomph/_recorder", "_oomph_recorder"), ("../../python/oomph/_plan", "_oomph_plan")];

fn main() -> Result<(), Box<dyn Error>> {
    let mut table = String::from("pub(super) const FILES: &[(&str, &str)] = &[\n");
    for (package, called) in PACKAGES {
        let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join(package);
        println!("cargo::rerun-if-changed={}", root.display());
        let mut files = Vec::new();
        collect(&root, Path::new(""), &mut files)?;
        files.sort();
        for file in files {
            let source = root.join(&file);
            println!("cargo::rerun-if-changed={}", source.display());
            writeln!(table, "    ({:?}, include_str!({source:?})),", place(&file, called))?;
        }
    }
    table.push_str("];\n");
    fs::write(Path::new(&std::env::var("OUT_DIR")?).join("recorder_files.rs"), table)?;
    Ok(())
}

/// Python files below a folder, as paths from the root.
fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "py") {
            files.push(path);
        }
    }
    Ok(())
}

/// Where a file goes in the hook's folder: what is in hook/ at its top, the rest in the package.
fn place(file: &Path, package: &str) -> String {
    let inside = match file.strip_prefix("hook") {
        Ok(top) => top.to_path_buf(),
        Err(_) => Path::new(package).join(file),
    };
    inside.to_string_lossy().replace('\\', "/")
}
