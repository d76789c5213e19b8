//! Why a script came to no answer, in a line that says what to do.

/// What a failure may mean. Indented below each line are words of exceptions that have this meaning.
const MEANINGS: &str = include_str!("refusals.txt");
/// The meaning to which it is added what was wanted and what helps.
const NETWORK: &str = "it needs the network";
/// Words of the hub's addresses that follow a repository's name.
const AFTER_A_NAME: [&str; 5] = ["resolve", "raw", "tree", "revision", "paths-info"];

/// What a failure of the script means: by the words of its exception, and by the address that it `wanted` in vain.
pub(super) fn of(class: &str, text: &str, wanted: Option<&str>) -> Option<String> {
    let mut meaning = None;
    for line in MEANINGS.lines() {
        match line.strip_prefix("    ") {
            Some(words) if class.contains(words) || text.contains(words) => {
                return meaning
                    .map(|line| if line == NETWORK { network(wanted) } else { String::from(line) });
            }
            Some(_) => {}
            None => meaning = Some(line),
        }
    }
    None
}

fn network(wanted: Option<&str>) -> String {
    let (what, help) = match wanted.map(|url| (url, Repository::of(url))) {
        Some((_, Some(Repository { name, is_data: true, .. }))) => (
            format!("the dataset {name} is not on this machine"),
            "download it where there is one and set HF_HUB_OFFLINE=1, or give the script a stub with the same columns and \
             lengths (datasets.Dataset.from_dict): a plan needs no true data",
        ),
        Some((_, Some(Repository { name, file, .. }))) => (
            format!(
                "{} is not on this machine",
                file.map_or(name.clone(), |file| format!("{file} of {name}"))
            ),
            "download it where there is one (hf download) and set HF_HUB_OFFLINE=1, or build the model from its \
             configuration: AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(\"./folder\"))",
        ),
        Some((url, None)) => (
            format!("{} cannot be reached", url.split(['?', '#']).next().unwrap_or(url)),
            "fetch it where there is one and put it where the script looks, or plan without it: a plan needs no true \
             weights (weights=None) and no true data",
        ),
        None => (
            "what it asks for is not on this machine".to_owned(),
            "download it where there is one and set HF_HUB_OFFLINE=1, or build the model from its configuration and the \
             data as a stub",
        ),
    };
    format!("{NETWORK}: {what}; {help}")
}

/// A repository of a model hub.
#[derive(Debug, PartialEq, Eq)]
struct Repository {
    name: String,
    /// The file of it that was asked for.
    file: Option<String>,
    /// Whether it holds a dataset.
    is_data: bool,
}

impl Repository {
    /// The repository that an address is about: `HOST/NAME/resolve/…`, `HOST/api/models/NAME/…`, `hf://NAME`.
    fn of(url: &str) -> Option<Repository> {
        let (scheme, rest) = url.split_once("://")?;
        let is_hub = scheme == "hf";
        let path = if is_hub { rest } else { rest.split_once('/')?.1 };
        let path = path.split(['?', '#']).next()?;
        let mut words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
        let is_api = words.first() == Some(&"api");
        words.drain(..usize::from(is_api));
        let is_data = words.first() == Some(&"datasets");
        let is_kind = is_data || words.first() == Some(&"models");
        words.drain(..usize::from(is_kind));
        let end = words
            .iter()
            .position(|word| if is_api { AFTER_A_NAME.contains(word) } else { *word == "resolve" });
        let name = words.get(..end.unwrap_or(words.len()))?;
        if !(is_hub || is_api && is_kind || end.is_some()) || !(1..=2).contains(&name.len()) {
            return None;
        }
        // After `resolve` comes a version, and then the file.
        let file = end.and_then(|end| words.get(end + 2..)).filter(|rest| !rest.is_empty());
        Some(Repository { name: name.join("/"), file: file.map(|rest| rest.join("/")), is_data })
    }
}

#[cfg(test)]
mod tests {
    use super::{Repository, of};

    #[test]
    fn what_a_phantom_cannot_do_is_told_by_the_exception() {
        let check = |class, text, expected: Option<&str>| {
            let found = of(class, text, None);
            assert_eq!(
                found.as_deref().map(|line| line.split([',', ':']).next().unwrap_or(line)),
                expected,
                "{text}"
            );
        };
        check("RuntimeError", "CUDA error: invalid device ordinal", Some("it asks for a second GPU"));
        check(
            "torch.distributed.DistBackendError",
            "NCCL error in: x.cpp",
            Some("it uses a part of NCCL that the phantom GPU does not have"),
        );
        check("triton.runtime.errors.PTXASError", "", Some("it needs a compiled GPU kernel"));
        check("OSError", "We couldn't connect to 'https://hf'", Some("it needs the network"));
        check(
            "subprocess.CalledProcessError",
            "Command '['wget', 'x']' returned 4",
            Some("it needs the network"),
        );
        check("wandb.errors.errors.UsageError", "no key", Some("it logs to a service on the network"));
        check("ValueError", "x must be positive", None);
    }

    #[test]
    fn what_needs_the_network_says_what_was_wanted_and_what_helps() {
        let check = |wanted, expected: &str| {
            assert_eq!(of("URLError", "", wanted).as_deref(), Some(expected));
        };
        check(
            Some("https://huggingface.co/meta-llama/Llama-3.2-1B/resolve/main/config.json"),
            "it needs the network: config.json of meta-llama/Llama-3.2-1B is not on this machine; download it where there \
             is one (hf download) and set HF_HUB_OFFLINE=1, or build the model from its configuration: \
             AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(\"./folder\"))",
        );
        check(
            Some("https://huggingface.co/api/datasets/stanfordnlp/imdb/revision/main?x=1"),
            "it needs the network: the dataset stanfordnlp/imdb is not on this machine; download it where there is one and \
             set HF_HUB_OFFLINE=1, or give the script a stub with the same columns and lengths \
             (datasets.Dataset.from_dict): a plan needs no true data",
        );
        check(
            Some("https://download.pytorch.org/models/resnet18-f37072fd.pth?key=1"),
            "it needs the network: https://download.pytorch.org/models/resnet18-f37072fd.pth cannot be reached; fetch it \
             where there is one and put it where the script looks, or plan without it: a plan needs no true weights \
             (weights=None) and no true data",
        );
        check(
            None,
            "it needs the network: what it asks for is not on this machine; download it where there is one and set \
             HF_HUB_OFFLINE=1, or build the model from its configuration and the data as a stub",
        );
    }

    #[test]
    fn a_repository_is_told_by_its_address() {
        let check = |url, expected: Option<(&str, Option<&str>, bool)>| {
            let found = Repository::of(url);
            let found = found.as_ref().map(|found| (&*found.name, found.file.as_deref(), found.is_data));
            assert_eq!(found, expected, "{url}");
        };
        check(
            "https://hub/gpt2/resolve/main/onnx/config.json",
            Some(("gpt2", Some("onnx/config.json"), false)),
        );
        check("hf://gpt2/resolve/main/config.json", Some(("gpt2", Some("config.json"), false)));
        check("hf://datasets/a/b", Some(("a/b", None, true)));
        check("https://hub/api/models/a/b", Some(("a/b", None, false)));
        check("https://hub/datasets/a/b/resolve/main/README.md", Some(("a/b", Some("README.md"), true)));
        check("https://hub/api/whoami-v2", None);
        check("https://hub", None);
        check("https://hub/", None);
        check("no address", None);
        check("https://hub/a/b/c/resolve/main/x", None);
        check("https://example.org/data.zip", None);
        check("https://github.com/pytorch/vision/tree/main/", None);
    }
}
