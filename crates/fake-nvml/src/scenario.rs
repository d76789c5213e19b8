//! What the library answers.

/// A machine's GPUs, read from lines of words:
///
/// ```text
/// driver 580.159.04
/// cuda 13000
/// gpu NVIDIA H200                      the lines that follow are about this GPU
/// uuid GPU-1
/// capability 9 0
/// memory 1000 10 300                   total, kept by the driver, used
/// process compute 4711 200             or `graphics`; `?` for memory that is not available
/// mig                                  divided into instances
/// instance 3 500 200 MIG-1 NVIDIA H200 MIG 1g.18gb    number, total, used, uuid, name
/// process compute 4712 200 3           on instance 3 of a line above
/// fail nvmlDeviceGetName 15            this function fails with 15; before the first `gpu`: for all
/// grow 2                               the first two lists of processes are longer than the buffer
/// record 32                            the length of a record in version 3 of the list
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    pub(crate) driver: String,
    pub(crate) cuda: i32,
    pub(crate) failures: Vec<(String, i32)>,
    pub(crate) grow: u32,
    pub(crate) record: usize,
    pub(crate) gpus: Vec<Gpu>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Gpu {
    pub(crate) name: String,
    pub(crate) uuid: String,
    pub(crate) capability: (i32, i32),
    pub(crate) memory: Memory,
    pub(crate) processes: Vec<Process>,
    pub(crate) mig: Option<bool>,
    pub(crate) instances: Vec<(u32, Gpu)>,
    pub(crate) failures: Vec<(String, i32)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) reserved: u64,
    pub(crate) used: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub(crate) graphics: bool,
    pub(crate) pid: u32,
    pub(crate) used: u64,
    pub(crate) instance: u32,
}

impl Scenario {
    /// Reads the lines and ignores those that it does not know.
    pub fn parse(text: &str) -> Scenario {
        let mut scenario = Scenario { record: 24, ..Scenario::default() };
        for line in text.lines() {
            let (key, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            scenario.read(key, rest.trim());
        }
        scenario
    }

    fn read(&mut self, key: &str, rest: &str) {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let small = |at: usize| number(at).and_then(|n| i32::try_from(n).ok()).unwrap_or_default();
        match (key, self.gpus.last_mut()) {
            ("driver", _) => rest.clone_into(&mut self.driver),
            ("cuda", _) => self.cuda = small(0),
            ("grow", _) => self.grow = small(0).unsigned_abs(),
            ("record", _) => self.record = small(0).unsigned_abs() as usize,
            ("gpu", _) => self.gpus.push(Gpu { name: rest.to_owned(), ..Gpu::default() }),
            ("fail", None) => self.failures.push((words.first().unwrap_or(&"").to_string(), small(1))),
            ("fail", Some(gpu)) => gpu.failures.push((words.first().unwrap_or(&"").to_string(), small(1))),
            ("uuid", Some(gpu)) => rest.clone_into(&mut gpu.uuid),
            ("capability", Some(gpu)) => gpu.capability = (small(0), small(1)),
            ("memory", Some(gpu)) => {
                let part = |at| number(at).unwrap_or_default();
                gpu.memory = Memory { total: part(0), reserved: part(1), used: part(2) };
            }
            ("process", Some(gpu)) => {
                let process = Process {
                    graphics: words.first() == Some(&"graphics"),
                    pid: small(1).unsigned_abs(),
                    used: number(2).unwrap_or(u64::MAX),
                    instance: number(3).and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX),
                };
                gpu.processes.push(process);
                let on = gpu.instances.iter_mut().filter(|(number, _)| *number == process.instance);
                on.for_each(|(_, instance)| instance.processes.push(process));
            }
            ("mig", Some(gpu)) => gpu.mig = Some(rest != "off"),
            ("instance", Some(gpu)) => {
                let memory = Memory {
                    total: number(1).unwrap_or_default(),
                    reserved: 0,
                    used: number(2).unwrap_or_default(),
                };
                let uuid = words.get(3).unwrap_or(&"").to_string();
                let name = words.get(4..).unwrap_or_default().join(" ");
                gpu.instances.push((small(0).unsigned_abs(), Gpu { name, uuid, memory, ..Gpu::default() }));
            }
            _ => {}
        }
    }
}
