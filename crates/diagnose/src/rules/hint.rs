//! OOM015: what PyTorch's message advises, `expandable_segments:True`, is on already or would not have helped.
//! Silent without a failure or a known limit, before 2.1, and where no replay says so.

use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::Version;

use super::{Evidence, Finding, percent};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let fitted = super::would_have_fitted(evidence)?;
    let (recording, moment) = (evidence.recording, evidence.moment);
    let setup = &recording.setup;
    let advised = Options { expandable_segments: true, ..Options::default() };
    let replayed = evidence.fixes.iter().find(|fix| fix.candidate.options == advised);
    let why = if setup.options.expandable_segments {
        "it was on"
    } else if setup.profile.version >= Version::two(1) && replayed.is_some_and(|fix| !fix.candidate.completes)
    {
        "a replay with it fails too"
    } else {
        return None;
    };
    let ceiling = recording.ceiling()?;
    let free = ceiling.saturating_sub(moment.counters.active);
    let leaks = super::growth::is_cause(evidence);
    let mut lines = Vec::new();
    if leaks {
        lines.push("memory grows with every step: however it is arranged, it runs out".to_owned());
    } else if fitted {
        lines.push(format!(
            "{free} of the limit was free ({}), {} of it cached",
            percent(free, ceiling),
            moment.counters.cached()
        ));
        if setup.options.expandable_segments && moment.releasable == oomph_trace::Bytes::ZERO {
            let page = setup.options.large_segment_size;
            lines.push(format!("no page of {page} is free as a whole, and only whole pages move"));
        }
    } else {
        lines.push("more was needed than there is: however it is arranged, it does not fit".to_owned());
    }
    if !leaks {
        lines.push(match evidence.fixes.iter().find(|fix| fix.helps) {
            Some(fix) => match fix.candidate.options.to_string() {
                defaults if defaults.is_empty() => "what works, by replay: the default settings".to_owned(),
                settings => format!("what works, by replay: {settings}"),
            },
            None => "none of the settings replayed would have served the request".to_owned(),
        });
    }
    Some(Finding {
        rule: "OOM015",
        cause: None,
        claim: format!("PyTorch's hint, expandable_segments:True, is useless here: {why}"),
        evidence: lines,
    })
}
