//! Exceptions: whether one reports that memory ran out.

use oomph_trace::sidecar::Exception;

use super::{Report, Role, read};

/// Classes that say so by their name, whatever their text.
const CLASSES: [&str; 3] = ["MemoryError", "OutOfMemoryError", "ResourceExhaustedError"];

/// Whether an exception reports that memory ran out, a device's or the computer's: by one of its classes, or by its
/// text. `classes` are its own and those it derives from, each as Python prints it.
pub fn is_out_of_memory<S: AsRef<str>>(classes: &[S], text: &str) -> bool {
    let names = classes.iter().map(|class| class.as_ref().rsplit('.').next().unwrap_or_default());
    let own = classes.first().map_or("Exception", AsRef::as_ref);
    names.into_iter().any(|name| CLASSES.contains(&name)) || reports(&format!("{own}: {text}"))
}

/// Whether an exception that a recorder noted reports it, or one that it was raised from.
pub fn noted_out_of_memory(exception: &Exception) -> bool {
    let text = exception.text.as_deref().unwrap_or_default();
    // Its indented lines quote the program, whose text may speak of such errors.
    let traceback = exception.traceback.as_deref().unwrap_or_default();
    let said: Vec<&str> = traceback.lines().filter(|line| !line.starts_with(' ')).collect();
    exception.chain.iter().any(|link| is_out_of_memory(&link.classes, &link.text))
        || is_out_of_memory(exception.class.as_slice(), text)
        || reports(&said.join("\n"))
}

/// Whose messages say that a process was killed: an exception that quotes one is about another process. And what is
/// nobody's known message may be about anything.
const NOT_ITS_OWN: [&str; 7] =
    ["dask", "kubernetes", "linux-oom-killer", "pytorch-dataloader", "slurm", "system", "unknown"];

fn reports(text: &str) -> bool {
    let counts =
        |report: &Report| report.role != Role::Warning && !NOT_ITS_OWN.contains(&report.framework.name());
    // Reading from memory does not fail.
    read(text.as_bytes()).is_ok_and(|log| log.reports.iter().any(counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oomph_trace::sidecar::Link;

    #[test]
    fn a_line_of_the_program_that_speaks_of_the_error_is_not_one() {
        let quoted = |line: &str, said: &str| Exception {
            class: Some("ValueError".to_owned()),
            text: Some("no such model".to_owned()),
            traceback: Some(format!(
                "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    {line}\n{said}\n"
            )),
            ..Exception::default()
        };
        let line =
            "raise ValueError(name)  # else: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB";
        assert!(!noted_out_of_memory(&quoted(line, "ValueError: no such model")));
        let said = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB";
        assert!(noted_out_of_memory(&quoted("train()", said)));
    }

    #[test]
    fn a_class_or_the_text_says_that_memory_ran_out() {
        let cases: [(&[&str], &str, bool); 10] = [
            (
                &["torch.OutOfMemoryError", "RuntimeError"],
                "CUDA out of memory. Tried to allocate 2.00 GiB",
                true,
            ),
            (&["my.NoRoom", "torch.OutOfMemoryError", "RuntimeError"], "the batch is too large", true),
            (&["MemoryError", "Exception"], "", true),
            (&["RuntimeError", "Exception"], "CUDA error: out of memory", true),
            (
                &["RuntimeError"],
                "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
                true,
            ),
            (
                &["jax.errors.JaxRuntimeError"],
                "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes",
                true,
            ),
            (&["RuntimeError"], "shape mismatch", false),
            (&["RuntimeError"], "DataLoader worker (pid 7) is killed by signal: Bus error.", false),
            (&["KeyError", "LookupError"], "'CUDA out of memory'", false),
            (&[], "", false),
        ];
        for (classes, text, expected) in cases {
            assert_eq!(is_out_of_memory(classes, text), expected, "{classes:?} {text}");
        }
    }

    #[test]
    fn of_a_noted_exception_the_words_count_and_not_the_recorders_guess() {
        let noted = |class: &str, text: &str| Exception {
            class: Some(class.to_owned()),
            text: Some(text.to_owned()),
            ..Exception::default()
        };
        let guessed = Exception { oom: true, ..noted("ValueError", "ran out of memory cards") };
        assert!(!noted_out_of_memory(&guessed));
        assert!(noted_out_of_memory(&noted("torch.OutOfMemoryError", "CUDA out of memory.")));
        let wrapped = noted("ValueError", "the step failed");
        assert!(!noted_out_of_memory(&wrapped));
        let inner =
            Link { classes: vec!["RuntimeError".to_owned()], text: "CUDA error: out of memory".to_owned() };
        assert!(noted_out_of_memory(&Exception { chain: vec![inner], ..wrapped.clone() }));
        let traceback = "RuntimeError: CUDA error: out of memory\n\nThe above exception was the direct cause of the \
                         following exception:\n\nValueError: the step failed\n";
        assert!(noted_out_of_memory(&Exception { traceback: Some(traceback.to_owned()), ..wrapped }));
    }
}
