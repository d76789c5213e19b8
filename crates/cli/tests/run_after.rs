//! What `oomph run` says when the script has ended, what `oomph explain` makes of the run's folder, and `oomph dump`.
//!
//! Scripts here leave in their run's folder what the recorder leaves there, and end without it: `os._exit`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ground::{Ground, seen, shows};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).canonicalize().unwrap()
}

/// What a script needs to leave notes and recordings.
const LEAVE: &str = "
import json, os, shutil, sys, time
run = os.environ['OOMPH_RUN']
def notes(name, **said):
    with open(os.path.join(run, name + '.json'), 'w') as file:
        json.dump({'format': 1, 'name': name, 'pid': os.getpid(), 'why': 'exit', **said}, file)
def card(index, peak, **more):
    return {'index': index, 'name': 'Tesla T4', 'total': 16 << 30, 'peak_reserved': peak, 'retries': 0, **more}
def ran_out(text):
    return {'type': 'torch.OutOfMemoryError', 'text': text, 'traceback': None, 'uncaught': True, 'oom': True}
def recording(name):
    shutil.copy(sys.argv[1], os.path.join(run, name + '.pickle'))
";

/// Runs a script that leaves something; `oomph run OPTIONS script RECORDING`.
fn left(ground: &Ground, options: &[&str], script: &str) -> (Option<i32>, String, String) {
    let name = ground.file("leave.py", &format!("{LEAVE}{script}"));
    let snapshot = fixture("fragmentation-oom/snapshot.pickle.gz").display().to_string();
    let mut words = vec!["run"];
    words.extend(options);
    words.extend([name.as_str(), &snapshot]);
    ground.run(&words)
}

#[test]
fn what_was_found_is_written_as_json_beside_the_scripts_own_output() {
    let ground = Ground::new("run-json");
    let script = "notes('main', devices=[card(0, 3 << 30, limit=4 << 30, retries=2, ooms=1)])\n\
                  print('mine', flush=True)\nos._exit(3)";
    let document = |folder: &str| {
        format!(
            r#"{{
  "schema": 1,
  "exit_code": 3,
  "folder": "{folder}",
  "out_of_memory": null,
  "host_death": null,
  "peaks": [
    {{
      "process": null,
      "device": 0,
      "reserved_bytes": 3221225472,
      "allowed_bytes": 4294967296,
      "is_limit": true,
      "retries": 2
    }}
  ],
  "failures": 1
}}
"#
        )
    };
    let last = || {
        let folder = fs::read_link(ground.0.join(".oomph/last")).unwrap();
        format!(".oomph/{}", folder.display())
    };
    let (code, stdout, stderr) = left(&ground, &["--json"], script);
    assert_eq!((code, stdout.as_str(), stderr), (Some(3), "mine\n", document(&last())));
    assert_eq!(left(&ground, &["--json", "-o", "why.json"], script), shows(3, "mine\n", ""));
    assert_eq!(fs::read_to_string(ground.0.join("why.json")).unwrap(), document(&last()));
    let refused = "oomph: why.json exists: pass --force to overwrite it\n";
    assert_eq!(left(&ground, &["--json", "-o", "why.json"], script), shows(2, "", refused));
}

#[test]
fn why_a_run_died_is_in_its_document() {
    let ground = Ground::new("run-json-oom");
    let script = "notes('main', exception=ran_out('x'))\nrecording('main')\nos._exit(1)";
    let (code, _, stderr) = left(&ground, &["--json"], script);
    let expected = fs::read_to_string(fixture("fragmentation-oom/expected/explain.json")).unwrap();
    let inside: Vec<String> = expected.lines().map(|line| format!("      {line}")).collect();
    assert_eq!(code, Some(1));
    assert!(stderr.contains(&inside.join("\n")), "{stderr}");
}

fn explained() -> String {
    fs::read_to_string(fixture("fragmentation-oom/expected/explain.txt")).unwrap()
}

