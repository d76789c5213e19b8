//! Who holds a made-up machine's memory, as text and as JSON.

use expect_test::{Expect, expect, expect_file};
use oomph_engine::torch::variables::Obeyed;
use oomph_machine::status::gather;
use oomph_report::text::Colour;
use oomph_report::{json, text};
use oomph_testkit::exposition;

use crate::machine::{ANA, BOB, Machine};

#[track_caller]
fn check(machine: &Machine, expected: &Expect) {
    let shown = text::status::render(&gather(&machine.roots()), Colour::Off);
    let is_long = |line: &&str| line.chars().count() > 80 && !line.contains("_ALLOC_CONF=");
    assert_eq!(shown.lines().find(is_long), None, "a line is too long");
    expected.assert_eq(&shown);
}

const GPU: &[&str] = &["/dev/null", "/dev/nvidiactl", "/dev/nvidia0"];

/// One process of a run, as its recorder writes it.
fn sidecar(pid: u32, rank: u32, uuid: &str, reserved: u64) -> String {
    let allocated = reserved - (1 << 30);
    format!(
        r#"{{"format": 1, "name": "rank{rank}", "pid": {pid}, "rank": {rank},
            "versions": {{"python": "3.12.3", "torch": "2.11.0+cu130"}},
            "devices": [{{"index": 0, "name": "NVIDIA H200", "uuid": {uuid}, "allocated": {allocated},
            "reserved": {reserved}, "peak_allocated": {reserved}, "peak_reserved": {reserved},
            "retries": 2, "ooms": 1}}]}}"#
    )
}

