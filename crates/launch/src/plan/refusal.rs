//! Why a script came to no answer, in a line that says what to do.

/// What a failure of the script means: by the words of its exception.
pub(super) fn of(class: &str, text: &str) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| class.contains(word) || text.contains(word));
    if has(&["invalid device ordinal", "CUDA device ordinal", "GPU device may be out of range"]) {
        return Some("it asks for a second GPU, and a plan has one: run it with one process and cuda:0");
    }
    if has(&["NCCL", "ncclUniqueId", "ProcessGroupNCCL"]) {
        return Some(
            "it talks to other GPUs (NCCL), and a plan has one: plan one process without a process group",
        );
    }
    if has(&["triton", "Triton", "CompilationError", "nvrtc", "NVRTC", "InductorError", "ptxas"]) {
        return Some(
            "it needs a compiled GPU kernel, which cannot run here: plan it with the eager version of that",
        );
    }
    if has(&[
        "LocalEntryNotFoundError",
        "OfflineModeIsEnabled",
        "ConnectionError",
        "URLError",
        "MaxRetryError",
        "Name or service not known",
        "Temporary failure in name resolution",
        "couldn't connect to",
        "NetworkError",
    ]) {
        return Some(
            "it needs the network: download what it asks for first, or build the model from its configuration",
        );
    }
    if has(&["oomph's phantom"]) {
        return Some("it uses a CUDA function that the phantom GPU does not have");
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
