//! The numbers of a message in a line, for comparing.

use oomph_diagnose::message::Facts;

/// ` tried=… total=…`: those that are there.
pub(crate) fn shown(facts: &Facts) -> String {
    let numbers = [
        ("tried", facts.tried),
        ("total", facts.total),
        ("allocated", facts.allocated),
        ("reserved", facts.reserved),
        ("free", facts.free),
        ("other", facts.other_process),
        ("allowed", facts.allowed),
        ("private", facts.private_pools),
        ("pool", facts.pool),
    ];
    numbers.iter().filter_map(|(name, bytes)| bytes.map(|bytes| format!(" {name}={}", bytes.0))).collect()
}
