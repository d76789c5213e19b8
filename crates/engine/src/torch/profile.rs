//! What differs between versions of PyTorch's allocator.

use std::fmt;
use std::str::FromStr;

use oomph_trace::Fields;

/// A release of PyTorch, such as 2.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 2 in 2.11.
    pub major: u32,
    /// 11 in 2.11.
    pub minor: u32,
}

impl Version {
    /// PyTorch 2.`minor`.
    pub const fn two(minor: u32) -> Version {
        Version { major: 2, minor }
    }

    /// The oldest release whose allocator is modelled.
    pub const OLDEST: Version = Version::two(0);
    /// The latest release whose allocator is modelled.
    pub const LATEST: Version = Version::two(15);

    /// The newest release that is certain to have written these fields; snapshots do not state a version.
    ///
    /// Between 2.10 and 2.11 a snapshot shows no difference (`forward_frames` appears only in anomaly mode), and
    /// their allocators differ in nothing that a default run shows; 2.11 stands for both.
    pub fn inferred_from(fields: &Fields) -> Version {
        Version::two(match fields {
            f if f.internal_metadata => 15,
            f if f.host => 14,
            f if f.max_round_threshold => 13,
            f if f.pool_id => 12,
            f if f.forward_frames || f.user_metadata => 11,
            f if f.record_stream_reuse => 9,
            f if f.compile_context => 8,
            f if f.external_annotations => 5,
            f if f.allocator_settings => 3,
            f if f.time_us => 2,
            f if f.is_expandable => 1,
            _ => 0,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Why a text names no modelled version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a version of PyTorch that replay knows: write 2.0 to 2.15, such as 2.11")]
pub struct ParseVersionError {
    text: String,
}

impl FromStr for Version {
    type Err = ParseVersionError;

    /// Reads `2.11`, `2.11.0` and `2.11.0+cu130`.
    fn from_str(text: &str) -> Result<Version, ParseVersionError> {
        let error = || ParseVersionError { text: text.to_owned() };
        let mut parts = text.split(['.', '+']);
        let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or_else(error);
        let version = Version { major: number()?, minor: number()? };
        if (Version::OLDEST..=Version::LATEST).contains(&version) { Ok(version) } else { Err(error()) }
    }
}

/// How two free blocks of the same size are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// By address (up to 2.11).
    Address,
    /// By when the block object was made (2.12).
    BlockCounter,
    /// By when the segment was made, then by address (from 2.13).
    SegmentCounter,
}

/// The behaviour of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The version it is the behaviour of.
    pub version: Version,
    /// Which of two equally large free blocks is taken.
    pub tie_break: TieBreak,
    /// One division per power of two leaves a size unrounded instead of rounding it to 512 (up to 2.3).
    pub one_division_leaves_unrounded: bool,
    /// A pool scope without a graph capture keeps the cache from being released (up to 2.12).
    pub pool_scope_blocks_release: bool,
    /// A fraction of the device becomes bytes by rounding (from 2.13), not by truncation.
    pub fraction_is_rounded: bool,
    /// A memory fraction of 1.0 sets a limit too (up to 2.9), so that garbage collection works without one.
    pub full_fraction_is_a_limit: bool,
}

impl Profile {
    /// The behaviour of `version`.
    pub fn of(version: Version) -> Profile {
        let since = |minor| version >= Version::two(minor);
        Profile {
            version,
            tie_break: match version {
                v if v >= Version::two(13) => TieBreak::SegmentCounter,
                v if v == Version::two(12) => TieBreak::BlockCounter,
                _ => TieBreak::Address,
            },
            one_division_leaves_unrounded: !since(4),
            pool_scope_blocks_release: !since(13),
            fraction_is_rounded: since(13),
            full_fraction_is_a_limit: !since(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_parse_with_or_without_patch_and_build() {
        for (text, expected) in [
            ("2.11", Some(Version::two(11))),
            ("2.11.0+cu130", Some(Version::two(11))),
            ("2.0", Some(Version::two(0))),
            ("1.13", None),
            ("2.16", None),
            ("two", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }

    #[test]
    fn a_later_field_dates_a_snapshot_later() {
        let fields = Fields { time_us: true, is_expandable: true, ..Fields::default() };
        assert_eq!(Version::inferred_from(&fields), Version::two(2));
        let fields = Fields { pool_id: true, user_metadata: true, ..fields };
        assert_eq!(Version::inferred_from(&fields), Version::two(12));
        assert_eq!(Version::inferred_from(&Fields::default()), Version::two(0));
    }
}
