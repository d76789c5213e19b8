//! From plain values, wherever they come from, to a [`Sidecar`].

use super::{
    Card, Classed, Exception, Framework, Host, HostSample, Identity, Link, Mark, MarkKind, Process,
    SeenFrame, SeenOom, Sidecar, Span, Stats, StorageClass, Variables, Versions, Why,
};
use crate::cgroup;
use crate::units::{Addr, Bytes};

/// Texts of one sidecar are this long together; what comes after counts as absent. A file may name one text many times.
const TEXTS: usize = 4 << 20;
/// No machine has more cards.
const CARDS: usize = 256;
/// Processes looked at on one card.
const PROCESSES: usize = 256;
/// Failures looked at.
const OOMS: usize = 256;
/// Frames looked at of one stack.
const FRAMES: usize = 256;
/// Exceptions looked at of one chain, and classes of each.
const LINKS: usize = 64;
/// Words of a command line looked at.
const WORDS: usize = 4096;
/// No device has more, and sums of such numbers do not overflow.
const MOST: u64 = 1 << 56;

/// A plain value as the reader of a sidecar asks for it: of a pickle, or of any other file that holds the same.
pub trait Node: Copy {
    /// The value under this key, if this is a dictionary that has it.
    fn entry(self, key: &str) -> Option<Self>;
    /// How many items a list has; 0 of anything else.
    fn count(self) -> usize;
    /// The item of a list.
    fn item(self, index: usize) -> Option<Self>;
    /// The integer, if it is one from 0 to 2^64 - 1.
    fn integer(self) -> Option<u64>;
    /// The number, whole or not.
    fn number(self) -> Option<f64>;
    /// The truth value.
    fn boolean(self) -> Option<bool>;
    /// The text.
    fn text(&self) -> Option<&str>;
}

impl Sidecar {
    /// Reads the dictionary that a recording holds under `oomph`. What is missing or of another kind is absent.
    pub fn read(node: impl Node) -> Sidecar {
        Reader { left: TEXTS }.sidecar(node)
    }
}

/// Reads, as long as texts do not become too long.
struct Reader {
    left: usize,
}

impl Reader {
    fn sidecar<N: Node>(&mut self, node: N) -> Sidecar {
        let versions = node.entry("versions");
        let settings = node.entry("settings");
        let of = |key: &str| node.entry(key);
        Sidecar {
            // What a verdict needs most is read first, in case texts are too long.
            exception: of("exception").and_then(|node| self.exception(node)),
            ended_in_oom: of("ended_in_oom").and_then(Node::boolean).unwrap_or(false),
            ooms: items(of("ooms"), OOMS, |node| self.oom(node)),
            versions: Versions {
                python: self.text(versions, "python"),
                torch: self.text(versions, "torch"),
                cuda: self.text(versions, "cuda"),
                driver: self.text(versions, "driver"),
            },
            settings: Variables {
                alloc_conf: self.text(settings, "PYTORCH_ALLOC_CONF"),
                cuda_alloc_conf: self.text(settings, "PYTORCH_CUDA_ALLOC_CONF"),
            },
            identity: self.identity(node),
            devices: items(of("devices"), CARDS, |node| self.card(node)),
            started_us: integer(node, "started_us"),
            written_us: integer(node, "written_us"),
            why: word(node, "why", &Why::ALL, Why::name),
            framework: word(node, "framework", &Framework::ALL, Framework::name),
            marks: items(of("marks"), usize::MAX, mark),
            stacks: items(of("stacks"), usize::MAX, span),
            classes: items(of("classes"), usize::MAX, classed),
            host: of("host").and_then(host),
        }
    }

    fn identity<N: Node>(&mut self, node: N) -> Identity {
        let small = |key| integer(node, key).and_then(|n| u32::try_from(n).ok());
        Identity {
            oomph: self.text(Some(node), "oomph"),
            run: self.text(Some(node), "run"),
            name: self.text(Some(node), "name"),
            pid: integer(node, "pid"),
            argv: items(node.entry("argv"), WORDS, |word| self.own(word)),
            rank: small("rank"),
            local_rank: small("local_rank"),
            world_size: small("world_size"),
        }
    }

    fn card<N: Node>(&mut self, node: N) -> Option<Card> {
        let small = |node: Option<N>| node.and_then(Node::integer).and_then(|n| u32::try_from(n).ok());
        let capability = node.entry("capability");
        let capability = capability.map(|pair| (small(pair.item(0)), small(pair.item(1))));
        let fraction = node.entry("fraction").and_then(Node::number).filter(|n| (0.0..=1.0).contains(n));
        let total = amount(node, "total");
        // PyTorch multiplies and cuts off. The whole card does not count as a limit. Where a PyTorch cannot be asked for
        // its share, the recorder knows only the limit that it set itself.
        let share = fraction.filter(|share| *share < 1.0).zip(total);
        let limit = share.map(|(share, total)| Bytes((share * total.0 as f64) as u64));
        Some(Card {
            index: small(node.entry("index"))?,
            name: self.text(Some(node), "name"),
            total,
            capability: capability.and_then(|(major, minor)| Some((major?, minor?))),
            uuid: self.text(Some(node), "uuid"),
            fraction,
            limit: limit.or_else(|| amount(node, "limit")),
            free: amount(node, "free"),
            used_by_others: amount(node, "used_by_others"),
            processes: items(node.entry("processes"), PROCESSES, |process| {
                Some(Process {
                    pid: integer(process, "pid")?,
                    name: self.text(Some(process), "name"),
                    bytes: amount(process, "bytes"),
                })
            }),
            stats: Stats {
                peak_requested: amount(node, "peak_requested"),
                peak_allocated: amount(node, "peak_allocated"),
                peak_active: amount(node, "peak_active"),
                peak_reserved: amount(node, "peak_reserved"),
                allocated: amount(node, "allocated"),
                reserved: amount(node, "reserved"),
                retries: integer(node, "retries"),
                ooms: integer(node, "ooms"),
            },
        })
    }

