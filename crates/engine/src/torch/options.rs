//! The options of `PYTORCH_CUDA_ALLOC_CONF`, as replay understands them.
//!
//! To add an option: a field of [`Options`], a row of `KEYS`, an arm in [`Options::set`] and in `Display`;
//! then the policy reads the field where PyTorch reads the option.

use std::fmt;

use oomph_trace::spelling::nearest;
use oomph_trace::{Bytes, RecordedSettings};

use super::profile::{Profile, Version};
use super::rounding::{Divisions, LARGE_SEGMENT, MIN_LARGE_REQUEST};

/// The allocator's settings. `Display` writes them as PyTorch reads them, only those that differ from the default.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Segments grow by mapping pages.
    pub expandable_segments: bool,
    /// Blocks of this size and more are not split; `None`: all are.
    pub max_split_size: Option<Bytes>,
    /// How much larger than a request an unsplittable block may be; `None`: the large segment's size.
    pub max_non_split_rounding: Option<Bytes>,
    /// Divisions per power of two.
    pub roundup_power2_divisions: Divisions,
    /// From this share of the limit on, old cached segments are released before new ones are asked for; 0 is off.
    pub garbage_collection_threshold: f64,
    /// The segment that medium requests share, and the page of large expandable segments.
    pub large_segment_size: Bytes,
    /// The limit as a share of the device.
    pub per_process_memory_fraction: Option<f64>,
    /// A request beyond the configured fraction fails at once, without a release of the cache.
    pub throw_on_cudamalloc_oom: bool,
    /// The address space of an expandable segment; `None`: 9/8 of the device.
    pub expandable_segments_reserve: Option<Reserve>,
}

/// How much address space an expandable segment reserves (2.15).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reserve {
    /// A share of the device's memory.
    Fraction(f64),
    /// An amount.
    Size(Bytes),
}

impl Default for Options {
    fn default() -> Options {
        Options {
            expandable_segments: false,
            max_split_size: None,
            max_non_split_rounding: None,
            roundup_power2_divisions: Divisions::default(),
            garbage_collection_threshold: 0.0,
            large_segment_size: LARGE_SEGMENT,
            per_process_memory_fraction: None,
            throw_on_cudamalloc_oom: false,
            expandable_segments_reserve: None,
        }
    }
}

/// Every key PyTorch accepts, and since when.
const KEYS: &[(&str, Version)] = &[
    ("backend", Version::two(0)),
    ("expandable_segments", Version::two(1)),
    ("expandable_segments_reserve", Version::two(15)),
    ("expandable_segments_reserve_by_class", Version::two(15)),
    ("garbage_collection_threshold", Version::two(0)),
    ("graph_capture_record_stream_reuse", Version::two(9)),
    ("large_segment_size_mb", Version::two(11)),
    ("max_non_split_rounding_mb", Version::two(6)),
    ("max_split_size_mb", Version::two(0)),
    ("per_process_memory_fraction", Version::two(10)),
    ("pinned_free_catch_all", Version::two(12)),
    ("pinned_max_cached_size_mb", Version::two(13)),
    ("pinned_max_round_threshold_mb", Version::two(13)),
    ("pinned_num_register_threads", Version::two(1)),
    ("pinned_reserve_segment_size_mb", Version::two(9)),
    ("pinned_use_background_threads", Version::two(6)),
    ("pinned_use_cuda_host_register", Version::two(1)),
    ("release_lock_on_cudamalloc", Version::two(2)),
    ("release_lock_on_hipmalloc", Version::two(2)),
    ("roundup_power2_divisions", Version::two(0)),
    ("throw_on_cudamalloc_oom", Version::two(12)),
];

/// The first version of PyTorch that accepts the key; `None`: none does.
pub fn known_since(key: &str) -> Option<Version> {
    KEYS.iter().find(|(name, _)| *name == key).map(|(_, since)| *since)
}

