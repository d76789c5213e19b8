//! What `oomph top` shows of a made-up machine: whole screens, line by line.

use expect_test::{Expect, expect, expect_file};
use oomph_diagnose::results::top::{Sort, Top};
use oomph_machine::status::{Status, gather};
use oomph_report::text::top::{Line, Screen, Size, Tone, View, frame, once};
use oomph_report::{json, prometheus};
use oomph_testkit::exposition;

use crate::machine::{ANA, BOB, Machine, NOW_US};

const SMALL: Size = Size { width: 80, height: 24 };
const LARGE: Size = Size { width: 200, height: 50 };
const GPU: &[&str] = &["/dev/nvidia0"];
const SECOND: u64 = 1_000_000;
const MIB: u64 = 1 << 20;

/// What a recorder noted of a job on one card, `age_s` seconds ago: what was in use, in MiB, at each of its notes.
struct Noted {
    pid: u32,
    name: &'static str,
    started_s: u64,
    age_s: u64,
    every_s: u64,
    steps: u64,
    limit: Option<u64>,
    in_use: Vec<u64>,
}

impl Noted {
    fn json(&self, uuid: &str) -> String {
        let written = NOW_US - self.age_s * SECOND;
        let count = self.in_use.len() as u64;
        let row = |(at, mib): (usize, &u64)| {
            let back = count - 1 - at as u64;
            let peak = self.in_use[..=at].iter().max().unwrap() + 2048;
            let (time, step) =
                (written - back * self.every_s * SECOND, self.steps - back * self.steps / count);
            format!("[{time},{step},{},{},{}]", mib * MIB, (peak + 512) * MIB, peak * MIB)
        };
        let rows: Vec<String> = self.in_use.iter().enumerate().map(row).collect();
        let last = self.in_use.last().unwrap();
        let peak = self.in_use.iter().max().unwrap() + 2048;
        format!(
            r#"{{"format": 1, "name": "{}", "pid": {}, "rank": 0, "started_us": {}, "written_us": {written},
            "versions": {{"torch": "2.11.0+cu130"}}, "marks": [[{written}, "step", {}]],
            "devices": [{{"index": 0, "uuid": "{uuid}", "total": 150754820096, "free": 85899345920,
            "limit": {}, "allocated": {}, "reserved": {}, "peak_allocated": {}, "peak_reserved": {},
            "retries": 2, "ooms": 1, "history": [{}],
            "by_class": {{"weights": 1073741824, "gradients": 1073741824, "optimizer": 2147483648}}}}]}}"#,
            self.name,
            self.pid,
            NOW_US - self.started_s * SECOND,
            self.steps,
            self.limit.map_or("null".to_owned(), |mib| (mib * MIB).to_string()),
            last * MIB,
            (peak + 512) * MIB,
            peak * MIB,
            (peak + 512) * MIB,
            rows.join(","),
        )
    }
}

/// Two H200. On the first a job that grows and one that does not; on the second a job that evaluates, and somebody else.
fn busy(test: &str) -> Machine {
    let mut machine = Machine::new(test);
    machine.gpus(
        "driver 580.159.04
cuda 13000
gpu NVIDIA H200
uuid GPU-1
memory 150754820096 644874240 64424509440
process compute 4711 17179869184
process compute 31337 3221225472
gpu NVIDIA H200
uuid GPU-2
memory 150754820096 644874240 2147483648
process compute 9120 2147483648
",
        &[],
    );
    let jobs = [
        (
            "20261115-064012-train-4700",
            "GPU-1",
            Noted {
                pid: 4711,
                name: "rank0",
                started_s: 8_000,
                age_s: 1,
                every_s: 2,
                steps: 12_345,
                limit: Some(13_547),
                in_use: (0..300).map(|n| 10_000 + n).collect(),
            },
        ),
        (
            "20261115-070000-fine-tune-4800",
            "GPU-1",
            Noted {
                pid: 4811,
                name: "main",
                started_s: 600,
                age_s: 0,
                every_s: 2,
                steps: 900,
                limit: None,
                in_use: (0..300).map(|n| 20_000 + 3_000 * (n % 3)).collect(),
            },
        ),
        (
            "20261115-080000-eval-4900",
            "GPU-2",
            Noted {
                pid: 4911,
                name: "main",
                started_s: 40_000,
                age_s: 260,
                every_s: 30,
                steps: 80,
                limit: None,
                in_use: vec![4_600; 12],
            },
        ),
    ];
    for (run, uuid, noted) in &jobs {
        let folder = machine.path(&format!("ana/.oomph/{run}"));
        let environment = [("OOMPH_RUN", folder.to_str().unwrap())];
        let command = ["/usr/bin/python3", "train.py", "--lr", "1e-4"];
        machine.process(&noted.pid.to_string(), ANA, &command, Some(&environment), Some(GPU));
        machine.write(&format!("ana/.oomph/{run}/{}.json", noted.name), &noted.json(uuid));
    }
    // It began to evaluate after its last note.
    let pulse = [NOW_US - 185 * SECOND, 80, 6].map(u64::to_le_bytes).concat();
    std::fs::write(machine.path("ana/.oomph/20261115-080000-eval-4900/main.pulse"), pulse).unwrap();
    machine.process("9120", BOB, &["/opt/ollama", "serve"], None, None);
    machine
}

