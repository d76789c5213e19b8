//! What `oomph run` sets for the frameworks, and where it is asked for: flags, variables, pyproject.toml.

#![cfg(unix)]

use crate::ground::{Ground, seen, shows};

/// Prints the variables that allocators read, those that are set.
const SHOW: &str = "
import os
for name in sorted(os.environ):
    if name.startswith(('PYTORCH_', 'XLA_', 'TF_FORCE_', 'TF_GPU_')):
        print(name + '=' + os.environ[name])
";

/// Runs with these variables and words, and compares what the script sees.
#[track_caller]
fn check(ground: &Ground, variables: &[(&str, &str)], words: &[&str], expected: &str) {
    let script = ground.file("show.py", SHOW);
    let mut all = vec!["run"];
    all.extend(words);
    all.push(&script);
    let output = ground.oomph(&all).envs(variables.iter().copied()).output().expect("oomph runs");
    assert_eq!(seen(&output), shows(0, expected, ""), "{variables:?} {words:?}");
}

/// Both of PyTorch's variables with this value.
fn both(value: &str) -> String {
    format!("PYTORCH_ALLOC_CONF={value}\nPYTORCH_CUDA_ALLOC_CONF={value}\n")
}

#[test]
fn settings_are_merged_with_those_in_force_and_written_to_both_variables() {
    let ground = Ground::new("settings");
    let (cuda, plain) = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF");
    let expandable = ["--set", "expandable_segments:True"];
    check(&ground, &[], &[], "");
    check(&ground, &[], &expandable, &both("expandable_segments:True"));
    check(
        &ground,
        &[(cuda, "max_split_size_mb:64")],
        &expandable,
        &both("max_split_size_mb:64,expandable_segments:True"),
    );
    check(
        &ground,
        &[(plain, "max_split_size_mb:64")],
        &expandable,
        &both("max_split_size_mb:64,expandable_segments:True"),
    );
    check(
        &ground,
        &[(plain, "max_split_size_mb:64"), (cuda, "expandable_segments:False")],
        &expandable,
        &both("expandable_segments:True"),
    );
    check(
        &ground,
        &[(cuda, "roundup_power2_divisions:[256:1,512:2,>:4]")],
        &["--set", "garbage_collection_threshold:0.8", "--set", "max_split_size_mb:128"],
        &both(
            "roundup_power2_divisions:[256:1,512:2,>:4],garbage_collection_threshold:0.8,max_split_size_mb:128",
        ),
    );
    check(&ground, &[(plain, "a:1")], &[], "PYTORCH_ALLOC_CONF=a:1\n");
    check(
        &ground,
        &[],
        &["--no-record", "--set", "expandable_segments:True"],
        &both("expandable_segments:True"),
    );
}

#[test]
fn jax_and_tensorflow_have_flags() {
    let ground = Ground::new("frameworks");
    check(
        &ground,
        &[],
        &["--preallocate", "false", "--mem-fraction", "0.5", "--growth", "--async-allocator"],
        "TF_FORCE_GPU_ALLOW_GROWTH=true\n\
         TF_GPU_ALLOCATOR=cuda_malloc_async\n\
         XLA_PYTHON_CLIENT_MEM_FRACTION=0.5\n\
         XLA_PYTHON_CLIENT_PREALLOCATE=false\n",
    );
    check(
        &ground,
        &[("TF_GPU_X", "1")],
        &["--preallocate", "true"],
        "TF_GPU_X=1\nXLA_PYTHON_CLIENT_PREALLOCATE=true\n",
    );
}

