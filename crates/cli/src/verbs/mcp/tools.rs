//! The tools: verbs of the command line, each with its own JSON. A new one is one entry here.

/// A verb that agents may call.
pub(super) struct Tool {
    /// The verb, which is also the tool's name.
    pub(super) verb: &'static str,
    /// What it answers and when to ask it.
    pub(super) about: &'static str,
    /// The arguments of the verb that may be given, by the names the command line has for them (with _ for -), each with what
    /// it is; where that is empty, the words of `--help` say it.
    pub(super) arguments: &'static [(&'static str, &'static str)],
    /// What the verb reads where a file is called `-`, and what it is.
    pub(super) input: Option<(&'static str, &'static str)>,
    /// One of these has to be given.
    pub(super) needs: &'static [&'static str],
    /// Whether it runs code of the user's.
    pub(super) runs_code: bool,
}

/// In the order in which they are needed.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        verb: "explain",
        about: "Why a job ran out of memory, at which line, and which change fixes it. Takes the error as text, a log, a \
            PyTorch memory snapshot, or a folder of a run (.oomph/last). Knows PyTorch, TensorFlow, JAX, vLLM and more. \
            Reads files and runs nothing.",
        arguments: &[
            (
                "files",
                "Snapshots, logs, saved messages, or folders of runs; [\".oomph/last\"] is the last `oomph run`",
            ),
            ("limit", "The memory the job was allowed, such as 16GiB, where the recording does not show it"),
            ("profile", ""),
        ],
        input: Some(("text", "The error message, traceback or end of a log, as it was printed")),
        needs: &["text", "files"],
        runs_code: false,
    },
    Tool {
        verb: "lint",
        about: "Code that will run out of memory, found by reading it: graphs kept in lists, evaluation with gradients, \
            outputs gathered on the GPU, and more. Takes Python as text, files, notebooks or folders. Reads files and runs \
            nothing.",
        arguments: &[
            ("paths", "Python files, notebooks, or folders of them"),
            ("select", ""),
            ("ignore", ""),
            ("exclude", ""),
        ],
        input: Some(("text", "The source of a Python file")),
        needs: &["text", "paths"],
        runs_code: false,
    },
    Tool {
        verb: "plan",
        about: "Will a PyTorch training script fit on a card, what does its memory consist of, and what would make it fit. \
            Needs no GPU. THIS RUNS THE USER'S SCRIPT, on a GPU that is not there: kernels compute nothing, but everything \
            else the script does (files, network, processes) is done, until memory repeats. It may take minutes.",
        arguments: &[
            ("command", "The script and its arguments, such as [\"train.py\", \"--batch\", \"64\"]"),
            ("module", ""),
            ("code", ""),
            ("gpu", "The cards, such as [\"T4\"] or [\"A100-80\"]; a table of all where none is named"),
            ("memory", "A card with so much memory, such as 24GiB, instead of gpu"),
            ("capability", ""),
            ("limit", "What PyTorch may hold, such as 10GiB, where that is less than the card has"),
            ("set", "Settings of PyTorch's allocator, such as [\"expandable_segments:True\"]"),
            ("vary", "Find the largest value of this flag of the script that fits, such as --batch"),
            ("options", ""),
            ("no_options", ""),
            ("steps", ""),
            ("timeout", "How many seconds one run of the script may take"),
            ("python", ""),
        ],
        input: None,
        needs: &["command", "module", "code"],
        runs_code: true,
    },
    Tool {
        verb: "replay",
        about: "Runs the allocations of a PyTorch memory snapshot again, on a model of its allocator: exactly, or with other \
            settings or another limit. Answers: would this setting have helped, would it fit a smaller card.",
        arguments: &[
            ("file", "A memory snapshot, or a recording in .oomph"),
            ("set", "Settings to change, such as [\"expandable_segments:True\"]"),
            ("limit", "Another limit to try, such as 16GiB"),
            ("profile", ""),
        ],
        input: None,
        needs: &["file"],
        runs_code: false,
    },
    Tool {
        verb: "tune",
        about: "Which settings of PyTorch's allocator (PYTORCH_CUDA_ALLOC_CONF) need the least memory for the job of a \
            snapshot: about 50 are replayed. May take a minute for long recordings.",
        arguments: &[
            ("file", "A memory snapshot, or a recording in .oomph"),
            ("limit", "The memory the job should fit into, such as 16GiB"),
            ("profile", ""),
        ],
        input: None,
        needs: &["file"],
        runs_code: false,
    },
    Tool {
        verb: "diff",
        about: "What a job needs more than before a change, and which lines ask for it: two PyTorch memory snapshots or \
            folders of runs compared, each replayed from an empty cache. Reads files and runs nothing.",
        arguments: &[
            ("a", "The recording before the change"),
            ("b", "The recording after it"),
            (
                "fail_over",
                "How much more B may need, such as 2% or 200MiB; `gate` then says whether it is within that",
            ),
        ],
        input: None,
        needs: &["a", "b"],
        runs_code: false,
    },
    Tool {
        verb: "status",
        about: "Who holds this machine's memory at this moment: each GPU with its processes, host memory, limits, and the \
            allocator settings in force.",
        arguments: &[],
        input: None,
        needs: &[],
        runs_code: false,
    },
];

impl Tool {
    /// The tool of this name.
    pub(super) fn named(name: &str) -> Option<&'static Tool> {
        TOOLS.iter().find(|tool| tool.verb == name)
    }
}
