//! Names the library as the driver is named, and writes the functions that functions.txt lists.

use std::path::Path;
use std::{env, fs};

fn main() {
    // Parts of PyTorch are linked against the driver, which may not be installed. The loader accepts a preloaded
    // library of the same name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // With a path of its own, what it loads is not looked for beside the executable first.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags,-rpath,$ORIGIN");
    println!("cargo:rerun-if-changed=functions.txt");
    let list = fs::read_to_string("functions.txt").expect("functions.txt can be read");
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder for what is generated");
    fs::write(Path::new(&folder).join("functions.rs"), source(&list)).expect("that folder can be written to");
}

/// The functions as Rust. A line at the margin is the function that gives the result, and its arguments.
fn source(list: &str) -> String {
    let (mut source, mut call) = (String::new(), String::new());
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let Some(pattern) = line.strip_prefix("    ") else {
            call = line.replacen(' ', "(", 1).replace(' ', ", ");
            call += if call.contains('(') { ", " } else { "(" };
            continue;
        };
        for name in names(pattern) {
            source += &format!(
                "#[unsafe(no_mangle)] pub(crate) extern \"C\" fn {name}() -> Code {{ {call}\"{name}\") }}\n"
            );
        }
    }
    source
}

/// All names that a pattern such as `cublas{S,D}dot_v2` stands for.
fn names(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (choices, after) = rest.split_once('}').expect("a brace is closed");
    choices.split(',').flat_map(|choice| names(&format!("{before}{choice}{after}"))).collect()
}