#[test]
fn a_flag_beats_a_variable_and_a_variable_beats_the_project() {
    let ground = Ground::new("precedence");
    ground.file(
        "pyproject.toml",
        "[tool.oomph.run]\nset = \"max_split_size_mb:64\"\nlimit = \"4GiB\"\nring = 1000\npreallocate = false\n",
    );
    ground.file(
        "sub/run.py",
        "import json, os; run = json.load(open(os.environ['OOMPH_RUN'] + '/run.json'))\n\
        print(run['limit'], run['gpu'], run['ring'], run['settings'])",
    );
    let check = |variables: &[(&str, &str)], words: &[&str], expected: &str| {
        let mut all = vec!["run"];
        all.extend(words);
        all.push("run.py");
        let mut command = ground.oomph(&all);
        command.current_dir(ground.0.join("sub")).envs(variables.iter().copied());
        let output = command.output().expect("oomph runs");
        assert_eq!(seen(&output), shows(0, &format!("{expected}\n"), ""), "{variables:?} {words:?}");
    };
    check(&[], &[], "4294967296 None 1000 max_split_size_mb:64");
    check(&[("OOMPH_LIMIT", "3GiB")], &[], "3221225472 None 1000 max_split_size_mb:64");
    check(&[("OOMPH_LIMIT", "3GiB")], &["--limit", "2GiB"], "2147483648 None 1000 max_split_size_mb:64");
    check(&[("OOMPH_LIMIT", "3GiB")], &["--gpu", "T4", "--ring", "5"], "None T4 5 max_split_size_mb:64");
    check(
        &[("OOMPH_RING", "7")],
        &["--set", "max_split_size_mb:32"],
        "4294967296 None 7 max_split_size_mb:32",
    );
    check(
        &[("OOMPH_SET", "expandable_segments:True")],
        &["--set", "garbage_collection_threshold:0.5"],
        "4294967296 None 1000 max_split_size_mb:64,expandable_segments:True,garbage_collection_threshold:0.5",
    );
}

#[test]
fn a_mistake_in_the_project_is_one_line_and_a_foreign_one_is_passed_over() {
    let ground = Ground::new("project");
    let script = ground.file("ok.py", "print('ran')");
    let file = ground.0.join("pyproject.toml").display().to_string();
    ground.file("pyproject.toml", "[tool.oomph.run]\nlimt = \"4GiB\"\n");
    let line = format!("oomph: {file}: [tool.oomph.run] has no key `limt`, did you mean `limit`?\n");
    assert_eq!(ground.run(&["run", &script]), shows(2, "", &line));
    ground.file("pyproject.toml", "[tool.oomph.run]\ngpu = \"T5\"\n");
    let (code, out, error) = ground.run(&["run", &script]);
    assert_eq!((code, out.as_str(), error.lines().count()), (Some(2), "", 1));
    assert!(error.starts_with("oomph: no card `T5` is known"), "{error}");
    ground.file("pyproject.toml", "[broken\n");
    let (code, out, error) = ground.run(&["run", &script]);
    assert_eq!((code, out.as_str(), error.lines().count()), (Some(0), "ran\n", 1));
    assert!(error.ends_with("; running without its [tool.oomph.run]\n"), "{error}");
}

#[test]
fn a_misspelt_variable_is_one_line() {
    let ground = Ground::new("variable");
    let script = ground.file("ok.py", "");
    let output = ground.oomph(&["run", &script]).env("OOMPH_LIMT", "1GiB").output().expect("oomph runs");
    let line = "oomph: no setting is called OOMPH_LIMT, did you mean OOMPH_LIMIT?\n";
    assert_eq!(seen(&output), shows(2, "", line));
    let mut command = ground.oomph(&["run", "--no-record", &script]);
    let output = command.env("OOMPH_LIMIT", "1GiB").output().expect("oomph runs");
    let line = "oomph: running without the limit: it takes the recorder, which is off\n";
    assert_eq!(seen(&output), shows(0, "", line));
}

#[test]
fn a_card_that_is_misspelt_gets_a_suggestion() {
    let ground = Ground::new("card");
    let script = ground.file("ok.py", "");
    let line = "oomph: no card `RTX 4091` is known, did you mean `RTX4090`? Write one of P100, V100-16, V100-32, T4, \
                RTX3060, RTX3090, A10G, A100-40, A100-80, L4, RTX4060, RTX4090, H100, H200, B200, RTX5090, or give \
                --limit SIZE\n";
    assert_eq!(ground.run(&["run", "--gpu", "RTX 4091", &script]), shows(2, "", line));
}
