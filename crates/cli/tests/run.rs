//! `oomph run` starts a program as it would run alone: exit codes, streams, environment, and the hook in every Python.

#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::ground::{Ground, seen, shows};

#[test]
fn the_exit_code_is_the_programs_own() {
    let ground = Ground::new("codes");
    let script = ground.file("exit.py", "import sys; sys.exit(int(sys.argv[1]))");
    for code in [0, 1, 2, 7, 125, 255] {
        assert_eq!(ground.run(&["run", &script, &code.to_string()]), shows(code, "", ""));
    }
    assert_eq!(ground.run(&["run", "-c", "raise SystemExit(7)"]).0, Some(7));
    assert_eq!(ground.run(&["run", "sh", "-c", "exit 7"]).0, Some(7));
    for (signal, code) in [("TERM", 143), ("INT", 130), ("SEGV", 139)] {
        assert_eq!(ground.run(&["run", "sh", "-c", &format!("kill -{signal} $$")]).0, Some(code), "{signal}");
    }
}

#[test]
fn what_cannot_be_started_is_one_line_and_the_shells_code() {
    let ground = Ground::new("missing");
    ground.file("plain", "text");
    ground.file("train.py", "");
    let check = |words: &[&str], code, line: &str| {
        assert_eq!(ground.run(words), shows(code, "", &format!("oomph: {line}\n")), "{words:?}");
    };
    check(&["run", "no-such-program"], 127, "no-such-program: not found");
    check(&["run", "train"], 127, "train: not found, did you mean train.py?");
    check(&["run", "./no-such-file", "x"], 127, "./no-such-file: not found");
    check(&["run", "--python", "/no/python", "train.py"], 127, "/no/python: not found");
    check(
        &["run", "./plain"],
        126,
        "./plain: not executable: make it so with chmod +x, or name the program that runs it",
    );
    check(&["train.py"], 2, "train.py is a script: run it with `oomph run train.py`");
    check(
        &["run", "--set", "expandable_segment:True", "train.py"],
        2,
        "PyTorch has no allocator setting `expandable_segment`, did you mean `expandable_segments`?",
    );
    let (code, out, error) = ground.run(&["run", "--limt", "1GiB", "train.py"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(error.contains("a similar argument exists: '--limit'"), "{error}");
    assert_eq!(ground.run(&["run"]).0, Some(2));
    assert!(!ground.0.join(".oomph").exists(), "a run that did not start leaves nothing");
}

#[test]
fn a_file_that_no_system_can_run_is_126() {
    let ground = Ground::new("garbage");
    let name = ground.file("garbage", "\u{7f}ELF but not really");
    fs::set_permissions(ground.0.join(&name), fs::Permissions::from_mode(0o755)).unwrap();
    let (code, _, error) = ground.run(&["run", "./garbage"]);
    assert_eq!(code, Some(126), "{error}");
    assert!(error.starts_with("oomph: ./garbage: cannot be started: "), "{error}");
}

#[test]
fn everything_after_the_script_is_the_scripts_own() {
    let ground = Ground::new("words");
    let script = ground.file("words.py", "import sys; print(sys.argv[1:])");
    ground.file("pkg/__init__.py", "");
    ground.file("pkg/mod.py", "import sys; print(sys.argv[1:])");
    let check = |words: &[&str], printed: &str| {
        assert_eq!(ground.run(words), shows(0, &format!("{printed}\n"), ""), "{words:?}");
    };
    check(&["run", &script, "--limit", "1", "-q", "--help"], "['--limit', '1', '-q', '--help']");
    check(&["run", "-q", "--ring", "5", "--", &script, "-m", "x"], "['-m', 'x']");
    check(&["run", "-m", "pkg.mod", "-c", "--json"], "['-c', '--json']");
    check(&["run", "-c", "import sys; print(sys.argv[1:])", "-x"], "['-x']");
    check(&["run", "python3", &script, "--lr", "1e-4"], "['--lr', '1e-4']");
}

#[test]
fn streams_are_the_same_byte_for_byte() {
    let ground = Ground::new("streams");
    let script = ground.file(
        "upper.py",
        "import sys\n\
         data = sys.stdin.buffer.read()\n\
         sys.stdout.buffer.write(data[::-1] + b'\\x00\\xff\\n')\n\
         sys.stderr.buffer.write(b'error \\xfe\\n')\n",
    );
    let input: Vec<u8> = (0..200_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let fed = |mut command: std::process::Command| {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = input.clone();
        let feeder = std::thread::spawn(move || stdin.write_all(&bytes).unwrap());
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        output
    };
    let alone = fed(ground.program("python3", &[&script]));
    let under = fed(ground.oomph(&["run", &script]));
    assert_eq!(alone.stdout.len(), 200_003);
    assert!(alone == under, "the streams differ");
}

#[test]
fn the_environment_is_the_same_but_for_what_is_documented() {
    let ground = Ground::new("environment");
    let lines = |mut command: std::process::Command| -> Vec<String> {
        let (_, out, _) = seen(&command.env("ODD", "a\nb= c").output().unwrap());
        out.split('\0').filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let alone = lines(ground.program("env", &["-0"]));
    let under = lines(ground.oomph(&["run", "env", "-0"]));
    let name = |line: &String| line.split('=').next().unwrap().to_owned();
    let mut added: Vec<String> = under.iter().filter(|line| !alone.contains(line)).map(name).collect();
    added.sort_unstable();
    assert_eq!(added, ["OOMPH_PARENT", "OOMPH_RUN", "PYTHONPATH"]);
    assert!(alone.iter().all(|line| under.contains(line)), "something is missing");
    assert_eq!(lines(ground.oomph(&["run", "--no-record", "env", "-0"])), alone);
}

/// Prints whether the recorder is in the process.
const HAS_RECORDER: &str = "import sys; print('_oomph_recorder' in sys.modules)";

#[test]
fn the_hook_reaches_every_python_below() {
    let ground = Ground::new("hook");
    let script = ground.file("here.py", HAS_RECORDER);
    let spawn = ground.file(
        "spawn.py",
        "import multiprocessing, sys\n\
         def here(_): return '_oomph_recorder' in sys.modules\n\
         if __name__ == '__main__':\n    \
             with multiprocessing.get_context('spawn').Pool(2) as pool:\n        \
                 print(all(pool.map(here, range(4))))\n",
    );
    for words in [
        vec!["run", &script],
        vec!["run", "bash", "-c", "python3 here.py"],
        vec!["run", "bash", "-c", "exec bash -c 'cd /; python3 \"$OLDPWD\"/here.py'"],
        vec!["run", &spawn],
    ] {
        assert_eq!(ground.run(&words), shows(0, "True\n", ""), "{words:?}");
    }
    let alone = seen(&ground.program("python3", &[&script]).output().unwrap());
    assert_eq!(alone, shows(0, "False\n", ""));
}

#[test]
fn a_sitecustomize_that_was_there_still_runs_and_pythonpath_is_kept() {
    let ground = Ground::new("sitecustomize");
    ground.file("site/sitecustomize.py", "import builtins; builtins.customized = True");
    ground.file("site/module.py", "name = 'found'");
    let script = ground.file(
        "both.py",
        "import sys, sitecustomize, module\n\
         print(customized, module.name, '_oomph_recorder' in sys.modules, 'site' in sitecustomize.__file__)",
    );
    let output = ground.oomph(&["run", &script]).env("PYTHONPATH", ground.0.join("site")).output().unwrap();
    assert_eq!(seen(&output), shows(0, "True found True True\n", ""));
}

#[test]
fn a_folder_that_cannot_be_written_costs_the_recording_and_nothing_else() {
    let ground = Ground::new("read-only");
    ground.file(".oomph", "a file is in the way");
    let script = ground.file("exit.py", "import os, sys; print('OOMPH_RUN' in os.environ); sys.exit(7)");
    let line = "oomph: cannot write .oomph/ here (it is not a folder): running without recording\n";
    assert_eq!(ground.run(&["run", &script]), shows(7, "False\n", line));
    let line = line.replace("recording\n", "recording and without the limit\n");
    assert_eq!(ground.run(&["run", "--limit", "1GiB", &script]), shows(7, "False\n", &line));
}

/// Going on would be a run on the real card.
#[test]
fn a_phantom_that_cannot_be_recorded_is_refused() {
    let ground = Ground::new("phantom-refused");
    let script = ground.file("train.py", "print('ran')");
    let check = |ran: (Option<i32>, String, String), code, line: &str| {
        assert_eq!(ran, shows(code, "", &format!("oomph: {line}\n")));
    };
    let off = "--phantom takes the recorder, which is off: leave out record = false and OOMPH_RECORD";
    let mut command = ground.oomph(&["run", "--phantom", &script]);
    check(seen(&command.env("OOMPH_RECORD", "false").output().unwrap()), 2, off);
    ground.file(".oomph", "in the way");
    let in_the_way = "cannot write .oomph/ here (it is not a folder), which --phantom needs: run it in a folder \
                      that can be written to";
    check(ground.run(&["run", "--phantom", &script]), 125, in_the_way);
}

#[test]
fn a_run_has_a_folder_that_git_ignores_and_last_leads_to() {
    let ground = Ground::new("folder");
    let script = ground.file("train.py", "import os; print(os.environ['OOMPH_RUN'])");
    let (code, out, _) =
        ground.run(&["run", "--gpu", "t4", "--set", "max_split_size_mb:64", &script, "--lr", "1"]);
    assert_eq!(code, Some(0));
    let run = std::path::PathBuf::from(out.trim_end());
    assert_eq!(fs::canonicalize(ground.0.join(".oomph/last")).unwrap(), fs::canonicalize(&run).unwrap());
    assert_eq!(fs::read_to_string(ground.0.join(".oomph/.gitignore")).unwrap(), "*\n");
    let name = run.file_name().unwrap().to_str().unwrap();
    let parts: Vec<&str> = name.split('-').collect();
    assert_eq!((parts.len(), parts[0].len(), parts[1].len(), parts[2]), (4, 8, 6, "train"), "{name}");
    let expected = r#"{
  "format": 1,
  "oomph": "VERSION",
  "argv": [
    "python3",
    "train.py",
    "--lr",
    "1"
  ],
  "limit": null,
  "gpu": "T4",
  "gpu_total": 15644418375,
  "ring": 300000,
  "settings": "max_split_size_mb:64",
  "since": {
    "max_split_size_mb": [
      2,
      0
    ]
  }
}
"#;
    let written = fs::read_to_string(run.join("run.json")).unwrap();
    assert_eq!(written, expected.replace("VERSION", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_interpreter_is_the_active_environments() {
    let ground = Ground::new("interpreter");
    let script = ground.file("script.py", "");
    for folder in ["venv", "other"] {
        let python =
            ground.file(&format!("{folder}/bin/python"), &format!("#!/bin/sh\necho {folder} \"$@\"\n"));
        fs::set_permissions(ground.0.join(python), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let printed = |words: &[&str]| {
        let mut command = ground.oomph(words);
        seen(&command.env("VIRTUAL_ENV", ground.0.join("venv")).output().unwrap()).1
    };
    assert_eq!(printed(&["run", &script, "a"]), "venv script.py a\n");
    assert_eq!(printed(&["run", "-m", "pkg", "a"]), "venv -m pkg a\n");
    assert_eq!(printed(&["run", "--python", "other/bin/python", &script]), "other script.py\n");
    assert_eq!(printed(&["run", "sh", "-c", "echo command"]), "command\n");
    // What starts ranks is the named environment's too, and no other command.
    let launcher = ground.file("other/bin/torchrun", "#!/bin/sh\necho launched \"$@\"\n");
    fs::set_permissions(ground.0.join(launcher), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        printed(&["run", "--python", "other/bin/python", "torchrun", &script]),
        "launched script.py\n"
    );
    assert_eq!(printed(&["run", "--python", "other/bin/python", "sh", "-c", "echo command"]), "command\n");
}
