//! Whose a frame is, told by its file: the one list, for recorded stacks and for tracebacks.

/// Who wrote the code of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user.
    User,
    /// An installed package, the standard library, or generated code.
    Library,
    /// The packages that record and that plan, in either of their homes.
    Recorder,
    /// C++ (`stacks="all"`): there is no file that a user could open.
    Native,
}

/// Who wrote this file, with slashes of either kind.
pub(crate) fn owner(file: &str) -> Owner {
    let file = file.replace('\\', "/");
    let has = |parts: &[&str]| parts.iter().any(|part| file.contains(part));
    if file == "??" || NATIVE.iter().any(|end| file.ends_with(end)) {
        Owner::Native
    } else if has(RECORDER) {
        Owner::Recorder
    } else if has(LIBRARY) || file.starts_with("torch/") || is_generated(&file) {
        Owner::Library
    } else {
        Owner::User
    }
}

/// Whether a file is of an installed package other than PyTorch, where a model or what trains it may be written.
pub(crate) fn is_of_package(file: &str) -> bool {
    let file = file.replace('\\', "/");
    let package = file.rsplit_once("-packages/").map(|(_, path)| path.split('/').next().unwrap_or_default());
    owner(&file) == Owner::Library && package.is_some_and(|package| !PYTORCH.contains(&package))
}

/// Whether a library's file is on the way of every call of its kind, such as a backward pass or a compiled function: that a
/// line of it was reached tells nobody anything.
pub(crate) fn is_passage(file: &str) -> bool {
    let file = file.replace('\\', "/");
    is_generated(&file) || PASSAGES.iter().any(|part| file.contains(part))
}

const PASSAGES: &[&str] = &[
    "torch/_compile.py",
    "torch/_dynamo/",
    "torch/_functorch/",
    "torch/_higher_order_ops/",
    "torch/_inductor/",
    "torch/_library/",
    "torch/_ops.py",
    "torch/_tensor.py",
    "torch/autograd/__init__.py",
    "torch/autograd/graph.py",
];

/// The packages that are PyTorch.
const PYTORCH: &[&str] = &["torch", "functorch", "torchgen", "triton"];
const NATIVE: &[&str] = &[".cpp", ".cc", ".h", ".cu", ".so", ".c", ".S", ".cuh", ".hpp", ".cxx"];
const RECORDER: &[&str] = &[
    "/_oomph_recorder/",
    "/oomph/_recorder/",
    "/_oomph_plan/",
    "/oomph/_plan/",
    "/_oomph_measures/",
    "/oomph/_measures/",
    "/oomph/_fit/",
    "/oomph/_checkpoint/",
];
const LIBRARY: &[&str] =
    &["site-packages/", "dist-packages/", "/lib/python", "/torch/_", "/runpy.py", "/importlib/"];

/// How long the names are that torch.compile gives to files: a hash in base 32, behind a letter.
const COMPILED_NAME: usize = 52;

/// `<frozen importlib>`, `<string>`, and what torch.compile and PyTorch Geometric write, wherever that lies; a notebook's cell
/// has a name in brackets too, but it is the user's.
fn is_generated(file: &str) -> bool {
    let stem = file.rsplit('/').next().and_then(|name| name.strip_suffix(".py")).unwrap_or_default();
    let is_hash = |name: &str| name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    file.starts_with('<') && !file.starts_with("<ipython-input")
        || file.contains("/torchinductor_")
        || stem.starts_with("torch_geometric.")
        || stem.len() == COMPILED_NAME && stem.starts_with('c') && is_hash(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_who_wrote_it() {
        for (file, expected) in [
            ("train.py", Owner::User),
            ("C:\\jobs\\train.py", Owner::User),
            ("<ipython-input-3-abc>", Owner::User),
            ("Cell In[3]", Owner::User),
            ("/venv/lib/python3.11/site-packages/torch/optim/adam.py", Owner::Library),
            ("C:\\venv\\Lib\\site-packages\\torch\\optim\\adam.py", Owner::Library),
            ("/usr/lib/python3/dist-packages/numpy/core.py", Owner::Library),
            ("/usr/lib/python3.11/threading.py", Owner::Library),
            ("<frozen importlib._bootstrap>", Owner::Library),
            ("torch/_tensor.py", Owner::Library),
            ("/tmp/torchinductor_ana/sh/cabc.py", Owner::Library),
            ("/cache/sh/cshh3ujk52hnmjmatoffcdvtw2n3c6mxfew64zfbk54dywxteqnf.py", Owner::Library),
            ("/jobs/cshh3ujk52hn.py", Owner::User),
            ("/tmp/torch_geometric.nn.conv.gcn_conv_GCNConv_propagate_io95d08l.py", Owner::Library),
            ("/run/_oomph_recorder/marks.py", Owner::Recorder),
            ("C:\\venv\\Lib\\site-packages\\oomph\\_recorder\\marks.py", Owner::Recorder),
            ("aten/src/ATen/native/Linear.cpp", Owner::Native),
            ("./misc/../sysdeps/unix/sysv/linux/x86_64/clone3.S", Owner::Native),
            ("??", Owner::Native),
            // A notebook's cell whose name a page took for markup.
            ("", Owner::User),
        ] {
            assert_eq!(owner(file), expected, "{file}");
        }
    }

    #[test]
    fn lines_that_every_call_passes_are_known() {
        for (file, expected) in [
            ("/venv/lib/python3.11/site-packages/torch/autograd/graph.py", true),
            ("C:\\venv\\Lib\\site-packages\\torch\\_tensor.py", true),
            ("torch/_ops.py", true),
            ("/venv/lib/python3.11/site-packages/torch/_inductor/output_code.py", true),
            ("/cache/sh/cshh3ujk52hnmjmatoffcdvtw2n3c6mxfew64zfbk54dywxteqnf.py", true),
            ("/venv/lib/python3.11/site-packages/torch/nn/functional.py", false),
            ("/venv/lib/python3.11/site-packages/torch/optim/adam.py", false),
        ] {
            assert_eq!(is_passage(file), expected, "{file}");
        }
    }

    #[test]
    fn a_model_may_be_written_in_a_package_that_is_not_pytorch() {
        let llama = "site-packages/transformers/models/llama/modeling_llama.py";
        for (file, expected) in [
            (format!("/venv/lib/python3.11/{llama}"), true),
            (format!("C:\\venv\\Lib\\{}", llama.replace('/', "\\")), true),
            ("/usr/lib/python3/dist-packages/timm/layers/mlp.py".to_owned(), true),
            ("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py".to_owned(), false),
            ("/venv/lib/python3.11/site-packages/oomph/_plan/shapes.py".to_owned(), false),
            ("/cache/oomph/hook-0.1.0-1a2b/_oomph_measures/checkpointing.py".to_owned(), false),
            ("/venv/lib/python3.11/site-packages/oomph/_fit/call.py".to_owned(), false),
            ("/usr/lib/python3.11/contextlib.py".to_owned(), false),
            ("torch/_tensor.py".to_owned(), false),
            ("<string>".to_owned(), false),
            ("train.py".to_owned(), false),
        ] {
            assert_eq!(is_of_package(&file), expected, "{file}");
        }
    }
}
