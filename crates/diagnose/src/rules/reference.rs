//! All pages as one document: `docs/reference/rules.md`.

use std::fmt::Write as _;

const HEAD: &str = "\
# Rules

A rule answers one question from the recording, or is silent. `explain` runs
all of them. A finding has a number, a claim in a sentence, and its evidence:
the arithmetic, line by line. OOM001, OOM002 and OOM003 may name the cause, and
OOM006 and OOM007 say more of a leak; where none does, the cause is unknown.
`oomph rule OOM003` prints one page of these.

The *moment* is the first request that failed, or, in a recording without a
failure, the peak of what was in use. *Limit* is what the process could hold,
inferred or given. `in use` is active memory; `request` is the rounded request.

This file is made from the rules' sources, and a test compares them.
";

const TAIL: &str = "
## Causes ruled out

For a failure under a known limit, the report also says why it was none of the
other causes:

| not | because |
|---|---|
| capacity | in use + request ≤ limit; or it was the growth since step 2 that did not fit |
| fragmentation | even if all that was not in use had been usable, it would not have sufficed, or growth would have filled it within two steps |
| leak | memory at half of the steps and at the last, or how many more steps the growth had room for; nothing is said where no steps were found |
";

/// The text of `docs/reference/rules.md`.
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    text.push_str("\n| rule | about | |\n|---|---|---|\n");
    for info in super::all() {
        let _ = writeln!(text, "| {} | {} | {} |", info.id, info.name, info.summary);
    }
    for info in super::all() {
        let _ = writeln!(text, "\n## {}: {}\n\n{}", info.id, info.name, info.page);
        let _ = writeln!(text, "**In** [{0}](../../crates/diagnose/src/rules/{0}).", info.file);
    }
    text + TAIL
}
