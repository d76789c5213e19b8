//! The memory at a moment in parts that add up, as the text report and the page show it.

use oomph_diagnose::card::RestOfCard;
use oomph_diagnose::classes::{ByClass, Class};
use oomph_trace::Bytes;

use crate::words;
use oomph_diagnose::results::explain::DeviceResult;

/// A part of the card that PyTorch does not hold: its style in the page, its size, and what it is.
pub(crate) type Part = (&'static str, Bytes, String);

/// What PyTorch does not hold; with what it holds, that adds up to the second, which the third explains.
pub(crate) fn not_held(result: &DeviceResult) -> (Vec<Part>, Bytes, String) {
    let reserved = result.explanation.moment.counters.reserved;
    if let Some(beside) = &result.explanation.beside {
        let name = beside.name.clone().unwrap_or_else(|| "the card".to_owned());
        return (beside_rows(beside, result), beside.total, name);
    }
    match words::limit(&result.recording) {
        Some((ceiling, source)) => {
            let rest = ceiling.saturating_sub(reserved);
            (vec![("unheld", rest, "not held".to_owned())], ceiling.max(reserved), source)
        }
        None => (Vec::new(), reserved, "held in all; no limit is known".to_owned()),
    }
}

fn beside_rows(beside: &RestOfCard, result: &DeviceResult) -> Vec<Part> {
    let beyond = match words::limit(&result.recording) {
        Some((limit, source)) => {
            let source = source.strip_prefix("limit, ").unwrap_or(&source);
            format!("free, beyond the limit of {limit} ({source})")
        }
        None => "free".to_owned(),
    };
    let context = match beside.others {
        Some(_) => "CUDA context and libraries",
        None => "CUDA context, libraries and other processes",
    };
    vec![
        ("unheld", beside.not_held, "not held".to_owned()),
        ("unheld", beside.beyond_limit, beyond),
        ("context", beside.context, context.to_owned()),
        ("others", beside.others.unwrap_or_default(), "other processes".to_owned()),
    ]
}

/// The classes to show, largest first, rounding last; none where nothing is known of any.
pub(crate) fn by_class(classes: &ByClass) -> Vec<(Bytes, &'static str)> {
    if classes.iter().all(|(class, _)| matches!(class, Class::Other | Class::Rounding)) {
        return Vec::new();
    }
    let rank = |class: Class| (class == Class::Rounding, class == Class::Other);
    let mut shown = classes.clone();
    shown.sort_by_key(|(class, bytes)| (rank(*class), std::cmp::Reverse(*bytes), *class));
    shown.into_iter().map(|(class, bytes)| (bytes, class.name())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_shown_largest_first_and_rounding_last() {
        let all: ByClass = Class::ALL.into_iter().zip(1..).map(|(class, n)| (class, Bytes(n))).collect();
        let names = |classes: &ByClass| -> Vec<(u64, &str)> {
            by_class(classes).into_iter().map(|(bytes, name)| (bytes.0, name)).collect()
        };
        let expected = [
            (7, "optimizer temporaries"),
            (6, "activations"),
            (5, "workspaces"),
            (4, "buffers"),
            (3, "optimizer state"),
            (2, "gradients"),
            (1, "weights"),
            (8, "other"),
            (9, "rounding"),
        ];
        assert_eq!(names(&all), expected);
        assert_eq!(names(&all[..3].to_vec()), [(3, "optimizer state"), (2, "gradients"), (1, "weights")]);
        assert_eq!(names(&all[7..].to_vec()), []);
    }
}