/// Why a setting cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No version has it.
    #[error("PyTorch has no allocator setting `{key}`{hint}")]
    UnknownKey {
        /// As written.
        key: String,
        /// ", did you mean …?" or nothing.
        hint: String,
    },
    /// A later version has it.
    #[error(
        "`{key}` came with PyTorch {since}; this replay is of {version}: pass --profile {since} to try it"
    )]
    TooNew {
        /// As written.
        key: String,
        /// The first version with it.
        since: Version,
        /// The version replayed.
        version: Version,
    },
    /// Not a value PyTorch accepts.
    #[error("`{key}:{value}` is not valid: {expected}")]
    BadValue {
        /// As written.
        key: String,
        /// As written.
        value: String,
        /// What PyTorch accepts.
        expected: &'static str,
    },
    /// Not `key:value`.
    #[error("`{text}` is not a setting: write KEY:VALUE, such as expandable_segments:True")]
    NotASetting {
        /// As written.
        text: String,
    },
    /// A backend without a model.
    #[error("`backend:{value}` cannot be replayed: only PyTorch's native allocator is modelled")]
    Backend {
        /// As written.
        value: String,
    },
}

impl Options {
    /// What a snapshot says was in force.
    ///
    /// The structured fields are what took effect; the raw string adds the options that have no field of their own,
    /// as far as they can be read.
    pub fn recorded(settings: &RecordedSettings, profile: &Profile) -> Options {
        let mut options = Options::as_far_as_known(settings.conf.as_deref().unwrap_or_default(), profile);
        options.expandable_segments = settings.expandable_segments;
        options.max_split_size = settings.max_split_size;
        options.garbage_collection_threshold = settings.garbage_collection_threshold;
        options.roundup_power2_divisions = Divisions(settings.roundup_power2_divisions);
        options
    }

    /// What is known of a string that PyTorch accepted: it may hold what replay does not model.
    pub(crate) fn as_far_as_known(conf: &str, profile: &Profile) -> Options {
        let mut options = Options::default();
        for (key, value) in split_settings(conf) {
            let _ = options.set(key, value, profile);
        }
        options
    }

    /// Reads a whole configuration string, such as `expandable_segments:True,max_split_size_mb:64`.
    pub fn parse(conf: &str, profile: &Profile) -> Result<Options, OptionError> {
        let mut options = Options::default();
        options.apply(conf, profile)?;
        Ok(options)
    }

    /// Sets what `conf` names and leaves the rest as it is.
    pub fn apply(&mut self, conf: &str, profile: &Profile) -> Result<(), OptionError> {
        for (key, value) in split_settings(conf) {
            self.set(key, value, profile)?;
        }
        Ok(())
    }

    /// Sets one option. Options of the host allocator and those that change no allocation are checked and ignored.
    pub fn set(&mut self, key: &str, value: &str, profile: &Profile) -> Result<(), OptionError> {
        let Some(since) = known_since(key) else {
            if value.is_empty() {
                return Err(OptionError::NotASetting { text: key.to_owned() });
            }
            return Err(OptionError::UnknownKey { key: key.to_owned(), hint: suggestion(key) });
        };
        if profile.version < since {
            return Err(OptionError::TooNew { key: key.to_owned(), since, version: profile.version });
        }
        let bad = |expected| OptionError::BadValue { key: key.to_owned(), value: value.to_owned(), expected };
        let boolean = || match value {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(bad("write True or False, with a capital")),
        };
        let megabytes =
            || value.parse::<u32>().map(|n| Bytes::mib(n.into())).map_err(|_| bad("write whole MiB"));
        match key {
            "backend" if value == "native" => {}
            "backend" => return Err(OptionError::Backend { value: value.to_owned() }),
            "expandable_segments" => self.expandable_segments = boolean()?,
            "max_split_size_mb" => match megabytes()? {
                size if size >= self.large_segment_size => self.max_split_size = Some(size),
                _ => return Err(bad("it must be at least large_segment_size_mb, which is 20 by default")),
            },
            "max_non_split_rounding_mb" => match megabytes()? {
                size if size >= self.large_segment_size => self.max_non_split_rounding = Some(size),
                _ => return Err(bad("it must be at least large_segment_size_mb, which is 20 by default")),
            },
            "large_segment_size_mb" => match megabytes()? {
                size if size > MIN_LARGE_REQUEST => self.large_segment_size = size,
                _ => return Err(bad("it must be more than 10")),
            },
            "garbage_collection_threshold" => match value.parse::<f64>() {
                Ok(share) if share > 0.0 && share < 1.0 => self.garbage_collection_threshold = share,
                _ => return Err(bad("write a share between 0 and 1, such as 0.8")),
            },
            "per_process_memory_fraction" => match value.parse::<f64>() {
                Ok(share) if (0.0..=1.0).contains(&share) => self.per_process_memory_fraction = Some(share),
                _ => return Err(bad("write a share from 0 to 1, such as 0.9")),
            },
            "roundup_power2_divisions" => {
                self.roundup_power2_divisions = parse_divisions(value)
                    .ok_or_else(|| bad("write a power of two, or a list such as [256:1,512:2,>:4]"))?;
            }
            "throw_on_cudamalloc_oom" => self.throw_on_cudamalloc_oom = boolean()?,
            "expandable_segments_reserve" => {
                self.expandable_segments_reserve =
                    Some(match (value.parse::<f64>(), value.parse::<Bytes>()) {
                        (Ok(share), _) if share > 0.0 => Reserve::Fraction(share),
                        (Err(_), Ok(size)) => Reserve::Size(size),
                        _ => return Err(bad("write a share of the device or a size, such as 0.5 or 40G")),
                    });
            }
            // The rest concerns pinned host memory, locks and captures: no allocation lands elsewhere because of it.
            _ => {}
        }
        Ok(())
    }