    fn oom<N: Node>(&mut self, node: N) -> Option<SeenOom> {
        Some(SeenOom {
            time_us: integer(node, "time_us")?,
            device: integer(node, "device").and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
            requested: amount(node, "requested"),
            total: amount(node, "total"),
            free: amount(node, "free"),
            text: self.text(Some(node), "text"),
            frames: items(node.entry("frames"), FRAMES, |frame| {
                Some(SeenFrame {
                    file: self.text(Some(frame), "filename")?,
                    line: integer(frame, "line").and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
                    function: self.text(Some(frame), "name").unwrap_or_default(),
                })
            }),
        })
    }

    fn exception<N: Node>(&mut self, node: N) -> Option<Exception> {
        let exception = Exception {
            class: self.text(Some(node), "type"),
            text: self.text(Some(node), "text"),
            traceback: self.text(Some(node), "traceback"),
            uncaught: node.entry("uncaught").and_then(Node::boolean).unwrap_or(false),
            oom: node.entry("oom").and_then(Node::boolean).unwrap_or(false),
            chain: items(node.entry("chain"), LINKS, |link| {
                let classes = items(link.entry("classes"), LINKS, |class| self.own(class));
                Some(Link { classes, text: self.text(Some(link), "text")? })
            }),
        };
        (exception != Exception::default()).then_some(exception)
    }

    fn text<N: Node>(&mut self, node: Option<N>, key: &str) -> Option<String> {
        self.own(node?.entry(key)?)
    }

    fn own<N: Node>(&mut self, node: N) -> Option<String> {
        let text = node.text()?;
        self.left = self.left.checked_sub(text.len())?;
        Some(text.to_owned())
    }
}

/// The items that `read` makes sense of, of the first `most`.
fn items<N: Node, T>(list: Option<N>, most: usize, mut read: impl FnMut(N) -> Option<T>) -> Vec<T> {
    let Some(list) = list else { return Vec::new() };
    (0..list.count().min(most)).filter_map(|index| read(list.item(index)?)).collect()
}

fn integer<N: Node>(node: N, key: &str) -> Option<u64> {
    node.entry(key)?.integer()
}

fn amount<N: Node>(node: N, key: &str) -> Option<Bytes> {
    bytes(node.entry(key)?)
}

fn bytes<N: Node>(node: N) -> Option<Bytes> {
    node.integer().filter(|n| *n <= MOST).map(Bytes)
}

/// The value of `all` whose name stands under `key`.
fn word<N: Node, T: Copy>(node: N, key: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Option<T> {
    named(node.entry(key)?, all, name)
}

fn named<N: Node, T: Copy>(node: N, all: &[T], name: impl Fn(T) -> &'static str) -> Option<T> {
    let text = node.text()?;
    all.iter().copied().find(|value| name(*value) == text)
}

fn mark<N: Node>(node: N) -> Option<Mark> {
    Some(Mark {
        time_us: node.item(0)?.integer()?,
        kind: named(node.item(1)?, &MarkKind::ALL, MarkKind::name)?,
        number: node.item(2).and_then(Node::integer).unwrap_or(0),
    })
}

fn span<N: Node>(node: N) -> Option<Span> {
    Some(Span { from_us: node.item(0)?.integer()?, to_us: node.item(1).and_then(Node::integer) })
}

fn classed<N: Node>(node: N) -> Option<Classed> {
    Some(Classed {
        time_us: node.item(0)?.integer()?,
        device: u32::try_from(node.item(1)?.integer()?).ok()?,
        addr: Addr(node.item(2)?.integer()?),
        bytes: bytes(node.item(3)?)?,
        class: named(node.item(4)?, &StorageClass::ALL, StorageClass::name)?,
    })
}

fn host<N: Node>(node: N) -> Option<Host> {
    let group = node.entry("cgroup").and_then(|noted| {
        let files = noted.entry("files")?;
        cgroup::tightest(noted.entry("own")?.text()?, |name| Some(files.entry(name)?.text()?.to_owned()))
    });
    let group = group.as_ref();
    let host = Host {
        rss: amount(node, "rss"),
        peak_rss: amount(node, "peak_rss"),
        available: amount(node, "available"),
        total: amount(node, "total"),
        cgroup_limit: group.map_or_else(|| amount(node, "cgroup_limit"), |group| group.limit),
        cgroup_current: group.map_or_else(|| amount(node, "cgroup_current"), |group| group.current),
        cgroup_oom_kills: group.map_or_else(|| integer(node, "cgroup_oom_kills"), |group| group.oom_kills),
        shm_total: amount(node, "shm_total"),
        shm_free: amount(node, "shm_free"),
        samples: items(node.entry("samples"), usize::MAX, |sample| {
            Some(HostSample {
                time_us: sample.item(0)?.integer()?,
                rss: bytes(sample.item(1)?)?,
                available: bytes(sample.item(2)?)?,
            })
        }),
    };
    (host != Host::default()).then_some(host)
}
