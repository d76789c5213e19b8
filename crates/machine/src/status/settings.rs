//! PyTorch's allocator settings in an environment, and which of the two variables counts.

use oomph_diagnose::results::status::Settings;
use oomph_engine::torch::options::{OptionError, Options};
use oomph_engine::torch::profile::{Profile, Version};
use oomph_engine::torch::variables::{CUDA, GENERAL, in_force};

/// What the variables of one environment mean to PyTorch; `torch` is its version, where it is known.
pub fn read<'a>(variable: impl Fn(&str) -> Option<&'a str>, torch: Option<&str>) -> Settings {
    let (cuda, general) = (variable(CUDA), variable(GENERAL));
    let version = torch.and_then(|torch| torch.parse::<Version>().ok());
    let (obeyed, text) = in_force(cuda, general, version);
    let problem = text.and_then(|text| refused(text, version));
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Settings { cuda: owned(cuda), general: owned(general), torch: owned(torch), obeyed, problem }
}

/// What PyTorch refuses in a string, if anything.
fn refused(text: &str, version: Option<Version>) -> Option<String> {
    match Options::parse(text, &Profile::of(version.unwrap_or(Version::LATEST))) {
        // Another backend is a choice that replay cannot follow, not a mistake.
        Ok(_) | Err(OptionError::Backend { .. }) => None,
        Err(OptionError::TooNew { key, since, version }) => {
            Some(format!("`{key}` came with PyTorch {since}, this is {version}"))
        }
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use oomph_engine::torch::variables::Obeyed;

    use super::*;

    #[track_caller]
    fn check(
        cuda: Option<&str>,
        general: Option<&str>,
        torch: Option<&str>,
        expected: (Obeyed, Option<&str>),
    ) {
        let found = read(|name| if name == CUDA { cuda } else { general }, torch);
        assert_eq!((found.obeyed, found.problem.as_deref()), expected, "{cuda:?} {general:?} {torch:?}");
    }

    #[test]
    fn the_older_variable_wins_and_the_younger_needs_a_young_pytorch() {
        let (a, b) = (Some("expandable_segments:True"), Some("max_split_size_mb:64"));
        check(None, None, None, (Obeyed::Defaults, None));
        check(a, b, Some("2.11.0+cu130"), (Obeyed::Cuda, None));
        check(a, b, Some("2.9.1"), (Obeyed::Cuda, None));
        check(None, b, Some("2.10.0"), (Obeyed::General, None));
        check(None, b, Some("2.9.1"), (Obeyed::Defaults, None));
        check(None, b, None, (Obeyed::GeneralSince210, None));
    }

    #[test]
    fn what_pytorch_refuses_is_said_for_the_string_that_counts() {
        let hint =
            "PyTorch has no allocator setting `expandable_segment`, did you mean `expandable_segments`?";
        check(Some("expandable_segment:True"), None, None, (Obeyed::Cuda, Some(hint)));
        check(
            Some("large_segment_size_mb:32"),
            None,
            Some("2.9.0"),
            (Obeyed::Cuda, Some("`large_segment_size_mb` came with PyTorch 2.11, this is 2.9")),
        );
        check(Some("backend:cudaMallocAsync"), None, None, (Obeyed::Cuda, None));
        check(None, Some("nonsense"), Some("2.8"), (Obeyed::Defaults, None));
    }
}
