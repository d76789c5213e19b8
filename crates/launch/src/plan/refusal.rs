//! Why a script came to no answer, in a line that says what to do.

/// What a failure may mean. Indented below each line are words of exceptions that have this meaning.
const MEANINGS: &str = include_str!("refusals.txt");

/// What a failure of the script means: by the words of its exception.
pub(super) fn of(class: &str, text: &str) -> Option<&'static str> {
    let mut meaning = None;
    for line in MEANINGS.lines() {
        match line.strip_prefix("    ") {
            Some(words) if class.contains(words) || text.contains(words) => return meaning,
            Some(_) => {}
            None => meaning = Some(line),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn what_a_phantom_cannot_do_is_told_by_the_exception() {
        let check = |class, text, expected: Option<&str>| {
            assert_eq!(
                of(class, text).map(|line| line.split(',').next().unwrap_or(line)),
                expected,
                "{text}"
            );
        };
        check("RuntimeError", "CUDA error: invalid device ordinal", Some("it asks for a second GPU"));
        check(
            "torch.distributed.DistBackendError",
            "NCCL error in: x.cpp",
            Some("it talks to other GPUs (NCCL)"),
        );
        check("triton.runtime.errors.PTXASError", "", Some("it needs a compiled GPU kernel"));
        check(
            "OSError",
            "We couldn't connect to 'https://hf'",
            Some("it needs the network: download what it asks for first"),
        );
        check("ValueError", "x must be positive", None);
    }
}
