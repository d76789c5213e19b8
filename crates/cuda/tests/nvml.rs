//! NVML as the fake library answers: figures, versions of its functions, faults.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};

use oomph_cuda::{Code, Error, Memory, Nvml, Process};
use oomph_testkit::nvml::library;
use oomph_trace::Bytes;

/// A library of its own for each test.
fn fake(test: &str, scenario: &str, hidden: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).unwrap();
    library(&folder, scenario, hidden).unwrap()
}

fn open(test: &str, scenario: &str, hidden: &[&str]) -> Result<Nvml, Error> {
    Nvml::open(Some(&fake(test, scenario, hidden)))
}

const ONE: &str = "\
driver 580.159.04
cuda 13000
gpu NVIDIA H200
uuid GPU-1
capability 9 0
memory 1000 10 300
process compute 4711 200
process compute 4712 ?
process graphics 99 5
";

#[test]
fn a_machine_is_described() {
    let nvml = open("described", ONE, &[]).unwrap();
    assert_eq!(nvml.driver_version().unwrap(), "580.159.04");
    assert_eq!(nvml.cuda_version().unwrap(), (13, 0));
    assert_eq!(nvml.device_count().unwrap(), 1);
    let gpu = nvml.device(0).unwrap();
    assert_eq!((gpu.name().unwrap().as_str(), gpu.uuid().unwrap().as_str()), ("NVIDIA H200", "GPU-1"));
    assert_eq!(gpu.compute_capability().unwrap(), (9, 0));
    let memory = Memory { total: Bytes(1000), used: Bytes(300), free: Bytes(690), reserved: Some(Bytes(10)) };
    assert_eq!(gpu.memory().unwrap(), memory);
    assert_eq!(gpu.mig_enabled().unwrap(), None);
    let process = |pid, used: Option<u64>| Process { pid, used: used.map(Bytes), gpu_instance: None };
    assert_eq!(gpu.compute_processes().unwrap(), [process(4711, Some(200)), process(4712, None)]);
    assert_eq!(gpu.graphics_processes().unwrap(), [process(99, Some(5))]);
    let beyond = nvml.device(1).unwrap_err();
    assert_eq!(beyond.to_string(), "nvmlDeviceGetHandleByIndex_v2: an argument is not valid");
}

#[test]
fn every_version_of_the_list_and_every_length_of_its_records_gives_the_same_processes() {
    let newest = ["nvmlDeviceGetComputeRunningProcesses_v3"];
    let newer = ["nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"];
    let expected: Vec<(u32, Option<Bytes>)> = vec![(4711, Some(Bytes(200))), (4712, None)];
    let wide = format!("record 32\n{ONE}");
    let narrow = format!("record 16\n{ONE}");
    let cases: [(&str, &str, &[&str]); 5] = [
        ("v3", ONE, &[]),
        ("v3-of-535", &wide, &[]),
        ("v3-narrow", &narrow, &[]),
        ("v2", ONE, &newest),
        ("v1", ONE, &newer),
    ];
    for (name, scenario, hidden) in cases {
        let nvml = open(name, scenario, hidden).unwrap();
        let found = nvml.device(0).unwrap().compute_processes().unwrap();
        let found: Vec<_> = found.iter().map(|process| (process.pid, process.used)).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_list_that_grows_between_two_calls_is_asked_for_again() {
    let many: String = (0..100).map(|pid| format!("process compute {pid} 1\n")).collect();
    for (name, grow, length) in [("grows", 3, 2), ("many", 0, 102), ("grows-many", 3, 102)] {
        let scenario = format!("grow {grow}\n{ONE}{}", if length > 2 { many.as_str() } else { "" });
        let nvml = open(name, &scenario, &[]).unwrap();
        assert_eq!(nvml.device(0).unwrap().compute_processes().unwrap().len(), length, "{name}");
    }
    let nvml = open("grows-forever", &format!("grow 1000\n{ONE}"), &[]).unwrap();
    let error = nvml.device(0).unwrap().compute_processes().unwrap_err();
    assert_eq!(error.code(), Some(Code::INSUFFICIENT_SIZE));
}

#[test]
fn an_old_driver_counts_what_it_keeps_for_itself_as_used() {
    let nvml = open("old", ONE, &["nvmlDeviceGetMemoryInfo_v2", "nvmlInit_v2"]).unwrap();
    let memory = Memory { total: Bytes(1000), used: Bytes(310), free: Bytes(690), reserved: None };
    assert_eq!(nvml.device(0).unwrap().memory().unwrap(), memory);
}

#[test]
fn a_divided_gpu_lists_its_instances() {
    let scenario = "\
gpu NVIDIA H200
mig
instance 3 500 200 MIG-a NVIDIA H200 MIG 3g.71gb
instance 9 100 0 MIG-b NVIDIA H200 MIG 1g.18gb
process compute 4711 200 3
";
    let nvml = open("divided", scenario, &[]).unwrap();
    let gpu = nvml.device(0).unwrap();
    assert_eq!(gpu.mig_enabled().unwrap(), Some(true));
    assert_eq!(gpu.compute_processes().unwrap()[0].gpu_instance, Some(3));
    let shown: Vec<String> = gpu
        .instances()
        .unwrap()
        .iter()
        .map(|one| {
            let memory = one.memory().unwrap();
            let (number, name, uuid) =
                (one.gpu_instance().unwrap(), one.name().unwrap(), one.uuid().unwrap());
            format!("{number} {name} {uuid} {} {}", memory.total.0, memory.used.0)
        })
        .collect();
    assert_eq!(shown, ["3 NVIDIA H200 MIG 3g.71gb MIG-a 500 200", "9 NVIDIA H200 MIG 1g.18gb MIG-b 100 0"]);
}

#[test]
fn what_is_missing_or_fails_is_an_error_with_its_name() {
    let missing = Nvml::open(Some(Path::new("no-such-library.so"))).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "no-such-library.so cannot be loaded: no NVIDIA driver is installed, or it is not visible here"
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("text");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("text.so"), "no library").unwrap();
    assert!(matches!(Nvml::open(Some(&folder.join("text.so"))), Err(Error::Library { .. })));
    let failed = open("no-driver", "fail nvmlInit_v2 9\n", &[]).unwrap_err();
    assert_eq!(failed.to_string(), "nvmlInit_v2: the driver is not loaded");
    let other = open("no-init", ONE, &["nvmlInit", "nvmlInit_v2"]).unwrap_err();
    assert_eq!(other, Error::Missing { function: "nvmlInit_v2" });
    let lost = open("lost", &format!("{ONE}fail nvmlDeviceGetName 15\n"), &[]).unwrap();
    let error = lost.device(0).unwrap().name().unwrap_err();
    assert_eq!(
        error.to_string(),
        "nvmlDeviceGetName: the GPU is lost: it fell off the bus, or needs a reset"
    );
}

#[test]
fn the_library_can_be_opened_again_after_it_was_shut_down() {
    let path = fake("again", ONE, &[]);
    for _ in 0..3 {
        let nvml = Nvml::open(Some(&path)).unwrap();
        assert_eq!(nvml.device_count().unwrap(), 1);
    }
}