    /// How many options differ from the default.
    pub fn keys(&self) -> usize {
        split_settings(&self.to_string()).len()
    }

    /// How much larger than a request an unsplittable block may be.
    pub fn non_split_rounding(&self) -> Bytes {
        self.max_non_split_rounding.unwrap_or(self.large_segment_size)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Options::default();
        let mut parts = Vec::new();
        let mib = |size: Bytes| size.0 >> 20;
        if self.expandable_segments {
            parts.push("expandable_segments:True".to_owned());
        }
        if self.large_segment_size != default.large_segment_size {
            parts.push(format!("large_segment_size_mb:{}", mib(self.large_segment_size)));
        }
        if let Some(size) = self.max_split_size {
            parts.push(format!("max_split_size_mb:{}", mib(size)));
        }
        if let Some(size) = self.max_non_split_rounding {
            parts.push(format!("max_non_split_rounding_mb:{}", mib(size)));
        }
        if !self.roundup_power2_divisions.is_off() {
            parts
                .push(format!("roundup_power2_divisions:{}", show_divisions(&self.roundup_power2_divisions)));
        }
        if self.garbage_collection_threshold > 0.0 {
            parts.push(format!("garbage_collection_threshold:{}", self.garbage_collection_threshold));
        }
        if let Some(share) = self.per_process_memory_fraction {
            parts.push(format!("per_process_memory_fraction:{share}"));
        }
        if self.throw_on_cudamalloc_oom {
            parts.push("throw_on_cudamalloc_oom:True".to_owned());
        }
        match self.expandable_segments_reserve {
            Some(Reserve::Fraction(share)) => parts.push(format!("expandable_segments_reserve:{share}")),
            Some(Reserve::Size(size)) => parts.push(format!("expandable_segments_reserve:{}M", mib(size))),
            None => {}
        }
        f.pad(&parts.join(","))
    }
}

