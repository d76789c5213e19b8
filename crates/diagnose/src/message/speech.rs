//! Whether a line reports a failure, or is code or advice that only speaks of one.

/// Whether a line is a program's own text: it tests for an error, raises it or names it.
pub(super) fn is_code(line: &str) -> bool {
    let line = line.trim();
    let begins = STATEMENTS.iter().any(|word| line.starts_with(word));
    let ends = line.ends_with([':', ')', ';', ',', '{', '"', '\'']);
    begins && ends || line.starts_with("//") || EXPRESSIONS.iter().any(|part| line.contains(part))
}

/// Whether a line says that something failed. A line that begins with `words` does, and one that names what failed
/// right before them: `main: out of memory`.
pub(super) fn is_report(line: &str, words: &str) -> bool {
    let lower = line.to_lowercase();
    let said = spaced(&lower);
    let (words, said_words) = (words.to_lowercase(), spaced(words));
    let begins = said.starts_with(&said_words);
    let is_named = lower.contains(&format!(": {words}")) || lower.trim_end().ends_with("memoryerror");
    // Words of another language than English say it all.
    let fails = begins || is_named || !words.is_ascii() || lower.contains("error:");
    (fails || FAILURES.iter().any(|word| said.contains(word)))
        && !ADVICE.iter().any(|word| said.contains(word))
}

/// The words of a text, a blank before, between and after them.
fn spaced(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(String::from(" "), |all, word| all + &word.to_lowercase() + " ")
}

/// What statements begin with.
const STATEMENTS: &[&str] = &[
    "if ",
    "if(",
    "elif ",
    "else if",
    "} else",
    "except ",
    "raise ",
    "return ",
    "def ",
    "class ",
    "import ",
    "from ",
    "assert ",
    "case ",
    "catch",
    "} catch",
    "throw ",
    "with ",
    "print(",
    "logger.",
    "logging.",
    "log.",
    "warnings.",
    "static ",
    "const ",
    "self.",
    "pub ",
    "Err(",
];
/// What only code has.
const EXPRESSIONS: &[&str] = &[
    "\" in ",
    "' in ",
    "` in ",
    "isinstance(",
    "getattr(",
    "hasattr(",
    "str(e)",
    "str(err)",
    ".lower()",
    ".raises(",
    "_MEMORY = ",
    "MemoryAllocation = ",
    "=> Err",
    "::from(",
];
/// What a failure is called; each stands for the words that begin with it.
const FAILURES: &[&str] = &[
    " error",
    " err ",
    " fail",
    " exception",
    " fatal",
    " panic",
    " abort",
    " terminat",
    " crash",
    " killed",
    " unable ",
    " cannot ",
    " could not ",
    " insufficient ",
    " not enough ",
    " ran out ",
];
/// What is said where nothing has failed: advice, tests, settings, and what else can run out.
const ADVICE: &[&str] = &[
    " if ",
    " when you ",
    " whenever ",
    " avoid",
    " prevent",
    " may run ",
    " may cause",
    " may lead",
    " may result",
    " might ",
    " can cause",
    " can lead",
    " can run ",
    " could lead",
    " could cause",
    " could run ",
    " in case ",
    " handle",
    " handling ",
    " should ",
    " would ",
    " tip ",
    " note ",
    " to fix ",
    " how to ",
    " how do ",
    " fixed ",
    " fixes ",
    " fix ",
    " passed ",
    " xfail",
    " skipped ",
    " out of memory errors ",
    " no out of ",
    " no oom",
    " 0 oom",
    " without ",
    " never ",
    " simulat",
    " likely to ",
    " before it runs ",
    " until ",
    " recover",
    " resilien",
    " documentation ",
    " docs ",
    " heap ",
    " stack ",
    " v8 ",
    " java ",
    " jvm ",
    " disk ",
    " quota ",
    " inode",
    " space left ",
    " shared memory ",
    " registers ",
    " bandwidth ",
    " to be raised ",
    " static tls ",
    " expected ",
    " file descriptors ",
    " maxmemory ",
    " cards ",
    " score ",
    " policy ",
    " estimat",
    " predict",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_what_it_prints() {
        for line in [
            "    if \"out of memory\" in str(e):",
            "return 'out of memory' in text or is_full",
            "except torch.cuda.OutOfMemoryError:",
            "raise RuntimeError(\"CUDA error: out of memory\")",
            "case cudaErrorMemoryAllocation:",
            "CUDA_ERROR_OUT_OF_MEMORY = 2,",
            "// out of memory: give up",
        ] {
            assert!(is_code(line), "{line}");
        }
        for line in [
            "RuntimeError: CUDA error: out of memory",
            "### CUDA error: out of memory",
            "if I start it I get RuntimeError: CUDA error: out of memory",
            "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")",
        ] {
            assert!(!is_code(line), "{line}");
        }
    }

    #[test]
    fn a_failure_is_told_from_advice() {
        for line in ["main: out of memory", "Out of memory in makeRoom(7)", "the call failed, out of memory"]
        {
            assert!(is_report(line, "out of memory"), "{line}");
        }
        for line in [
            "Tip: a smaller batch keeps errors about out of memory away",
            "to avoid out of memory errors, use less",
            "tests/test_room.py::test_out_of_memory_error PASSED",
            "FATAL ERROR: JavaScript heap out of memory",
            "the room is out of memory foam",
        ] {
            assert!(!is_report(line, "out of memory"), "{line}");
        }
    }
}
