//! The options of `PYTORCH_CUDA_ALLOC_CONF`, as replay understands them.
//!
//! To add one: a row of `options!` and a function that reads its value; then the policy reads the field where
//! PyTorch reads the option.

use std::fmt;

use oomph_trace::spelling::nearest;
use oomph_trace::{Bytes, RecordedSettings};

use super::profile::{Profile, Version};
use super::rounding::{self, Divisions, LARGE_SEGMENT, MIN_LARGE_REQUEST};

/// The table of options: what each does, its field and default; its key and the minor version of PyTorch 2 that it came
/// with; how its value is read, and how one that is not the default is written.
macro_rules! options {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $default:expr,
       $key:literal since $minor:literal, $read:expr, $write:expr;)*) => {
        /// The allocator's settings. `Display` writes them as PyTorch reads them, only those that differ from the
        /// default.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Options {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Default for Options {
            fn default() -> Options {
                Options { $($field: $default,)* }
            }
        }

        /// The keys that replay obeys, in the order in which they are written.
        const OBEYED: &[Key] = &[$(Key {
            name: $key,
            since: Version::two($minor),
            read: |text, options| $read(text, options).map(|value| options.$field = value),
            write: |options| (options.$field != $default).then(|| $write(options.$field)),
        },)*];
    };
}

options! {
    /// Segments grow by mapping pages.
    expandable_segments: bool = false,
        "expandable_segments" since 1, boolean, |_| "True".to_owned();
    /// The segment that medium requests share, and the page of large expandable segments.
    large_segment_size: Bytes = LARGE_SEGMENT,
        "large_segment_size_mb" since 11, large_segment, mib;
    /// Blocks of this size and more are not split; `None`: all are.
    max_split_size: Option<Bytes> = None,
        "max_split_size_mb" since 0, at_least_large_segment, |size| show(size, mib);
    /// How much larger than a request an unsplittable block may be; `None`: the large segment's size.
    max_non_split_rounding: Option<Bytes> = None,
        "max_non_split_rounding_mb" since 6, at_least_large_segment, |size| show(size, mib);
    /// Divisions per power of two.
    roundup_power2_divisions: Divisions = Divisions::uniform(0),
        "roundup_power2_divisions" since 0, divisions, |divisions: Divisions| divisions.to_string();
    /// From this share of the limit on, old cached segments are released before new ones are asked for; 0 is off.
    garbage_collection_threshold: f64 = 0.0,
        "garbage_collection_threshold" since 0, threshold, |share: f64| share.to_string();
    /// The limit as a share of the device.
    per_process_memory_fraction: Option<f64> = None,
        "per_process_memory_fraction" since 10, fraction, |share| show(share, |share: f64| share.to_string());
    /// A request beyond the configured fraction fails at once, without a release of the cache.
    throw_on_cudamalloc_oom: bool = false,
        "throw_on_cudamalloc_oom" since 12, boolean, |_| "True".to_owned();
    /// The address space of an expandable segment; `None`: 9/8 of the device.
    expandable_segments_reserve: Option<Reserve> = None,
        "expandable_segments_reserve" since 15, reserve, |reserve| show(reserve, Reserve::text);
}

/// The keys that change no allocation, and the minor version of PyTorch 2 they came with: those of pinned host memory,
/// locks and captures.
const IGNORED: &[(&str, u32)] = &[
    ("backend", 0),
    ("expandable_segments_reserve_by_class", 15),
    ("graph_capture_record_stream_reuse", 9),
    ("pinned_free_catch_all", 12),
    ("pinned_max_cached_size_mb", 13),
    ("pinned_max_round_threshold_mb", 13),
    ("pinned_num_register_threads", 1),
    ("pinned_reserve_segment_size_mb", 9),
    ("pinned_use_background_threads", 6),
    ("pinned_use_cuda_host_register", 1),
    ("release_lock_on_cudamalloc", 2),
    ("release_lock_on_hipmalloc", 2),
];

/// A key that replay obeys.
struct Key {
    name: &'static str,
    since: Version,
    /// Sets the option, or says what PyTorch accepts.
    read: fn(&str, &mut Options) -> Result<(), &'static str>,
    /// The value, where it is not the default, as `read` reads it.
    write: fn(&Options) -> Option<String>,
}

/// How much address space an expandable segment reserves (2.15).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reserve {
    /// A share of the device's memory.
    Fraction(f64),
    /// An amount.
    Size(Bytes),
}

impl Reserve {
    fn text(self) -> String {
        match self {
            Reserve::Fraction(share) => share.to_string(),
            Reserve::Size(size) => format!("{}M", mib(size)),
        }
    }
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

/// Every key PyTorch accepts, and since when.
fn keys() -> impl Iterator<Item = (&'static str, Version)> {
    let ignored = IGNORED.iter().map(|(name, minor)| (*name, Version::two(*minor)));
    OBEYED.iter().map(|key| (key.name, key.since)).chain(ignored)
}

/// The first version of PyTorch that accepts the key; `None`: none does.
pub fn known_since(key: &str) -> Option<Version> {
    keys().find(|(name, _)| *name == key).map(|(_, since)| since)
}

impl Options {
    /// What a snapshot says was in force.
    ///
    /// The structured fields are what took effect; the raw string adds the options that have no field of their own,
    /// as far as they can be read.
    pub fn recorded(settings: &RecordedSettings, profile: &Profile) -> Options {
        Options {
            expandable_segments: settings.expandable_segments,
            max_split_size: settings.max_split_size,
            garbage_collection_threshold: settings.garbage_collection_threshold,
            roundup_power2_divisions: Divisions(settings.roundup_power2_divisions),
            ..Options::as_far_as_known(settings.conf.as_deref().unwrap_or_default(), profile)
        }
    }

