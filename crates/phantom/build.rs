//! Names the library as the driver is named.

fn main() {
    // Parts of PyTorch are linked against the driver, which is not here. A preloaded library of its name is taken
    // for it by the loader.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo:rerun-if-changed=build.rs");
}
