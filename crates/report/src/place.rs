//! Lines of a program as reports name them.

use oomph_diagnose::message::Report;
use oomph_diagnose::moment::Holder;
use oomph_diagnose::place::{Line, Place};

/// The user's line, and the library's it led to: `train.py:61 step, in functional.py:3504`.
pub(crate) fn located(place: &Place) -> String {
    let own = place.line.to_string();
    match &place.within {
        Some(inner) if own.len() < 34 && inner.file_name().len() < 40 => {
            format!("{own}, in {}:{}", inner.file_name(), inner.line)
        }
        _ => own,
    }
}

/// Who holds it; `unlined`: what to say where that is not known. Where all of it was asked for by one line of a package,
/// that one rather than PyTorch's.
pub(crate) fn holder(holder: &Holder, unlined: &str) -> String {
    let Some(place) = &holder.place else { return unlined.to_owned() };
    match only_inner(holder) {
        Some(line) => located(&Place { within: Some(line.clone()), ..place.clone() }),
        None => located(place),
    }
}

/// The line of a package that asked for all that a line of the user's holds.
pub(crate) fn only_inner(holder: &Holder) -> Option<&Line> {
    match holder.inner.as_slice() {
        [only] if only.bytes == holder.bytes => Some(&only.line),
        _ => None,
    }
}

/// The user's line that a message's traceback names, and what the job was doing: `train.py:61 main, in forward`.
pub(crate) fn in_traceback(report: &Report) -> Option<String> {
    let line = &report.place.as_ref()?.line;
    let number = if line.line > 0 { format!(":{}", line.line) } else { String::new() };
    let phase = report.phase.map(|phase| format!(", in {}", phase.name())).unwrap_or_default();
    Some(format!("{}{number} {}{phase}", line.file_name(), line.function))
}