/// The same on one screen, as it stands under a traceback.
fn verdict() -> String {
    "\
out of memory on GPU 0: 180.00 MiB more was asked for
  Where    train.py:142 case_frag_split
  Cause    fragmentation: 2.89 GiB of 6.00 GiB was free, but in pieces: none
           could serve 180.00 MiB (the largest had 14.00 MiB)
  Line     train.py:142 case_frag_split: 180.00 MiB asked for here
  Do       PYTORCH_CUDA_ALLOC_CONF=large_segment_size_mb:12
  Proof    replayed: the recording completes with it, in 5.63 GiB of 6.00 GiB
  Not      capacity: 3.28 GiB was needed in all, 6.00 GiB is there
  More     oomph explain .oomph/last
"
    .to_owned()
}

#[test]
fn a_run_that_went_well_is_a_line_for_each_gpu() {
    let ground = Ground::new("quiet-line");
    let script = "notes('main', devices=[card(0, 7711 << 20), card(1, 0)])\nos._exit(0)";
    let line = "oomph: GPU 0 peak 7.53 GiB held of 16.00 GiB (47%), 0 retries; .oomph/last\n";
    assert_eq!(left(&ground, &[], script), shows(0, "", line));
    assert_eq!(left(&ground, &["-q"], script), shows(0, "", ""));
    let script = "notes('main', devices=[card(0, 3 << 30, limit=4 << 30, retries=2, ooms=3)])\nos._exit(0)";
    let lines = "\
oomph: GPU 0 peak 3.00 GiB held of 4.00 GiB allowed (75%), 2 retries
oomph: recorded in .oomph/last
oomph: ran out of memory 3 times and went on; why: oomph explain .oomph/last
";
    assert_eq!(left(&ground, &[], script), shows(0, "", lines));
    let script = "\
notes('rank10', devices=[card(1, 2 << 30)])
notes('rank9', devices=[card(0, 1 << 30)])
os._exit(3)";
    let lines = "\
oomph: rank9, GPU 0 peak 1.00 GiB held of 16.00 GiB (6%), 0 retries
oomph: rank10, GPU 1 peak 2.00 GiB held of 16.00 GiB (12%), 0 retries
oomph: recorded in .oomph/last
";
    assert_eq!(left(&ground, &[], script), shows(3, "", lines));
    let (code, out, error) = left(&ground, &["-v"], "os._exit(0)");
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert!(error.starts_with("oomph: no process used a GPU; .oomph/"), "{error}");
}

#[test]
fn after_an_uncaught_failure_the_verdict_stands_under_the_traceback() {
    let ground = Ground::new("verdict");
    let script = "\
recording('main')
notes('main', devices=[card(0, 6 << 30)], exception=ran_out('CUDA out of memory.'))
print('out'); sys.stdout.flush()
print('Traceback', file=sys.stderr); sys.stderr.flush()
os._exit(1)";
    assert_eq!(left(&ground, &[], script), shows(1, "out\n", &format!("Traceback\n\n{}", verdict())));
    assert_eq!(left(&ground, &["-q"], script), shows(1, "out\n", &format!("Traceback\n\n{}", verdict())));
    // The folder explains the same, by any of its names.
    for words in [["explain", ".oomph/last"], ["explain", ".oomph"], ["explain", ".oomph/last/main.pickle"]] {
        assert_eq!(ground.run(&words), shows(0, &explained(), ""), "{words:?}");
    }
    let replayed = fs::read_to_string(fixture("fragmentation-oom/expected/replay.txt")).unwrap();
    assert_eq!(ground.run(&["replay", ".oomph/last"]), shows(0, &replayed, ""));
    // Without an exception, but with a recording made because memory ran out, it is the same.
    let script = "recording('main')\nnotes('main', why='oom')\nos._exit(1)";
    assert_eq!(left(&ground, &[], script), shows(1, "", &format!("\n{}", verdict())));
    // Where the program ends well, it is a remark.
    let script =
        "recording('main')\nnotes('main', why='oom', ooms=[{'time_us': 1, 'device': 0}])\nos._exit(0)";
    let line = "oomph: ran out of memory once and went on; why: oomph explain .oomph/last\n";
    assert_eq!(left(&ground, &[], script), shows(0, "", line));
}

