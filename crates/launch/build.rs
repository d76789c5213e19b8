//! Embeds what the program carries with it: every Python file of the recorder, of plans and of measures becomes a row of a table; and,
//! with the feature `embedded-phantom`, the library of the phantom GPU.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the packages lie, from this crate, and what each is called in the hook's folder.
const PACKAGES: [(&str, &str); 3] = [
    ("../../python/oomph/_recorder", "_oomph_recorder"),
    ("../../python/oomph/_plan", "_oomph_plan"),
    ("../../python/oomph/_measures", "_oomph_measures"),
];

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
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let phantom = match std::env::var_os("CARGO_FEATURE_EMBEDDED_PHANTOM") {
        Some(_) => format!("Some(include_bytes!({:?}))", phantom(&out)?),
        None => "None".to_owned(),
    };
    writeln!(table, "pub(super) const PHANTOM: Option<&[u8]> = {phantom};")?;
    fs::write(out.join("embedded.rs"), table)?;
    Ok(())
}

/// Builds the phantom's library and gives its path. A dependency cannot be a shared library to embed, so this is a build
/// of its own, in a folder of its own.
fn phantom(out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    for source in ["phantom", "engine", "trace"] {
        println!("cargo::rerun-if-changed=../{source}/src");
    }
    let folder = out.join("phantom");
    let built = Command::new(std::env::var("CARGO")?)
        .args(["build", "--package", "oomph-phantom", "--release", "--locked", "--target-dir"])
        .arg(&folder)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()?;
    if !built.success() {
        return Err("the phantom's library cannot be built".into());
    }
    Ok(folder.join("release").join("liboomph_phantom.so"))
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
