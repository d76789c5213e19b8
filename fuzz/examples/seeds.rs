//! Writes what the fuzzer begins with: `cargo run --example seeds FOLDER` fills FOLDER/recording, FOLDER/sidecar and FOLDER/message.

use std::path::Path;
use std::{env, fs, io};

use oomph_engine::torch::profile::Version;
use oomph_testkit::generate::{Ending, Job, Random, window};
use oomph_testkit::pickle::{self, Format, Style, Tree, tree_of};

const STYLES: [Style; 3] = [Style::Python { protocol: 2 }, Style::Python { protocol: 5 }, Style::Cpp];

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1) else {
        return Err(io::Error::other("which folder? seeds FOLDER"));
    };
    let folder = Path::new(&folder);
    for target in ["recording", "sidecar", "message"] {
        fs::create_dir_all(folder.join(target))?;
    }
    let mut random = Random::new(11);
    for seed in 0..24 {
        let ending = if seed % 2 == 0 { Ending::OutOfMemory } else { Ending::Complete };
        let sampled = (seed % 3 != 0).then_some(2);
        let job = Job { events: 600, stacks: 12, stack_depth: 4, seed, ending, sampled, ..Job::default() };
        let mut short = window(job.record(), random.between(5, 60) as usize);
        if let Some(sidecar) = &mut short.sidecar {
            sidecar.marks.truncate(6);
            sidecar.classes.truncate(20);
        }
        for (n, style) in STYLES.into_iter().enumerate() {
            let version = Version::two([1, 2, 6, 11, 15][(seed as usize + n) % 5]);
            let bytes = pickle::bytes(&short, Format { style, version });
            fs::write(folder.join(format!("recording/{seed}-{n}")), bytes)?;
        }
        if let Some(sidecar) = short.sidecar {
            fs::write(folder.join(format!("sidecar/{seed}")), json(&tree_of(&sidecar)))?;
        }
    }
    messages(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/diagnose/tests/messages")), folder)
}

/// Every text of the message tests that is not long.
fn messages(from: &Path, folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if path.is_dir() {
            messages(&path, folder)?;
        } else if path.metadata()?.len() < 20_000 {
            let name = path.to_string_lossy().rsplit("messages/").next().unwrap_or_default().replace('/', "-");
            fs::copy(&path, folder.join("message").join(name))?;
        }
    }
    Ok(())
}

/// The tree as JSON. Numbers beyond JSON's are left out.
fn json(tree: &Tree) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.escape_default().to_string().replace("\\'", "'"));
    match tree {
        Tree::None => "null".to_owned(),
        Tree::Bool(value) => value.to_string(),
        Tree::Int(n) => n.to_string(),
        Tree::Float(number) => number.to_string(),
        Tree::Text(text) => quoted(text),
        Tree::List(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",")),
        Tree::Dict(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}:{}", quoted(key), json(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}