#[test]
fn the_words_of_an_exception_count_and_not_what_the_recorder_took_it_for() {
    let ground = Ground::new("words-count");
    let script = |class: &str, text: &str, guess: &str| {
        format!(
            "recording('main')\nnotes('main', exception={{**ran_out('{text}'), 'type': '{class}', 'oom': {guess}}})\n\
             os._exit(1)"
        )
    };
    let wrong = script("ValueError", "no memory cards are left", "True");
    assert_eq!(left(&ground, &[], &wrong), shows(1, "", ""));
    let missed = script("RuntimeError", "CUDA out of memory. Tried to allocate 1.00 GiB", "False");
    assert_eq!(left(&ground, &[], &missed), shows(1, "", &format!("\n{}", verdict())));
}

#[test]
fn of_several_ranks_the_first_that_failed_speaks() {
    let ground = Ground::new("ranks");
    let script = "\
for rank, at in (0, 5_000_000), (1, 3_500_000):
    recording(f'rank{rank}')
    notes(f'rank{rank}', ooms=[{'time_us': at, 'device': 0}], exception=ran_out('CUDA out of memory.'))
notes('rank2', devices=[card(2, 2 << 30)])
os._exit(1)";
    let expected = format!(
        "\n{}\n\
         oomph: this was rank1, the first to fail\n\
         oomph: rank0 ran out 1.5 s later: oomph explain .oomph/last/rank0.pickle\n\
         oomph: rank2, GPU 2 peak 2.00 GiB held of 16.00 GiB (12%), 0 retries\n\
         oomph: recorded in .oomph/last\n",
        verdict()
    );
    assert_eq!(left(&ground, &[], script), shows(1, "", &expected));
    let both = ground.run(&["explain", ".oomph/last"]);
    let titled = |rank: u32| format!(".oomph/last/rank{rank}.pickle\n\n{}", explained());
    assert_eq!(both, shows(0, &format!("{}\n{}", titled(0), titled(1)), ""));
    let names = "oomph: .oomph/last holds 2 recordings, name one of them: .oomph/last/rank0.pickle, \
                 .oomph/last/rank1.pickle\n";
    assert_eq!(ground.run(&["replay", ".oomph/last"]), shows(1, "", names));
}

#[test]
fn words_are_explained_where_no_recording_shows_the_failure() {
    let ground = Ground::new("words-alone");
    let text = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.";
    let script = format!(
        "notes('main', framework='jax', exception={{'type': 'jax.errors.JaxRuntimeError', 'text': '{text}', \
         'traceback': None, 'uncaught': True, 'oom': True}})\nos._exit(1)"
    );
    let (code, out, error) = left(&ground, &[], &script);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(error.starts_with("\nout of memory (jax): 8.00 GiB more was asked for\n"), "{error}");
    let (code, out, complaint) = ground.run(&["explain", ".oomph/last"]);
    assert_eq!((code, format!("\n{out}"), complaint.as_str()), (Some(0), error, ""));
}