fn view(screen: Screen, chosen: usize) -> View {
    View { sort: Sort::Memory, screen, chosen, message: None, ascii: false }
}

/// The lines, each with a sign for how it is shown in front, and a bar behind where it is full.
fn drawn(lines: &[Line]) -> String {
    let sign = |tone| match tone {
        Tone::Plain => ' ',
        Tone::Strong => '*',
        Tone::Chosen => '>',
        Tone::Warning => '!',
    };
    lines
        .iter()
        .map(|line| format!("{}|{}", sign(line.tone), line.text).trim_end().to_owned() + "\n")
        .collect()
}

#[track_caller]
fn check(status: &Status, view: &View, size: Size, expected: &Expect) {
    let lines = frame(&Top::of(status, view.sort), view, size);
    assert_eq!(lines.len(), size.height);
    assert_eq!(lines.iter().find(|line| line.text.chars().count() > size.width), None);
    expected.assert_eq(&drawn(&lines));
}

#[test]
fn a_small_screen_shows_gpus_jobs_and_others() {
    let status = gather(&busy("top-small").roots());
    check(
        &status,
        &view(Screen::List, 0),
        SMALL,
        &expect![[r#"
            *|oomph top, node1: 2 GPUs, 3 jobs by memory, 2 other processes
             |GPU 0  NVIDIA H200            [█████████░░░░░░░░░░░] 60.0G of 140.4G used, 43%
             |GPU 1  NVIDIA H200            [░░░░░░░░░░░░░░░░░░░░] 2.0G of 140.4G used, 1%
             |RAM                           [█████░░░░░░░░░░░░░░░] 16.0G of 64.0G used, 25%
             |
            *|    PID JOB         IN USE CACHED   PEAK   LEFT    STEP DOING         HISTORY
            >|   4811 fine-tune    25.4G   2.5G  27.4G  82.5G     900 training      ██████████
             |   4711 rank0 train  10.1G   2.5G  12.1G   3.2G  12,345 training      ▂▂▃▄▄▅▆▇▇█
            !|        ! grows 30.00 MiB a minute: about 40 minutes left at this rate
             |   4911 eval          4.5G   2.5G   6.5G  82.5G      80 evaluation 3m ▁▁▁▁▁▁▁▁▁▁
             |
            *|    PID GPU USER         USED OTHER PROCESSES
             |  31337   0 ?            3.0G (not of this container)
             |   9120   1 bob          2.0G ollama serve
             |
             |
             |
             |
             |
             |
             |
             |
             |
            *|m memory  g growth  t time  p pid   enter one job   d dump   ? help   q quit
        "#]],
    );
}

#[test]
fn a_large_screen_shows_more_of_each_job() {
    let status = gather(&busy("top-large").roots());
    let lines =
        frame(&Top::of(&status, Sort::Growth), &View { sort: Sort::Growth, ..view(Screen::List, 1) }, LARGE);
    assert_eq!(lines.len(), 50);
    assert!(lines[20..49].iter().all(|line| line.text.is_empty()));
    expect![[r#"
        *|oomph top, node1: 2 GPUs, 3 jobs by growth, 2 other processes
         |GPU 0  NVIDIA H200            [████████████████████████████████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░] 60.0G of 140.4G used, 43%
         |GPU 1  NVIDIA H200            [██░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░] 2.0G of 140.4G used, 1%
         |RAM                           [███████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░] 16.0G of 64.0G used, 25%
         |
        *|    PID JOB         GPU IN USE CACHED   PEAK   LEFT  LIMIT WEIGHTS  GRADS  OPTIM   REST RETRIES FAILED    STEP    STEPS DOING         HISTORY
         |   4711 rank0 train   0  10.1G   2.5G  12.1G   3.2G  13.2G    1.0G   1.0G   2.0G   6.1G       2      1  12,345   20.6/s training      ▁▁▁▁▂▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇█████
        !|        ! grows 30.00 MiB a minute: about 40 minutes left at this rate
        >|   4811 fine-tune     0  25.4G   2.5G  27.4G  82.5G 107.9G    1.0G   1.0G   2.0G  21.4G       2      1     900    1.5/s training      ████████████████████████████████████████████████████████████
         |   4911 eval          1   4.5G   2.5G   6.5G  82.5G  87.0G    1.0G   1.0G   2.0G   504M       2      1      80 13.0/min evaluation 3m ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
         |
        *|    PID GPU USER         USED OTHER PROCESSES
         |  31337   0 ?            3.0G (not of this container)
         |   9120   1 bob          2.0G ollama serve
         |
         |
         |
         |
         |
         |
    "#]].assert_eq(&drawn(&lines[..20]));
}

#[test]
fn one_job_is_shown_with_what_its_memory_is_for() {
    let status = gather(&busy("top-job").roots());
    check(
        &status,
        &view(Screen::Job, 1),
        SMALL,
        &expect![[r#"
            *|rank0 train: process 4711 on GPU 0
             |  python3 train.py --lr 1e-4
             |  run 20261115-064012-train-4700, by ana, for 2h; figures 1s old
             |  12,345 steps done at 20.6/s; training; 2 retries, 1 failure
             |
             |  in use              10.06 GiB  [██████████████████████████████████▒▒▒▒▒▒▒▒▒░░]
             |  cached               2.50 GiB  held by PyTorch, not in use
             |  left                 3.17 GiB  to 13.23 GiB, its limit
             |  peak                12.06 GiB  12.56 GiB held at most
             |  process             16.00 GiB  held on the GPU, as the driver says
             |
            *|  in use when a step has ended
             |  weights              1.00 GiB  ███
             |  gradients            1.00 GiB  ███
             |  optimizer state      2.00 GiB  ███████
             |  rest                 6.06 GiB  ████████████████████
             |  more at the peak     2.00 GiB  ███████
             |
            !|  ! grows 30.00 MiB a minute: about 40 minutes left at this rate
            *|  in use at the ends of steps, the last 9m, 9.77 GiB to 10.06 GiB
             |                                                     ▁▁▁▂▂▂▃▃▃▃▄▄▄▅▅▅▆▆▆▆▇▇▇██
             |                          ▁▁▁▁▂▂▂▃▃▃▄▄▄▄▅▅▅▆▆▆▇▇▇▇████████████████████████████
             |  ▁▂▂▂▂▃▃▃▄▄▄▅▅▅▆▆▆▆▇▇▇███████████████████████████████████████████████████████
            *|esc back   up down other job   d dump   ? help   q quit
        "#]],
    );
}

#[test]
fn a_terminal_without_utf8_gets_ascii() {
    let status = gather(&busy("top-ascii").roots());
    let lines = frame(&Top::of(&status, Sort::Pid), &View { ascii: true, ..view(Screen::List, 0) }, SMALL);
    assert!(lines.iter().all(|line| line.text.is_ascii()));
    let lines = frame(&Top::of(&status, Sort::Pid), &View { ascii: true, ..view(Screen::Job, 0) }, SMALL);
    assert!(lines.iter().all(|line| line.text.is_ascii()));
    expect![[r#"
        *|rank0 train: process 4711 on GPU 0
         |  python3 train.py --lr 1e-4
         |  run 20261115-064012-train-4700, by ana, for 2h; figures 1s old
         |  12,345 steps done at 20.6/s; training; 2 retries, 1 failure
         |
         |  in use              10.06 GiB  [##################################+++++++++..]
         |  cached               2.50 GiB  held by PyTorch, not in use
         |  left                 3.17 GiB  to 13.23 GiB, its limit
         |  peak                12.06 GiB  12.56 GiB held at most
         |  process             16.00 GiB  held on the GPU, as the driver says
         |
        *|  in use when a step has ended
         |  weights              1.00 GiB  ###
         |  gradients            1.00 GiB  ###
         |  optimizer state      2.00 GiB  #######
         |  rest                 6.06 GiB  ####################
         |  more at the peak     2.00 GiB  #######
         |
        !|  ! grows 30.00 MiB a minute: about 40 minutes left at this rate
        *|  in use at the ends of steps, the last 9m, 9.77 GiB to 10.06 GiB
         |                                                     ...:::----===+++****%%%##
         |                          ....:::---====+++***%%%%############################
         |  .::::---===+++****%%%#######################################################
        *|esc back   up down other job   d dump   ? help   q quit
    "#]]
    .assert_eq(&drawn(&lines));
}

#[test]
fn help_names_every_key() {
    let status = gather(&Machine::new("top-help").roots());
    check(
        &status,
        &view(Screen::Help, 0),
        SMALL,
        &expect![[r#"
        *|oomph top: keys
         |
         |  up down  choose a job
         |  enter    the chosen job alone; esc goes back
         |  m        sort by memory: what PyTorch holds, the most first
         |  g        sort by growth: the job with the least time left first
         |  t        sort by time: the job that has run longest first
         |  p        sort by pid
         |  d        dump: the chosen job writes its recording and goes on
         |  ?        these keys
         |  q        quit
         |
        *|words
         |  in use   by tensors
         |  cached   held by PyTorch and not in use
         |  peak     the most that was in use
         |  left     from what is in use to the limit, or to the end of the card
         |  !        what remains after each step grows, and will reach the limit
         |
         |
         |
         |
         |
        *|esc back   q quit
    "#]],
    );
}

#[test]
fn a_machine_without_gpus_and_jobs_says_what_to_do() {
    let status = gather(&Machine::new("top-empty").roots());
    let view = View { message: Some("there is no job to dump".to_owned()), ..view(Screen::Job, 0) };
    check(
        &status,
        &view,
        Size { width: 80, height: 8 },
        &expect![[r#"
        *|oomph top, node1: 0 GPUs, 0 jobs by memory, 0 other processes
         |no GPU: no NVIDIA driver is installed, or none is visible here
         |RAM                           [█████░░░░░░░░░░░░░░░] 16.0G of 64.0G used, 25%
         |
         |no job runs under `oomph run` that this user may see: oomph run train.py
         |
         |
        !|there is no job to dump
    "#]],
    );
    // A terminal of no size gets a screen all the same, which it shows a part of.
    assert_eq!(frame(&Top::of(&status, Sort::Memory), &view, Size { width: 0, height: 0 }).len(), 8);
}

#[test]
fn jobs_are_sorted_by_memory_growth_time_and_pid() {
    let status = gather(&busy("top-sort").roots());
    let pids = |sort| Top::of(&status, sort).jobs.iter().map(|job| job.process.pid).collect::<Vec<_>>();
    assert_eq!(pids(Sort::Memory), [4811, 4711, 4911]);
    assert_eq!(pids(Sort::Growth), [4711, 4811, 4911]);
    assert_eq!(pids(Sort::Time), [4911, 4711, 4811]);
    assert_eq!(pids(Sort::Pid), [4711, 4811, 4911]);
}

#[test]
fn many_jobs_scroll_so_that_the_chosen_one_is_seen() {
    let mut machine = Machine::new("top-many");
    machine.gpus("gpu NVIDIA H200\nuuid GPU-1\nmemory 150754820096 0 0\n", &[]);
    for pid in 100..140 {
        let run = format!("20261115-064012-train-{pid}");
        let folder = machine.path(&format!("runs/{run}"));
        let environment = [("OOMPH_RUN", folder.to_str().unwrap())];
        machine.process(&pid.to_string(), ANA, &["python", "train.py"], Some(&environment), Some(GPU));
        let notes = format!(r#"{{"name": "main", "pid": {pid}, "devices": []}}"#);
        machine.write(&format!("runs/{run}/main.json"), &notes);
    }
    let status = gather(&machine.roots());
    let shown = |chosen| {
        let view = View { sort: Sort::Pid, ..view(Screen::List, chosen) };
        frame(&Top::of(&status, Sort::Pid), &view, SMALL)
    };
    let of_pid = |lines: &[Line], pid: &str| lines.iter().position(|line| line.text.contains(pid));
    assert_eq!(of_pid(&shown(0), "   100 "), Some(5));
    assert_eq!(shown(0)[22].text, "        and 23 lines below");
    let end = shown(39);
    assert_eq!((of_pid(&end, "   100 "), of_pid(&end, "   139 ")), (None, Some(21)));
    assert_eq!(end[21].tone, Tone::Chosen);
    let middle = shown(25);
    assert_eq!(of_pid(&middle, "   125 "), Some(21));
    assert_eq!(middle[22].text, "        and 14 lines below");
}

#[test]
fn what_is_foreign_does_nothing_to_a_terminal() {
    let mut machine = Machine::new("top-hostile");
    machine.gpus("gpu Evil\u{1b}[31m\nmemory 1000 0 10\nprocess compute 5 10\n", &[]);
    machine.process("5", BOB, &["a\u{1b}]0;title\u{7}\nb"], None, None);
    let run = machine.path("x-y-\u{1b}[2J-5");
    machine.process("6", ANA, &["p\u{1b}[H"], Some(&[("OOMPH_RUN", run.to_str().unwrap())]), Some(GPU));
    machine
        .write("x-y-\u{1b}[2J-5/main.json", r#"{"name": "m\u001b[1m", "pid": 6, "devices": [{"index": 0}]}"#);
    let status = gather(&machine.roots());
    let top = Top::of(&status, Sort::Memory);
    assert_eq!((top.jobs.len(), top.others.len()), (1, 1));
    for screen in [Screen::List, Screen::Job] {
        let lines = frame(&top, &view(screen, 0), SMALL);
        assert!(lines.iter().all(|line| !line.text.chars().any(char::is_control)), "{lines:?}");
    }
    assert!(!once(&top, Sort::Memory, false).contains('\u{1b}'));
}

#[test]
fn the_same_numbers_are_text_json_and_metrics() {
    let status = gather(&busy("top-json").roots());
    let top = Top::of(&status, Sort::Growth);
    expect![[r#"
        oomph top, node1: 2 GPUs, 3 jobs by growth, 2 other processes
        GPU 0  NVIDIA H200            [█████████░░░░░░░░░░░] 60.0G of 140.4G used, 43%
        GPU 1  NVIDIA H200            [░░░░░░░░░░░░░░░░░░░░] 2.0G of 140.4G used, 1%
        RAM                           [█████░░░░░░░░░░░░░░░] 16.0G of 64.0G used, 25%

            PID JOB         IN USE CACHED   PEAK   LEFT    STEP DOING         HISTORY
           4711 rank0 train  10.1G   2.5G  12.1G   3.2G  12,345 training      ▂▂▃▄▄▅▆▇▇█
                ! grows 30.00 MiB a minute: about 40 minutes left at this rate
           4811 fine-tune    25.4G   2.5G  27.4G  82.5G     900 training      ██████████
           4911 eval          4.5G   2.5G   6.5G  82.5G      80 evaluation 3m ▁▁▁▁▁▁▁▁▁▁

            PID GPU USER         USED OTHER PROCESSES
          31337   0 ?            3.0G (not of this container)
           9120   1 bob          2.0G ollama serve
    "#]]
    .assert_eq(&once(&top, Sort::Growth, false));
    let mut short = status.clone();
    short.recorded.iter_mut().flat_map(|one| &mut one.devices).for_each(|device| device.history.truncate(1));
    expect_file!["expected/top.json"].assert_eq(&json::printed(&json::top(&Top::of(&short, Sort::Growth))));
    let page = prometheus::status(&status);
    exposition::check(&page);
    let names = ["steps_total", "limit_bytes", "class_bytes", "growth_bytes_per_second", "left_seconds"];
    let wanted = |line: &&str| names.iter().any(|name| line.starts_with(&format!("oomph_pytorch_{name}")));
    let of_job = |line: &&str| line.contains("pid=\"4711\"");
    let shown: Vec<&str> = page.lines().filter(wanted).filter(of_job).collect();
    expect![[r#"
        oomph_pytorch_steps_total{pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 12345
        oomph_pytorch_limit_bytes{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 14205059072
        oomph_pytorch_class_bytes{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",class="weights",Hostname="node1"} 1073741824
        oomph_pytorch_class_bytes{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",class="gradients",Hostname="node1"} 1073741824
        oomph_pytorch_class_bytes{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",class="optimizer",Hostname="node1"} 2147483648
        oomph_pytorch_class_bytes{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",class="buffers",Hostname="node1"} 0
        oomph_pytorch_class_bytes{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",class="rest",Hostname="node1"} 6504316928
        oomph_pytorch_growth_bytes_per_second{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 524288
        oomph_pytorch_left_seconds{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 2400
    "#]].assert_eq(&(shown.join("\n") + "\n"));
}

#[test]
fn the_guide_shows_what_is_printed() {
    let status = gather(&busy("top-guide").roots());
    let guide = include_str!("../../../docs/guide/watch-a-job.md");
    for (screen, chosen) in [(Screen::List, 0), (Screen::Job, 1)] {
        let lines = frame(&Top::of(&status, Sort::Memory), &view(screen, chosen), SMALL);
        let mut shown: String = lines.iter().map(|line| line.text.trim_end().to_owned() + "\n").collect();
        // What is empty on the screen need not be long in the guide.
        while shown.contains("\n\n\n") {
            shown = shown.replace("\n\n\n", "\n\n");
        }
        assert!(guide.contains(&format!("\n{shown}```\n")), "the guide lacks\n{shown}");
    }
}
