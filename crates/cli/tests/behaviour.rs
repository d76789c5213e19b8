//! How the command behaves towards people and programs: exit codes, one-line errors, files, pipes, colour.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn fixture(name: &str) -> String {
    root().join(format!("fixtures/{name}/snapshot.pickle.gz")).to_str().unwrap().to_owned()
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oomph"));
    command.args(words).env_remove("NO_COLOR").env("TERM", "xterm");
    command
}

fn run(words: &[&str]) -> Output {
    command(words).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A folder of its own for a test's files.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The exit code and the one line on standard error.
#[track_caller]
fn check_fails(words: &[&str], code: i32, expected: &str) {
    let output = run(words);
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!((output.status.code(), error.trim_end()), (Some(code), expected), "{words:?}");
    assert_eq!(out(&output), "", "{words:?}");
}

#[test]
fn a_bad_input_is_one_line_and_exit_code_1() {
    let folder = folder("bad-input");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let empty = file("empty", b"");
    let code = file("code.pickle", b"\x80\x04cos\nsystem\n.");
    let number = file("number.pickle", b"\x80\x04K\x01.");
    let nothing = file("nothing.pickle", b"\x80\x04].");
    check_fails(
        &["no-such-file.pickle"],
        1,
        "oomph: cannot open no-such-file.pickle: No such file or directory (os error 2)",
    );
    let where_ = folder.to_str().unwrap();
    check_fails(&["explain", where_], 1, &format!("oomph: {where_} is a directory: name a file in it"));
    for (path, part) in [
        (&empty, "is empty"),
        (&code, "asks to run code"),
        (&number, "not a memory snapshot"),
        (&nothing, "holds no memory and no events"),
    ] {
        let output = run(&["replay", path]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_snapshot_without_history_is_explained_and_not_tuned() {
    // A bare list of segments, as torch.cuda.memory_snapshot() gives it: one segment with one block in use.
    let folder = folder("bare");
    let path = folder.join("bare.pickle");
    fs::write(&path, bare_segment_list()).unwrap();
    let file = path.to_str().unwrap();
    let expected = "\
GPU 0: 512 B in use when the snapshot was taken
  Run      GPU 0, no history, only what is held, PyTorch 2.1, default settings
  Also     2.00 MiB more is held than is in use (409500%) [OOM002]
           peak in use 512 B, peak held 2.00 MiB

  Memory when the snapshot was taken
        512 B  in use; no stacks were recorded
     2.00 MiB  cached beside blocks in use: cannot be given back
  =  2.00 MiB  held in all; no limit is known

  Check    nothing to replay: call torch.cuda.memory._record_memory_history() at
           the start of the job
";
    assert_eq!(out(&run(&[file])), expected);
    check_fails(
        &["tune", file],
        1,
        &format!(
            "oomph: {file}: nothing to tune, the snapshot has no history: \
             call _record_memory_history() at the start of the job"
        ),
    );
}

/// Protocol 2, written by hand: `[{device, address, total_size, stream, segment_type, segment_pool_id, is_expandable,
/// blocks: [{address, size, requested_size, state}, …]}]`.
fn bare_segment_list() -> Vec<u8> {
    let mut out = b"\x80\x02](}(".to_vec();
    let text = |out: &mut Vec<u8>, text: &str| {
        out.push(b'X');
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text.as_bytes());
    };
    let number = |out: &mut Vec<u8>, n: i32| {
        out.push(b'J');
        out.extend(n.to_le_bytes());
    };
    for (key, value) in [("device", 0), ("address", 0x1000_0000), ("total_size", 2 << 20), ("stream", 0)] {
        text(&mut out, key);
        number(&mut out, value);
    }
    text(&mut out, "segment_type");
    text(&mut out, "small");
    text(&mut out, "segment_pool_id");
    out.extend(b"K\x00K\x00\x86");
    text(&mut out, "is_expandable");
    out.push(0x89);
    text(&mut out, "blocks");
    out.extend(b"](");
    for (address, size, state) in
        [(0x1000_0000, 512, "active_allocated"), (0x1000_0200, (2 << 20) - 512, "inactive")]
    {
        out.extend(b"}(");
        for (key, value) in [("address", address), ("size", size), ("requested_size", size)] {
            text(&mut out, key);
            number(&mut out, value);
        }
        text(&mut out, "state");
        text(&mut out, state);
        out.push(b'u');
    }
    out.extend(b"eue.");
    out
}

/// A message of PyTorch 2.2 and later, in a log.
const LOG: &str = "\
2026-11-15 05:00:00 step 41 loss 2.31
Traceback (most recent call last):
  File \"/home/user/train.py\", line 88, in <module>
    main()
  File \"/home/user/train.py\", line 61, in main
    loss = F.cross_entropy(model(x), y)
  File \"/home/user/.venv/lib/python3.12/site-packages/torch/nn/functional.py\", line 3504, in cross_entropy
    return torch._C._nn.cross_entropy_loss(input, target)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity of 23.64 GiB of which 4.37 GiB is free. Including non-PyTorch memory, this process has 19.26 GiB memory in use. Of the allocated memory 18.60 GiB is allocated by PyTorch, and 170.00 MiB is reserved by PyTorch but unallocated.
";

fn piped(words: &[&str], input: &[u8]) -> Output {
    let mut child =
        command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_pasted_message_is_explained_with_the_place_and_the_arithmetic() {
    let expected = out(&piped(&["explain", "-"], LOG.as_bytes()));
    assert_eq!(expected, out(&piped(&[], LOG.as_bytes())), "nothing named, something piped");
    for part in [
        "out of memory on device 0 (pytorch): 9.27 GiB more was asked for\n",
        "  Where    train.py:61 main, in forward\n",
        "  Cause    capacity, high confidence\n           free 4.37 GiB + cached 170.00 MiB = 4.54 GiB, request 9.27 GiB\n",
    ] {
        assert!(expected.contains(part), "{part:?} is not in\n{expected}");
    }
    assert!(expected.lines().all(|line| line.chars().count() <= 80), "{expected}");
}

#[test]
fn a_log_is_read_packed_or_not_and_beside_a_snapshot() {
    let folder = folder("logs");
    let (plain, packed) = (folder.join("train.log"), folder.join("train.log.gz"));
    fs::write(&plain, LOG).unwrap();
    let mut gzip =
        flate2::write::GzEncoder::new(fs::File::create(&packed).unwrap(), flate2::Compression::default());
    gzip.write_all(LOG.as_bytes()).unwrap();
    gzip.finish().unwrap();
    let (plain, packed) = (plain.to_str().unwrap(), packed.to_str().unwrap());
    assert_eq!(out(&run(&[plain, "--json"])), out(&run(&[packed, "--json"])));
    let both = out(&run(&["explain", plain, &fixture("leak-oom"), "--json"]));
    assert!(both.starts_with("[\n") && both.contains("\"capacity\"") && both.contains("\"leak\""), "{both}");
}

#[test]
fn a_text_that_reports_no_failure_is_said_to_report_none() {
    let output = piped(&[], b"all 90 epochs done, accuracy 0.761\n");
    assert!(output.status.success());
    assert_eq!(
        out(&output),
        "no report of memory that ran out\n  Read     1 line read; none says that memory ran out\n"
    );
}

#[test]
fn every_rule_has_a_page_and_an_unknown_one_is_a_mistake() {
    let list = out(&run(&["rule"]));
    let rules: Vec<&str> =
        list.split_whitespace().filter(|word| word.starts_with("OOM0") && word.len() == 6).collect();
    assert!(rules.len() >= 15, "{list}");
    for rule in rules {
        let page = out(&run(&["rule", &rule.to_lowercase()]));
        assert!(page.starts_with(rule) && page.contains("**Silent**"), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }
    check_fails(
        &["rule", "OOM999"],
        2,
        "oomph: there is no rule `OOM999`: they are OOM001 to OOM015 and OOL001 to OOL029, and `oomph rule` lists them",
    );
}

#[test]
fn a_page_is_written_beside_the_text_for_snapshots_only() {
    let folder = folder("html");
    let (page, log) = (folder.join("why.html"), folder.join("train.log"));
    fs::write(&log, LOG).unwrap();
    let (page_name, file) = (page.to_str().unwrap(), fixture("fragmentation-oom"));
    let output = run(&["explain", &file, "--html", page_name]);
    assert_eq!(out(&output), out(&run(&["explain", &file])));
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    check_fails(
        &["explain", &file, "--html", page_name],
        1,
        &format!("oomph: {page_name} exists: pass --force to overwrite it"),
    );
    check_fails(
        &["explain", log.to_str().unwrap(), "--html", page_name],
        2,
        "oomph: --html needs a snapshot: a message alone has nothing to draw",
    );
}

#[test]
fn sections_of_the_report_are_shown_by_name_and_together_they_are_all_of_it() {
    let file = fixture("fragmentation-oom");
    let shown = |names: &str| out(&run(&["explain", &file, "--section", names]));
    let whole = out(&run(&["explain", &file]));
    assert_eq!(shown("check,verdict,memory,settings,beside-settings"), whole);
    let (headline, _) = whole.split_once('\n').unwrap();
    let check = "  Check    exact: 611 allocations placed where they were recorded, 212 driver\n           calls and 211 \
                 final segments the same\n";
    assert_eq!(shown("check"), format!("{headline}\n\n{check}"));
    let memory = whole.split("\n\n").find(|part| part.starts_with("  Memory")).unwrap();
    let none = "  None     by-class: this recording has nothing of that\n";
    assert_eq!(shown("memory, by-class,check"), format!("{headline}\n\n{memory}\n\n{none}\n{check}"));
    let misspelt = "oomph: there is no section `setings`, did you mean `settings`?";
    check_fails(&["explain", &file, "--section", "memory,setings"], 2, misspelt);
    let unknown = "oomph: there is no section `graph`: name some of verdict, memory, by-class, settings, \
                   beside-settings, check";
    check_fails(&["explain", &file, "--section", "graph"], 2, unknown);
    let json = "oomph: --section is for the text: the JSON has all of them";
    check_fails(&["explain", &file, "--section", "check", "--json"], 2, json);
}

#[test]
fn a_mistake_in_the_command_line_is_exit_code_2() {
    let streams = fixture("streams");
    check_fails(
        &["replay", &streams, "--set", "expandable_segment:True"],
        2,
        "oomph: PyTorch has no allocator setting `expandable_segment`, did you mean `expandable_segments`?",
    );
    check_fails(
        &["replay", &streams, "--set", "throw_on_cudamalloc_oom:True"],
        2,
        "oomph: `throw_on_cudamalloc_oom` came with PyTorch 2.12; this replay is of 2.11: pass --profile 2.12 to try it",
    );
    for words in [
        &["tunr", "x"][..],
        &["tune"],
        &["tune", &streams, "--limit", "12 parsecs"],
        &["replay", &streams, "--profile", "9"],
    ] {
        assert_eq!(run(words).status.code(), Some(2), "{words:?}");
    }
    let typo = String::from_utf8(run(&["tunr", "x"]).stderr).unwrap();
    assert!(typo.contains("'tune'"), "{typo}");
}

#[test]
fn a_file_alone_is_explained() {
    let file = fixture("fragmentation-oom");
    assert_eq!(out(&run(&[&file])), out(&run(&["explain", &file])));
}

#[test]
fn packing_and_standard_input_make_no_difference() {
    let folder = folder("packing");
    let packed = fs::read(fixture("streams")).unwrap();
    let mut plain = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(packed.as_slice()), &mut plain).unwrap();
    let zstd = zstd::encode_all(plain.as_slice(), 3).unwrap();
    let expected = out(&run(&["replay", &fixture("streams"), "--json"]));
    for (name, bytes) in [("plain", &plain), ("gzip", &packed), ("zstd", &zstd)] {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        assert_eq!(out(&run(&["replay", path.to_str().unwrap(), "--json"])), expected, "{name}");
        let mut child =
            command(&["replay", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        assert_eq!(out(&child.wait_with_output().unwrap()), expected, "{name} on standard input");
    }
}

#[test]
fn an_output_file_is_not_overwritten_unless_asked() {
    let path = folder("output").join("result.json");
    let (file, target) = (fixture("streams"), path.to_str().unwrap());
    let words = ["replay", &file, "--json", "-o", target];
    assert!(run(&words).status.success());
    let written = fs::read_to_string(&path).unwrap();
    assert_eq!(written, out(&run(&["replay", &file, "--json"])));
    check_fails(&words, 1, &format!("oomph: {target} exists: pass --force to overwrite it"));
    fs::write(&path, "x".repeat(100_000)).unwrap();
    assert!(run(&[&words[..], &["--force"]].concat()).status.success());
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = command(&["explain", &fixture("fragmentation-oom")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn colour_is_for_terminals_and_those_who_ask() {
    let file = fixture("fragmentation-oom");
    assert!(!out(&run(&[&file])).contains('\x1b'));
    assert!(out(&run(&[&file, "--color", "always"])).contains('\x1b'));
    assert!(!out(&run(&[&file, "--color", "never"])).contains('\x1b'));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for verb in ["explain", "replay", "tune"] {
        let words = [verb, &fixture("kvcache-oom"), "--json"];
        assert_eq!(out(&run(&words)), out(&run(&words)), "{verb}");
    }
}

#[test]
fn a_limit_that_could_have_been_the_runs_own_is_checked_and_another_is_a_what_if() {
    let file = fixture("gpt2-checkpointing-tight");
    // It ran under 18,253,611,008 bytes, which it never reached, so the recording cannot show it.
    let own = out(&run(&["replay", &file, "--limit", "18253611008", "--json"]));
    assert!(own.contains("\"exact\": true") && own.contains("\"limit_source\": \"given\""), "{own}");
    let other = out(&run(&["replay", &file, "--limit", "16GiB", "--json"]));
    assert!(!other.contains("fidelity") && other.contains("\"limit\": 17179869184"), "{other}");
}

#[test]
fn completions_and_the_manual_are_made() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(out(&run(&["completions", shell])).contains("oomph"), "{shell}");
    }
    assert!(out(&run(&["man"])).starts_with(".ie"));
}

#[test]
fn a_comparison_is_a_gate_by_its_exit_code() {
    let (small, large) = (fixture("gpt2-static"), fixture("gpt2-ragged"));
    let code = |words: &[&str]| run(&[&["diff"], words].concat()).status.code();
    assert_eq!(code(&[&small, &large]), Some(0));
    assert_eq!(code(&[&small, &large, "--fail-over", "80%"]), Some(1));
    assert_eq!(code(&[&small, &large, "--fail-over", "6000MiB"]), Some(1));
    // What is asked for grows by 81.6% and 5.86 GiB, what is held by 160.9% and 12.11 GiB.
    assert_eq!(code(&[&small, &large, "--fail-over", "100%"]), Some(1));
    assert_eq!(code(&[&small, &large, "--fail-over", "161%"]), Some(0));
    assert_eq!(code(&[&large, &small, "--fail-over", "0"]), Some(0));
    check_fails(
        &["diff", &small, "missing.pickle"],
        3,
        "oomph: cannot open missing.pickle: No such file or directory (os error 2)",
    );
    let two = run(&["diff", &small, &large, "--fail-over", "lots"]);
    assert_eq!(two.status.code(), Some(2));
    let said = "invalid value 'lots' for '--fail-over <SHARE|SIZE>': `lots` is neither a share nor a size: write 2% or 200MiB";
    assert!(String::from_utf8_lossy(&two.stderr).contains(said));
    let log = folder("diff-log").join("train.log");
    fs::write(&log, "loss 0.5\n").unwrap();
    let (log, why) =
        (log.to_str().unwrap(), "there is no history of a GPU's memory in it: record it with `oomph run`");
    check_fails(&["diff", log, &small], 3, &format!("oomph: {log}: nothing to compare, {why}"));
}

#[test]
fn ranks_are_compared_with_ranks_and_what_is_alone_is_said() {
    let folder = folder("diff-ranks");
    let made = |name: &str, ranks: &[(&str, &str)]| {
        let run = folder.join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("run.json"), "{}").unwrap();
        for (rank, from) in ranks {
            fs::copy(fixture(from), run.join(format!("{rank}.pickle"))).unwrap();
        }
        run.to_str().unwrap().to_owned()
    };
    let a = made("a", &[("rank0", "streams"), ("rank1", "fragmentation-oom")]);
    let b = made("b", &[("rank0", "streams"), ("rank1", "fragmentation-oom")]);
    let c = made("c", &[("rank1", "fragmentation-oom"), ("rank2", "streams")]);
    let both = run(&["diff", &a, &b, "--fail-over", "0"]);
    assert_eq!((both.status.code(), out(&both).matches("no difference").count()), (Some(0), 2));
    let one = run(&["diff", &a, &c, "--fail-over", "0"]);
    assert_eq!((one.status.code(), out(&one).matches("no difference").count()), (Some(3), 1));
    let said = format!(
        "oomph: {a}/rank0.pickle has no counterpart: it is not compared\noomph: {c}/rank2.pickle has no counterpart: it is not compared\n"
    );
    assert_eq!(String::from_utf8_lossy(&one.stderr), said);
    // One recording on each side is one pair, whatever they are called.
    let (rank0, rank2) = (format!("{a}/rank0.pickle"), format!("{c}/rank2.pickle"));
    assert!(out(&run(&["diff", &rank0, &rank2])).starts_with("no difference"));
    let d = made("d", &[("rank7", "streams"), ("rank8", "streams")]);
    let none = format!("{a}/rank0.pickle, {a}/rank1.pickle, {d}/rank7.pickle, {d}/rank8.pickle");
    let why = "nothing to compare: no rank or card is in both; name one recording of each";
    check_fails(&["diff", &a, &d], 3, &format!("oomph: {why}: {none}"));
}