#[test]
fn a_kill_is_explained_by_what_was_noted() {
    let ground = Ground::new("killed");
    let nothing = "
killed by signal 9 (SIGKILL), with no sign that memory ran out
  Known by no count of out-of-memory kills rose during the run, and no process
           of it noted how much memory it held
  Do       find out who sent it: a scheduler's time limit, an operator, `kill
           -9`; `dmesg | grep -i oom` tells for sure whether it was memory
";
    let (code, out, error) = left(&ground, &[], "os.kill(os.getpid(), 9)");
    assert_eq!((code, out.as_str()), (Some(137), ""));
    // The group's limit is this machine's own and may stand between.
    let kept = |line: &&str| !line.starts_with("  Memory") && !line.contains("control group");
    let error: String = error.lines().filter(kept).flat_map(|line| [line, "\n"]).collect();
    assert_eq!(error, nothing);
    let script = "
notes('main', why='beat', host={'rss': 61 << 30, 'available': 1 << 30, 'total': 64 << 30,
      'cgroup_limit': 62 << 30, 'cgroup_current': 61 << 30})
os.kill(os.getpid(), 9)";
    let (code, _, error) = left(&ground, &[], script);
    assert_eq!(code, Some(137));
    let first: Vec<&str> = error.lines().skip(1).take(4).collect();
    let expected = [
        "killed by signal 9 (SIGKILL): most likely the host's memory ran out",
        "  Known by memory was short at the last look; the kernel's count of kills is not",
        "           visible here or did not rise",
        "  Memory   main held 61.00 GiB of RAM when it last noted it; the control group",
    ];
    assert_eq!(first, expected);
}

#[test]
fn a_worker_that_died_of_a_bus_error_is_about_shared_memory() {
    let ground = Ground::new("bus");
    let script = "
text = 'DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader\\'s workers are out \
of shared memory.'
notes('main', exception={'type': 'RuntimeError', 'text': text, 'uncaught': True, 'oom': False},
      host={'rss': 1 << 30, 'shm_total': 64 << 20, 'shm_free': 1 << 20})
os._exit(1)";
    let (code, _, error) = left(&ground, &[], script);
    assert_eq!(code, Some(1));
    let lines: Vec<&str> = error.lines().skip(1).take(3).collect();
    let expected = [
        "a DataLoader worker was killed: shared memory ran out",
        "  Known by a write to shared memory failed (bus error), which is what a full",
        "           /dev/shm does",
    ];
    assert_eq!(lines, expected);
    assert!(
        error.contains("/dev/shm had 1.00 MiB free of 64.00 MiB") || error.contains("/dev/shm had"),
        "{error}"
    );
}

#[test]
fn a_rerun_has_the_settings_that_helped_and_a_folder_of_its_own() {
    let ground = Ground::new("retry");
    let script = "\
conf = os.environ.get('PYTORCH_CUDA_ALLOC_CONF', 'none')
print(conf); sys.stdout.flush()
if 'large_segment_size_mb:12' in conf:
    notes('main', devices=[card(0, 5 << 30)])
    os._exit(0)
recording('main')
notes('main', exception=ran_out('CUDA out of memory.'))
os._exit(1)";
    let line = "oomph: running once more with large_segment_size_mb:12\n\
                oomph: GPU 0 peak 5.00 GiB held of 16.00 GiB (31%), 0 retries; .oomph/last\n";
    let printed = "none\nlarge_segment_size_mb:12\n";
    assert_eq!(left(&ground, &["--retry"], script), shows(0, printed, &format!("\n{}{line}", verdict())));
    let runs = fs::read_dir(ground.0.join(".oomph")).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name().to_string_lossy().into_owned();
        name.contains("-leave-")
    });
    assert_eq!(runs.count(), 2);
    let name = ground.file("leave.py", &format!("{LEAVE}{script}"));
    let snapshot = fixture("fragmentation-oom/snapshot.pickle.gz").display().to_string();
    let mut piped = ground.oomph(&["run", "--retry", &name, &snapshot]);
    let output = piped.stdin(Stdio::piped()).output().unwrap();
    let line = "oomph: not run again: its standard input was a pipe or a file, and is used up\n";
    assert_eq!(seen(&output), shows(1, "none\n", &format!("\n{}{line}", verdict())));
}

/// The lines that oomph itself says.
fn lines(error: &str) -> Vec<&str> {
    error.lines().filter(|line| line.starts_with("oomph: ")).collect()
}

#[test]
fn a_job_that_died_is_started_again_as_long_as_it_gets_further() {
    let ground = Ground::new("resume");
    // Killed at first; then it runs out of memory, until the setting that helps is there.
    let script = "\
resume = json.load(open(os.path.join(run, 'run.json')))['resume']
conf = os.environ.get('PYTORCH_CUDA_ALLOC_CONF', 'none')
print(resume['restarts'], resume['since_us'] > 10**15, conf, flush=True)
def reached(begun, step):
    with open(os.path.join(run, 'progress'), 'wb') as file:
        file.write(begun.to_bytes(8, 'little') + step.to_bytes(8, 'little'))
if resume['restarts'] == 0:
    reached(0, 5)
    os.kill(os.getpid(), 9)
if conf == 'none':
    reached(4, 7)
    recording('main')
    notes('main', exception=ran_out('CUDA out of memory.'))
    os._exit(1)
reached(6, 8)
os._exit(3)";
    let (code, out, error) = left(&ground, &["--resume", "3"], script);
    let printed = "0 True none\n1 True none\n2 True large_segment_size_mb:12\n";
    assert_eq!((code, out.as_str()), (Some(3), printed));
    let killed = "killed by signal 9 (SIGKILL), with no sign that memory ran out";
    let expected = [
        format!("oomph: started again (1 of 3) after step 5: {killed}"),
        "oomph: started again (2 of 3) after step 7, with large_segment_size_mb:12 (bit for bit): it ran out of memory"
            .to_owned(),
    ];
    assert_eq!(lines(&error), expected);
    let (code, _, error) = left(&ground, &["--resume", "3"], "os.kill(os.getpid(), 9)");
    let expected = [
        format!("oomph: started again (1 of 3) before its first step: {killed}"),
        format!(
            "oomph: not started again before its first step: {killed}, and it got no further than before"
        ),
    ];
    assert_eq!((code, lines(&error)), (Some(137), expected.iter().map(String::as_str).collect()));
}

#[test]
fn a_process_that_goes_on_writes_its_recording_when_asked() {
    let ground = Ground::new("dump");
    let script = ground.file(
        "wait.py",
        "import os, sys\nprint(os.getpid(), flush=True)\nsys.stdin.read()\nprint('went on', flush=True)",
    );
    let mut command = ground.oomph(&["run", &script]);
    let mut oomph = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(oomph.stdout.take().unwrap()).lines().map(Result::unwrap);
    let child = lines.next().unwrap();
    for pid in [oomph.id().to_string(), child] {
        let (code, out, error) = ground.run(&["dump", &pid, "--wait", "60"]);
        assert_eq!((code, error.as_str()), (Some(0), ""));
        let path = ground.0.join(out.trim_end());
        assert!(out.starts_with(".oomph/") && out.ends_with("/main.pickle\n") && path.is_file(), "{out}");
    }
    drop(oomph.stdin.take());
    assert_eq!(lines.next().unwrap(), "went on");
    assert_eq!(oomph.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_dumped_is_one_line() {
    let ground = Ground::new("no-dump");
    let mut alone = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = alone.id().to_string();
    let line = format!("oomph: process {pid} was not started by oomph: start it with `oomph run`\n");
    assert_eq!(ground.run(&["dump", &pid]), shows(1, "", &line));
    alone.kill().unwrap();
    alone.wait().unwrap();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let line = format!("oomph: there is no process {}\n", gone.id());
    assert_eq!(ground.run(&["dump", &gone.id().to_string()]), shows(1, "", &line));
    // A program that does not listen would die of the signal.
    let mut oomph = ground.oomph(&["run", "sleep", "600"]).spawn().unwrap();
    let pid = oomph.id().to_string();
    let line = format!("oomph: process {pid} belongs to a run, but no Python in it listens\n");
    let mut found = ground.run(&["dump", &pid]);
    while found.2.contains("was not started") {
        // It has not started its child yet.
        found = ground.run(&["dump", &pid]);
    }
    assert_eq!(found, shows(1, "", &line));
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(oomph.wait().unwrap().code(), Some(143));
}
