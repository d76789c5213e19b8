//! Snapshots as the pickles PyTorch writes: of every version, in the styles of CPython and of PyTorch's C++ pickler.

mod encoder;
mod events;
mod segments;
mod sidecar;
mod words;
mod stacks;
mod tree;

use std::io::{self, Write};

use oomph_engine::torch::profile::Version;
use oomph_trace::{RecordedSettings, Snapshot};

use encoder::Encoder;
use segments::BlockLists;
use stacks::Frames;
use words::Vocabulary;

pub use encoder::Style;
pub use sidecar::tree_of;
pub use tree::Tree;

/// How to write a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Whose pickler.
    pub style: Style,
    /// Which PyTorch. It decides which fields there are.
    pub version: Version,
}

impl Default for Format {
    /// What PyTorch 2.11 writes under Python 3.12.
    fn default() -> Format {
        Format { style: Style::Python { protocol: 4 }, version: Version::two(11) }
    }
}

/// Writes `snapshot`. What the format's version does not have is left out.
pub fn write(snapshot: &Snapshot, format: Format, out: impl Write) -> io::Result<()> {
    write_with(snapshot, snapshot.sidecar.as_ref().map(tree_of).as_ref(), format, out)
}

/// Writes `snapshot` with this under the key `oomph`, whatever its own sidecar says.
pub fn write_with(
    snapshot: &Snapshot,
    oomph: Option<&Tree>,
    format: Format,
    out: impl Write,
) -> io::Result<()> {
    let mut writer = Writer {
        snapshot,
        version: format.version,
        out: Encoder::new(out, format.style)?,
        words: Vocabulary::new(format.style),
        frames: Frames::new(snapshot),
    };
    writer.top_level(oomph)?;
    writer.out.finish()
}

/// The snapshot as bytes.
pub fn bytes(snapshot: &Snapshot, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(snapshot, format, &mut bytes).expect("writing to memory does not fail");
    bytes
}

struct Writer<'a, W> {
    snapshot: &'a Snapshot,
    version: Version,
    out: Encoder<W>,
    words: Vocabulary,
    frames: Frames<'a>,
}

impl<W: Write> Writer<'_, W> {
    fn word(&mut self, word: &str) {
        self.words.word(&mut self.out, word);
    }

    fn top_level(&mut self, oomph: Option<&Tree>) -> io::Result<()> {
        let snapshot = self.snapshot;
        let since = |minor| self.version >= Version::two(minor);
        let settings = snapshot.settings.as_ref().filter(|_| since(3));
        let (annotations, host) = (since(5), since(14));
        let items = 2 + usize::from(settings.is_some()) + usize::from(annotations) + 2 * usize::from(host);
        let items = items + usize::from(oomph.is_some());
        let dict = self.out.open_dict(items);
        self.word("segments");
        let mut lists: Vec<BlockLists> = Vec::new();
        let segments: Vec<_> = snapshot
            .traces
            .iter()
            .flat_map(|trace| trace.segments.iter().map(|s| (trace.device, s)))
            .collect();
        let list = self.out.open_list(segments.len());
        for (n, (device, segment)) in segments.iter().enumerate() {
            self.out.item(n, segments.len());
            let device = usize::try_from(*device).unwrap_or_default();
            if lists.len() <= device {
                lists.resize_with(device + 1, BlockLists::new);
            }
            self.segment(device as i32, segment, &mut lists[device])?;
        }
        self.out.close_list(list)?;
        self.word("device_traces");
        self.device_traces(&lists)?;
        if let Some(settings) = settings {
            self.word("allocator_settings");
            self.settings(settings)?;
        }
        if annotations {
            self.word("external_annotations");
            self.annotations()?;
        }
        for word in ["host_segments", "host_traces"].into_iter().filter(|_| host) {
            self.word(word);
            let list = self.out.open_list(0);
            self.out.close_list(list)?;
        }
        if let Some(tree) = oomph {
            self.word("oomph");
            tree.write(&mut self.out, &mut self.words)?;
        }
        self.out.close_dict(dict)?;
        Ok(())
    }

    /// One list per device, an empty one for a device without a trace.
    fn device_traces(&mut self, lists: &[BlockLists]) -> io::Result<()> {
        let snapshot = self.snapshot;
        let devices = snapshot.traces.iter().map(|trace| trace.device + 1).max().unwrap_or(0);
        let list = self.out.open_list(devices as usize);
        let none = BlockLists::new();
        for device in 0..devices {
            self.out.item(device as usize, devices as usize);
            let trace = snapshot.traces.iter().find(|trace| trace.device == device);
            let events = trace.map_or(&[][..], |trace| &trace.events);
            self.events(events, lists.get(device as usize).unwrap_or(&none))?;
        }
        self.out.close_list(list)?;
        Ok(())
    }

    fn annotations(&mut self) -> io::Result<()> {
        let annotations = &self.snapshot.annotations;
        let list = self.out.open_list(annotations.len());
        for (n, annotation) in annotations.iter().enumerate() {
            self.out.item(n, annotations.len());
            let dict = self.out.open_dict(4);
            self.word("stage");
            self.words.text(&mut self.out, if annotation.starts { "START" } else { "END" });
            self.word("name");
            self.words.text(&mut self.out, self.snapshot.texts.get(annotation.name));
            self.word("device");
            self.out.int(annotation.device.into());
            self.word("time_us");
            self.out.int(annotation.time_us.into());
            self.out.close_dict(dict)?;
        }
        self.out.close_list(list)?;
        Ok(())
    }

    fn settings(&mut self, settings: &RecordedSettings) -> io::Result<()> {
        let since = |minor| self.version >= Version::two(minor);
        let (reuse, thresholds) = (since(9), since(13));
        let dict = self.out.open_dict(8 + usize::from(reuse) + 2 * usize::from(thresholds));
        self.word("PYTORCH_CUDA_ALLOC_CONF");
        match settings.conf.as_deref() {
            Some(conf) => self.words.text(&mut self.out, conf),
            None => self.word(""),
        }
        self.word("max_split_size");
        self.out.int(settings.max_split_size.map_or(-1, |size| size.0.into()));
        self.word("garbage_collection_threshold");
        self.out.float(settings.garbage_collection_threshold);
        self.word("expandable_segments");
        self.out.boolean(settings.expandable_segments);
        self.word("pinned_num_register_threads");
        self.out.int(1);
        self.word("release_lock_on_cudamalloc");
        self.out.boolean(false);
        self.word("pinned_use_cuda_host_register");
        self.out.boolean(false);
        if reuse {
            self.word("graph_capture_record_stream_reuse");
            self.out.boolean(false);
        }
        for word in ["max_round_threshold", "max_cached_size"].into_iter().filter(|_| thresholds) {
            self.word(word);
            self.out.int(-1);
        }
        self.word("roundup_power2_divisions");
        let divisions = self.out.open_dict(settings.roundup_power2_divisions.len());
        for (slot, count) in settings.roundup_power2_divisions.iter().enumerate() {
            self.words.text(&mut self.out, &(1u32 << slot).to_string());
            self.out.int((*count).into());
        }
        self.out.close_dict(divisions)?;
        self.out.close_dict(dict)?;
        Ok(())
    }
}
