//! The two environment variables that PyTorch reads allocator settings from, and which of them counts.

use super::profile::Version;

/// The variable that every version reads.
pub const CUDA: &str = "PYTORCH_CUDA_ALLOC_CONF";
/// The variable that versions since 2.10 read too.
pub const GENERAL: &str = "PYTORCH_ALLOC_CONF";
/// The first version that reads [`GENERAL`].
const READS_GENERAL: Version = Version::two(10);

/// Which variable PyTorch obeys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Obeyed {
    /// Neither is set, or none that this version knows: the defaults.
    #[default]
    Defaults,
    /// [`CUDA`].
    Cuda,
    /// [`GENERAL`].
    General,
    /// Only [`GENERAL`] is set and the version is unknown: 2.10 and later obey it, older ones ignore it.
    GeneralSince210,
}

/// Which of the two a version of PyTorch obeys, and what it says; `None` where the version is unknown. Where both are
/// set, every version obeys [`CUDA`].
pub fn in_force<T>(cuda: Option<T>, general: Option<T>, version: Option<Version>) -> (Obeyed, Option<T>) {
    match (cuda, general, version) {
        (Some(cuda), _, _) => (Obeyed::Cuda, Some(cuda)),
        (None, Some(general), None) => (Obeyed::GeneralSince210, Some(general)),
        (None, Some(general), Some(version)) if version >= READS_GENERAL => (Obeyed::General, Some(general)),
        (None, _, _) => (Obeyed::Defaults, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_variable_wins_and_the_younger_needs_a_young_pytorch() {
        let two = |minor| Some(Version::two(minor));
        let (a, b) = (Some("a:1"), Some("b:2"));
        assert_eq!(in_force::<&str>(None, None, None), (Obeyed::Defaults, None));
        assert_eq!(in_force(a, b, two(11)), (Obeyed::Cuda, a));
        assert_eq!(in_force(a, b, None), (Obeyed::Cuda, a));
        assert_eq!(in_force(None, b, two(10)), (Obeyed::General, b));
        assert_eq!(in_force(None, b, two(9)), (Obeyed::Defaults, None));
        assert_eq!(in_force(None, b, None), (Obeyed::GeneralSince210, b));
    }
}