/// Two H200: on the first a recorded job of ana's, an unrecorded one of hers, one of bob's, and one of another container.
fn two_gpus(test: &str) -> Machine {
    let mut machine = Machine::new(test);
    machine.gpus(
        "driver 580.159.04
cuda 13000
gpu NVIDIA H200
uuid GPU-6f8c1111-0000-0000-0000-000000000001
capability 9 0
memory 150754820096 644874240 64424509440
process compute 4711 45097156608
process compute 4712 12884901888
process compute 9120 2147483648
process graphics 77 ?
process compute 31337 3221225472
gpu NVIDIA H200
uuid GPU-6f8c1111-0000-0000-0000-000000000002
capability 9 0
memory 150754820096 644874240 0
mig off
",
        &[],
    );
    let run = machine.path("ana/.oomph/20261115-064012-train-4700");
    let run_name = run.to_str().unwrap();
    machine.process(
        "4711",
        ANA,
        &["/usr/bin/python3", "train.py", "--lr", "1e-4"],
        Some(&[("OOMPH_RUN", run_name), ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")]),
        Some(GPU),
    );
    machine.process(
        "4712",
        ANA,
        &[
            "python",
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--model",
            "a-model-with-a-name-that-is-far-too-long",
        ],
        Some(&[("PYTORCH_ALLOC_CONF", "max_split_size_mb:64")]),
        Some(GPU),
    );
    machine.process("9120", BOB, &["/opt/ollama", "serve"], None, None);
    machine.process("77", 0, &["/usr/lib/xorg/Xorg"], None, None);
    let file = "ana/.oomph/20261115-064012-train-4700";
    let uuid = "\"6f8c1111-0000-0000-0000-000000000001\"";
    machine.write(&format!("{file}/rank0.json"), &sidecar(4711, 0, uuid, 44_023_414_784));
    machine.write(&format!("{file}/run.json"), r#"{"format": 1, "pid": 4711}"#);
    machine
}

#[test]
fn each_gpu_shows_its_processes_and_what_of_them_is_pytorchs() {
    let mut machine = two_gpus("two-gpus");
    machine.set("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
    machine.set("PYTORCH_ALLOC_CONF", "expandable_segments:False");
    check(
        &machine,
        &expect![[r#"
            2 GPUs, driver 580.159.04, CUDA up to 13.0
              GPU 0    NVIDIA H200: 60.00 GiB of 140.40 GiB used, 79.80 GiB free, 615.00 MiB
                       kept by the driver

                  pid  user       used    PyTorch   context  command
                 4711  ana   42.00 GiB  41.00 GiB  1.00 GiB  python3 train.py --lr 1e-4
                 4712  ana   12.00 GiB          ?         ?  python -m vllm.entrypoints.ope…
                31337  ?      3.00 GiB          ?         ?  (not of this container)
                 9120  bob    2.00 GiB          ?         ?  ollama serve
                   77  0             ?          ?         ?  Xorg (graphics)

              GPU 1    NVIDIA H200: 0 B of 140.40 GiB used, 139.80 GiB free, 615.00 MiB kept
                       by the driver; no process on it
              Columns  PyTorch: held by its allocator, cache included. context: the rest of
                       the process, CUDA's context and libraries.
              RAM      16.00 GiB of 64.00 GiB used, 48.00 GiB available, no swap
              Limit    none set; control group / uses 1.00 GiB
              /dev/shm 31.00 GiB of 32.00 GiB free
              Settings in this environment: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
                       wins over PYTORCH_ALLOC_CONF=expandable_segments:False
                       of process 4711: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
                       of process 4712: PYTORCH_ALLOC_CONF=max_split_size_mb:64, which
                       PyTorch before 2.10 ignores: set PYTORCH_CUDA_ALLOC_CONF to the same
        "#]],
    );
    let document = json::document(vec![json::status(&gather(&machine.roots()))]);
    expect_file!["expected/two-gpus.json"].assert_eq(&document);
}

#[test]
fn a_divided_gpu_shows_its_instances() {
    let mut machine = Machine::new("divided");
    machine.gpus(
        "driver 580.159.04
cuda 13000
gpu NVIDIA H200
memory 150754820096 644874240 21474836480
mig
instance 1 75161927680 21474836480 MIG-a NVIDIA H200 MIG 3g.71gb
instance 9 18253611008 0 MIG-b NVIDIA H200 MIG 1g.18gb
process compute 4711 21474836480 1
",
        &[],
    );
    machine.process("4711", ANA, &["python", "train.py"], Some(&[]), Some(GPU));
    check(
        &machine,
        &expect![[r#"
            1 GPU, driver 580.159.04, CUDA up to 13.0
              GPU 0    NVIDIA H200: 20.00 GiB of 140.40 GiB used, 119.80 GiB free,
                       615.00 MiB kept by the driver; divided into instances (MIG)
              MIG 1    NVIDIA H200 MIG 3g.71gb: 20.00 GiB of 70.00 GiB used, 50.00 GiB free
              MIG 9    NVIDIA H200 MIG 1g.18gb: 0 B of 17.00 GiB used, 17.00 GiB free

                 pid  MIG  user       used  command
                4711    1  ana   20.00 GiB  python train.py

              Columns  what of a process is PyTorch's is known for jobs started with `oomph
                       run`
              RAM      16.00 GiB of 64.00 GiB used, 48.00 GiB available, no swap
              Limit    none set; control group / uses 1.00 GiB
              /dev/shm 31.00 GiB of 32.00 GiB free
              Settings in this environment: PyTorch's defaults, neither variable is set
                       of process 4711: PyTorch's defaults, neither variable is set
        "#]],
    );
    // Who is no administrator may list the instances, but not the whole.
    machine.gpus(
        "driver 580.159.04
cuda 13000
gpu NVIDIA H200
memory 150754820096 644874240 21474836480
mig
fail nvmlDeviceGetComputeRunningProcesses_v3 4
instance 1 75161927680 21474836480 MIG-a NVIDIA H200 MIG 3g.71gb
process compute 4711 21474836480 1
",
        &[],
    );
    check(
        &machine,
        &expect![[r#"
            1 GPU, driver 580.159.04, CUDA up to 13.0
              GPU 0    NVIDIA H200: 20.00 GiB of 140.40 GiB used, 119.80 GiB free,
                       615.00 MiB kept by the driver; divided into instances (MIG)
              MIG 1    NVIDIA H200 MIG 3g.71gb: 20.00 GiB of 70.00 GiB used, 50.00 GiB free

                 pid  MIG  user       used  command
                4711    1  ana   20.00 GiB  python train.py

              Columns  what of a process is PyTorch's is known for jobs started with `oomph
                       run`
              RAM      16.00 GiB of 64.00 GiB used, 48.00 GiB available, no swap
              Limit    none set; control group / uses 1.00 GiB
              /dev/shm 31.00 GiB of 32.00 GiB free
              Settings in this environment: PyTorch's defaults, neither variable is set
                       of process 4711: PyTorch's defaults, neither variable is set
        "#]],
    );
}

#[test]
fn in_a_container_pids_of_another_namespace_are_nobody_here() {
    let mut machine = Machine::new("container");
    machine.gpus(
        "driver 580.159.04
cuda 13000
gpu NVIDIA H200
uuid GPU-1
memory 150754820096 644874240 34359738368
process compute 41 21474836480
process compute 88123 8589934592
",
        &[],
    );
    // Pid 41 is somebody here too, who has no GPU's file open: not the one that the driver means.
    machine.process("41", ANA, &["bash"], Some(&[]), Some(&["/dev/pts/0"]));
    let run = machine.path("run/20261115-064012-train-12");
    machine.process(
        "17",
        ANA,
        &["python", "train.py"],
        Some(&[("OOMPH_RUN", run.to_str().unwrap())]),
        Some(GPU),
    );
    machine.write("run/20261115-064012-train-12/main.json", &sidecar(17, 0, "null", 20 << 30));
    machine.write("proc/self/cgroup", "0::/../../kubepods/pod7/abc\n");
    machine.write("cgroup/memory.max", "34359738368\n");
    machine.write("cgroup/memory.current", "32212254720\n");
    machine.write("cgroup/memory.events", "low 0\nhigh 0\nmax 31\noom 2\noom_kill 2\noom_group_kill 0\n");
    check(
        &machine,
        &expect![[r#"
            1 GPU, driver 580.159.04, CUDA up to 13.0
              GPU 0    NVIDIA H200: 32.00 GiB of 140.40 GiB used, 107.80 GiB free,
                       615.00 MiB kept by the driver

                  pid  user       used  command
                   41  ?     20.00 GiB  (not of this container)
                88123  ?      8.00 GiB  (not of this container)
                 rest         4.00 GiB  no process that is listed

              Recorded process 17 (rank0 of 20261115-064012-train-12) on GPU 0: 20.00 GiB
                       held by PyTorch, 19.00 GiB of it in use; the driver does not list it
                       under this pid
              RAM      16.00 GiB of 64.00 GiB used, 48.00 GiB available, no swap
              Limit    30.00 GiB of 32.00 GiB used by control group /; the kernel has killed
                       2 processes of it for memory
              /dev/shm 31.00 GiB of 32.00 GiB free
              Settings in this environment: PyTorch's defaults, neither variable is set
                       of process 17: PyTorch's defaults, neither variable is set
        "#]],
    );
}

#[test]
fn a_recorded_process_in_a_container_below_ours_is_found_under_its_pid_there() {
    let mut machine = Machine::new("below");
    machine.gpus(
        "gpu NVIDIA H200\nuuid GPU-1\nmemory 150754820096 0 22548578304\nprocess compute 500 22548578304\n",
        &[],
    );
    let environment =
        [("OOMPH_RUN", "/job/.oomph/run-1"), ("PYTORCH_ALLOC_CONF", "large_segment_size_mb:32")];
    machine.process("500", ANA, &["python", "train.py"], Some(&environment), Some(GPU));
    machine.write("proc/500/status", &format!("Name:\tpython\nUid:\t{ANA}\nNSpid:\t500\t7\n"));
    machine.write("proc/500/root/job/.oomph/run-1/main.json", &sidecar(7, 0, "\"GPU-1\"", 20 << 30));
    let status = gather(&machine.roots());
    let process = &status.gpus.listed[0].processes.as_ref().unwrap()[0];
    assert_eq!(process.outside_torch().map(|rest| rest.0), Some(1 << 30));
    let settings = process.settings.as_ref().unwrap();
    assert_eq!((settings.torch.as_deref(), settings.obeyed), (Some("2.11.0+cu130"), Obeyed::General));
    // The version of a process that runs is known, so a setting that it lacks is known to be refused.
    let old = sidecar(7, 0, "null", 20 << 30).replace("2.11.0", "2.10.0");
    machine.write("proc/500/root/job/.oomph/run-1/main.json", &old);
    let status = gather(&machine.roots());
    let settings = status.recorded[0].settings.as_ref().unwrap();
    assert_eq!(
        settings.problem.as_deref(),
        Some("`large_segment_size_mb` came with PyTorch 2.11, this is 2.10")
    );
}

#[test]
fn without_a_driver_the_rest_is_shown() {
    let mut machine = Machine::new("no-driver");
    machine.set("PYTORCH_CUDA_ALLOC_CONF", "expandable_segment:True");
    check(
        &machine,
        &expect![[r#"
            no GPU: no NVIDIA driver is installed, or none is visible here
              RAM      16.00 GiB of 64.00 GiB used, 48.00 GiB available, no swap
              Limit    none set; control group / uses 1.00 GiB
              /dev/shm 31.00 GiB of 32.00 GiB free
              Settings in this environment: PYTORCH_CUDA_ALLOC_CONF=expandable_segment:True;
                       refused: PyTorch has no allocator setting `expandable_segment`, did
                       you mean `expandable_segments`?
        "#]],
    );
    machine.gpus("fail nvmlInit_v2 18\n", &[]);
    machine.set("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync");
    check(
        &machine,
        &expect![[r#"
            no GPU: nvmlInit_v2: the driver and its library are of different versions:
            reboot, or reload the driver
              RAM      16.00 GiB of 64.00 GiB used, 48.00 GiB available, no swap
              Limit    none set; control group / uses 1.00 GiB
              /dev/shm 31.00 GiB of 32.00 GiB free
              Settings in this environment: PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
        "#]],
    );
}

#[test]
fn a_gpu_that_fails_is_said_to_and_the_others_are_shown() {
    let mut machine = Machine::new("faults");
    machine.gpus(
        "driver 470.57
gpu Tesla V100
fail nvmlDeviceGetName 15
fail nvmlDeviceGetMemoryInfo 15
fail nvmlDeviceGetMemoryInfo_v2 15
fail nvmlDeviceGetComputeRunningProcesses_v2 15
gpu Tesla V100
memory 17179869184 0 1073741824
process compute 5 1073741824
",
        &[
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetMemoryInfo_v2",
            "nvmlDeviceGetMigMode",
            "nvmlSystemGetCudaDriverVersion_v2",
        ],
    );
    machine.process("5", BOB, &["a\u{1b}[31mb"], None, None);
    machine.set("PYTORCH_ALLOC_CONF", "max_split_size_mb:64");
    check(
        &machine,
        &expect![[r#"
            2 GPUs, driver 470.57
              GPU 0    a GPU without a name: its memory is unknown
                       nvmlDeviceGetName: the GPU is lost: it fell off the bus, or needs a
                       reset
              GPU 1    Tesla V100: 1.00 GiB of 16.00 GiB used, 15.00 GiB free

                pid  user      used  command
                  5  bob   1.00 GiB  a?[31mb

              RAM      16.00 GiB of 64.00 GiB used, 48.00 GiB available, no swap
              Limit    none set; control group / uses 1.00 GiB
              /dev/shm 31.00 GiB of 32.00 GiB free
              Settings in this environment: PYTORCH_ALLOC_CONF=max_split_size_mb:64, which
                       PyTorch before 2.10 ignores: set PYTORCH_CUDA_ALLOC_CONF to the same
        "#]],
    );
}

#[test]
fn the_tightest_limit_on_the_way_up_counts_in_both_versions_of_control_groups() {
    let machine = Machine::new("cgroup-v2");
    let limit = |machine: &Machine| {
        let group = gather(&machine.roots()).cgroup.unwrap();
        (
            group.path,
            group.limit.map(|limit| limit.0),
            group.current.map(|current| current.0),
            group.oom_kills,
        )
    };
    machine.write("proc/self/cgroup", "0::/a/b/c\n");
    machine.write("cgroup/a/memory.max", "500\n");
    machine.write("cgroup/a/memory.current", "400\n");
    machine.write("cgroup/a/b/memory.max", "300\n");
    machine.write("cgroup/a/b/memory.current", "200\n");
    machine.write("cgroup/a/b/memory.events", "oom_kill 4\n");
    machine.write("cgroup/a/b/c/memory.max", "max\n");
    machine.write("cgroup/a/b/c/memory.current", "100\n");
    assert_eq!(limit(&machine), ("/a/b".to_owned(), Some(300), Some(200), Some(4)));
    machine.write("cgroup/a/b/memory.max", "max\n");
    assert_eq!(limit(&machine), ("/a".to_owned(), Some(500), Some(400), None));
    machine.write("cgroup/a/memory.max", "max\n");
    assert_eq!(limit(&machine), ("/a/b/c".to_owned(), None, Some(100), None));

    let machine = Machine::new("cgroup-v1");
    machine.write("proc/self/cgroup", "9:cpu:/x\n4:memory:/docker/ab\n");
    machine.write("cgroup/memory/docker/ab/memory.limit_in_bytes", "9223372036854771712\n");
    machine.write("cgroup/memory/docker/ab/memory.usage_in_bytes", "70\n");
    machine
        .write("cgroup/memory/docker/ab/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    assert_eq!(limit(&machine), ("/docker/ab".to_owned(), None, Some(70), Some(1)));
    machine.write("cgroup/memory/docker/ab/memory.limit_in_bytes", "90\n");
    assert_eq!(limit(&machine), ("/docker/ab".to_owned(), Some(90), Some(70), Some(1)));
}

#[test]
fn prometheus_gets_what_dcgm_does_not_have() {
    let page = oomph_report::prometheus::status(&gather(&two_gpus("prometheus").roots()));
    expect![[r##"
        # HELP oomph_gpu_process_memory_bytes Memory that a process holds on a GPU, by class: pytorch_allocated, pytorch_cached, context (the rest of a recorded process), unknown (a process that is not recorded).
        # TYPE oomph_gpu_process_memory_bytes gauge
        oomph_gpu_process_memory_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",pid="4711",process="python3",rank="0",class="pytorch_allocated",Hostname="node1"} 42949672960
        oomph_gpu_process_memory_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",pid="4711",process="python3",rank="0",class="pytorch_cached",Hostname="node1"} 1073741824
        oomph_gpu_process_memory_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",pid="4711",process="python3",rank="0",class="context",Hostname="node1"} 1073741824
        oomph_gpu_process_memory_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",pid="4712",process="python",class="unknown",Hostname="node1"} 12884901888
        oomph_gpu_process_memory_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",pid="31337",class="unknown",Hostname="node1"} 3221225472
        oomph_gpu_process_memory_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",pid="9120",process="ollama",class="unknown",Hostname="node1"} 2147483648
        # HELP oomph_pytorch_allocated_bytes Memory in use by tensors.
        # TYPE oomph_pytorch_allocated_bytes gauge
        oomph_pytorch_allocated_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 42949672960
        # HELP oomph_pytorch_reserved_bytes Memory held from the driver.
        # TYPE oomph_pytorch_reserved_bytes gauge
        oomph_pytorch_reserved_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 44023414784
        # HELP oomph_pytorch_peak_allocated_bytes The most in use so far.
        # TYPE oomph_pytorch_peak_allocated_bytes gauge
        oomph_pytorch_peak_allocated_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 44023414784
        # HELP oomph_pytorch_peak_reserved_bytes The most held so far.
        # TYPE oomph_pytorch_peak_reserved_bytes gauge
        oomph_pytorch_peak_reserved_bytes{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 44023414784
        # HELP oomph_pytorch_alloc_retries_total How often the whole cache was dropped to serve a request.
        # TYPE oomph_pytorch_alloc_retries_total counter
        oomph_pytorch_alloc_retries_total{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 2
        # HELP oomph_pytorch_ooms_total Requests that failed.
        # TYPE oomph_pytorch_ooms_total counter
        oomph_pytorch_ooms_total{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 1
        # HELP oomph_pytorch_growth_bytes_per_second How much more is in use after each step, a second; 0 where it does not grow.
        # TYPE oomph_pytorch_growth_bytes_per_second gauge
        oomph_pytorch_growth_bytes_per_second{gpu="0",UUID="GPU-6f8c1111-0000-0000-0000-000000000001",device="nvidia0",modelName="NVIDIA H200",cuda_device="0",pid="4711",run="20261115-064012-train-4700",name="rank0",rank="0",Hostname="node1"} 0
        # HELP oomph_host_memory_size_bytes The machine's RAM.
        # TYPE oomph_host_memory_size_bytes gauge
        oomph_host_memory_size_bytes{Hostname="node1"} 68719476736
        # HELP oomph_host_memory_available_bytes RAM that programs can take without swapping.
        # TYPE oomph_host_memory_available_bytes gauge
        oomph_host_memory_available_bytes{Hostname="node1"} 51539607552
        # HELP oomph_cgroup_memory_usage_bytes What that control group holds, page cache included.
        # TYPE oomph_cgroup_memory_usage_bytes gauge
        oomph_cgroup_memory_usage_bytes{Hostname="node1"} 1073741824
        # HELP oomph_shm_size_bytes The size of /dev/shm.
        # TYPE oomph_shm_size_bytes gauge
        oomph_shm_size_bytes{Hostname="node1"} 34359738368
        # HELP oomph_shm_free_bytes What is free in /dev/shm.
        # TYPE oomph_shm_free_bytes gauge
        oomph_shm_free_bytes{Hostname="node1"} 33285996544
    "##]].assert_eq(&page);
    exposition::check(&page);
    let machine = Machine::new("prometheus-without-gpu");
    let page = oomph_report::prometheus::status(&gather(&machine.roots()));
    assert!(page.starts_with("# HELP oomph_host_memory_size_bytes "), "{page}");
    exposition::check(&page);
}

#[test]
fn the_guide_shows_what_is_printed() {
    let mut machine = two_gpus("guide");
    machine.set("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
    machine.set("PYTORCH_ALLOC_CONF", "expandable_segments:False");
    let shown = text::status::render(&gather(&machine.roots()), Colour::Off);
    let guide = include_str!("../../../docs/guide/who-holds-the-memory.md");
    assert!(guide.contains(&format!("$ oomph status\n{shown}```\n")), "the guide lacks\n{shown}");
}