    /// What is known of a string that PyTorch accepted: it may hold what replay does not model.
    pub fn as_far_as_known(conf: &str, profile: &Profile) -> Options {
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
        split_settings(conf).into_iter().try_for_each(|(key, value)| self.set(key, value, profile))
    }

    /// Sets one option. Options of the host allocator and those that change no allocation are checked and ignored.
    pub fn set(&mut self, key: &str, value: &str, profile: &Profile) -> Result<(), OptionError> {
        let Some(since) = known_since(key) else {
            if value.is_empty() {
                return Err(OptionError::NotASetting { text: key.to_owned() });
            }
            let near = nearest(key, keys().map(|(name, _)| name));
            let hint = near.map_or_else(String::new, |name| format!(", did you mean `{name}`?"));
            return Err(OptionError::UnknownKey { key: key.to_owned(), hint });
        };
        if profile.version < since {
            return Err(OptionError::TooNew { key: key.to_owned(), since, version: profile.version });
        }
        if key == "backend" && value != "native" {
            return Err(OptionError::Backend { value: value.to_owned() });
        }
        let bad = |expected| OptionError::BadValue { key: key.to_owned(), value: value.to_owned(), expected };
        let obeyed = OBEYED.iter().find(|row| row.name == key);
        obeyed.map_or(Ok(()), |row| (row.read)(value, self)).map_err(bad)
    }

    /// The options that differ from the default.
    pub fn keys(&self) -> Vec<&'static str> {
        OBEYED.iter().filter(|key| (key.write)(self).is_some()).map(|key| key.name).collect()
    }

    /// The block that serves a request of `size`.
    pub fn block_size(&self, size: Bytes, profile: &Profile) -> Bytes {
        rounding::block_size(size, &self.roundup_power2_divisions, profile)
    }

    /// The segment that is asked of the driver for a block of `size`, without expandable segments.
    pub fn segment_size(&self, size: Bytes) -> Bytes {
        rounding::segment_size(size, self.large_segment_size)
    }

    /// Whether `max_split_size_mb` keeps a free block of `block` bytes from serving a request for a block of `size`.
    pub(super) fn refuses(&self, size: Bytes, block: Bytes) -> bool {
        let rounding = || self.max_non_split_rounding.unwrap_or(self.large_segment_size);
        self.max_split_size
            .is_some_and(|max| if size < max { block >= max } else { block >= size + rounding() })
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = OBEYED.iter().filter_map(|key| Some(format!("{}:{}", key.name, (key.write)(self)?)));
        f.pad(&written.collect::<Vec<_>>().join(","))
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

fn boolean(value: &str, _: &Options) -> Result<bool, &'static str> {
    match value {
        "True" => Ok(true),
        "False" => Ok(false),
        _ => Err("write True or False, with a capital"),
    }
}

fn megabytes(value: &str) -> Result<Bytes, &'static str> {
    value.parse::<u32>().map(|n| Bytes::mib(n.into())).map_err(|_| "write whole MiB")
}

fn large_segment(value: &str, _: &Options) -> Result<Bytes, &'static str> {
    let size = megabytes(value)?;
    if size > MIN_LARGE_REQUEST { Ok(size) } else { Err("it must be more than 10") }
}

fn at_least_large_segment(value: &str, options: &Options) -> Result<Option<Bytes>, &'static str> {
    match megabytes(value)? {
        size if size >= options.large_segment_size => Ok(Some(size)),
        _ => Err("it must be at least large_segment_size_mb, which is 20 by default"),
    }
}

fn divisions(value: &str, _: &Options) -> Result<Divisions, &'static str> {
    Divisions::parse(value).ok_or("write a power of two, or a list such as [256:1,512:2,>:4]")
}

fn threshold(value: &str, _: &Options) -> Result<f64, &'static str> {
    let share = value.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or("write a share between 0 and 1, such as 0.8")
}

fn fraction(value: &str, _: &Options) -> Result<Option<f64>, &'static str> {
    let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.map(Some).ok_or("write a share from 0 to 1, such as 0.9")
}

fn reserve(value: &str, _: &Options) -> Result<Option<Reserve>, &'static str> {
    match (value.parse::<f64>(), value.parse::<Bytes>()) {
        (Ok(share), _) if share > 0.0 => Ok(Some(Reserve::Fraction(share))),
        (Err(_), Ok(size)) => Ok(Some(Reserve::Size(size))),
        _ => Err("write a share of the device or a size, such as 0.5 or 40G"),
    }
}

fn mib(size: Bytes) -> String {
    (size.0 >> 20).to_string()
}

fn show<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map(text).unwrap_or_default()
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