/// Splits `a:b,c:[d:e,f:g]` at the commas outside brackets, and each part at its first colon.
pub fn split_settings(conf: &str) -> Vec<(&str, &str)> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, c) in conf.char_indices().chain([(conf.len(), ',')]) {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth <= 0 || at == conf.len() => {
                let part = conf[start..at].trim();
                if !part.is_empty() {
                    let (key, value) = part.split_once(':').unwrap_or((part, ""));
                    parts.push((key.trim(), value.trim()));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

/// A power of two, or `[256:1,512:2,>:4]`: a key sets the slot of its size in MiB, the first key also all lower
/// slots, `>` all slots after the last.
fn parse_divisions(value: &str) -> Option<Divisions> {
    let power = |text: &str| text.trim().parse::<u32>().ok().filter(|n| *n == 0 || n.is_power_of_two());
    let Some(list) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return power(value).map(Divisions::uniform);
    };
    let mut slots = [0u32; 16];
    let mut last = None;
    for entry in list.split(',') {
        let (key, divisions) = entry.split_once(':')?;
        let divisions = power(divisions)?;
        if key.trim() == ">" {
            slots[last.map_or(0, |slot: usize| slot + 1)..].fill(divisions);
            last = Some(15);
            continue;
        }
        let slot = (power(key).filter(|n| *n > 0)?.ilog2() as usize).min(15);
        if last.is_none() {
            slots[..slot].fill(divisions);
        }
        slots[slot] = divisions;
        last = Some(slot);
    }
    Some(Divisions(slots))
}

/// As [`parse_divisions`] reads it, in as few entries as can be.
fn show_divisions(divisions: &Divisions) -> String {
    let slots = &divisions.0;
    // The first entry stands for all slots up to its own, the last for all that follow.
    let lead = slots.iter().take_while(|n| **n == slots[0]).count() - 1;
    let tail = slots.len() - slots.iter().rev().take_while(|n| **n == slots[15]).count();
    if lead == 15 {
        return slots[0].to_string();
    }
    let entries = (lead..tail).map(|slot| format!("{}:{}", 1 << slot, slots[slot]));
    let entries: Vec<String> = entries.chain([format!(">:{}", slots[15])]).collect();
    format!("[{}]", entries.join(","))
}

/// The known key that is fewest edits away, if it is near.
fn suggestion(key: &str) -> String {
    nearest(key, KEYS.iter().map(|(name, _)| *name))
        .map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(conf: &str, version: Version, expected: &str) {
        let shown = match Options::parse(conf, &Profile::of(version)) {
            Ok(options) => options.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{conf}");
    }

    #[test]
    fn settings_are_read_as_pytorch_reads_them() {
        let v = Version::two(11);
        check("", v, "");
        check(
            " expandable_segments : True , max_split_size_mb:64",
            v,
            "expandable_segments:True,max_split_size_mb:64",
        );
        check("roundup_power2_divisions:4", v, "roundup_power2_divisions:4");
        check(
            "roundup_power2_divisions:[256:1,512:2,>:8],garbage_collection_threshold:0.6",
            v,
            "roundup_power2_divisions:[256:1,512:2,>:8],garbage_collection_threshold:0.6",
        );
        check(
            "roundup_power2_divisions:[1:2,4:8,64:4,>:2]",
            v,
            "roundup_power2_divisions:[1:2,2:0,4:8,8:0,16:0,32:0,64:4,>:2]",
        );
        check("pinned_num_register_threads:8,backend:native", v, "");
    }

    #[test]
    fn what_pytorch_refuses_is_refused_with_a_reason() {
        let v = Version::two(11);
        check(
            "expandable_segment:True",
            v,
            "PyTorch has no allocator setting `expandable_segment`, did you mean `expandable_segments`?",
        );
        check("colour:blue", v, "PyTorch has no allocator setting `colour`");
        check(
            "expandable_segments",
            v,
            "`expandable_segments:` is not valid: write True or False, with a capital",
        );
        check(
            "nonsense",
            v,
            "`nonsense` is not a setting: write KEY:VALUE, such as expandable_segments:True",
        );
        check(
            "expandable_segments:true",
            v,
            "`expandable_segments:true` is not valid: write True or False, with a capital",
        );
        check(
            "max_split_size_mb:8",
            v,
            "`max_split_size_mb:8` is not valid: it must be at least large_segment_size_mb, which is 20 by default",
        );
        check(
            "roundup_power2_divisions:3",
            v,
            "`roundup_power2_divisions:3` is not valid: write a power of two, or a list such as [256:1,512:2,>:4]",
        );
        check(
            "throw_on_cudamalloc_oom:True",
            v,
            "`throw_on_cudamalloc_oom` came with PyTorch 2.12; this replay is of 2.11: pass --profile 2.12 to try it",
        );
        check(
            "backend:cudaMallocAsync",
            v,
            "`backend:cudaMallocAsync` cannot be replayed: only PyTorch's native allocator is modelled",
        );
    }
}
