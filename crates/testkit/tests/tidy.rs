//! The repository obeys its own rules. Each rule is also shown a file that breaks it, because a rule that finds
//! nothing anywhere is no rule.

use oomph_testkit::tidy::{self, Problem, Repository, code_only};

/// The rule finds exactly this in a made-up repository, and nothing in ours.
fn check(rule: fn(&Repository) -> Vec<Problem>, broken: &[(&str, &str)], expected: &[&str]) {
    let shown = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect::<Vec<String>>();
    assert_eq!(shown(rule(&Repository::of(broken))), expected, "in the made-up repository");
    let ours = shown(rule(&Repository::here().expect("the repository can be read")));
    assert!(ours.is_empty(), "\n{}", ours.join("\n"));
}

#[test]
fn unsafe_code_stays_in_the_crates_that_talk_to_c() {
    let block = concat!("fn f() {\n    un", "safe { g() }\n}\n");
    let prose =
        concat!("// un", "safe is a word here\nconst A: &str = \"un", "safe\";\n#![deny(un", "safe_code)]\n");
    check(
        tidy::unsafe_elsewhere,
        &[
            ("crates/cuda/src/lib.rs", block),
            ("crates/engine/src/a.rs", block),
            ("crates/engine/src/b.rs", prose),
        ],
        &["crates/engine/src/a.rs:2: this crate must do without it"],
    );
}

#[test]
fn the_pure_crates_touch_nothing_outside() {
    check(
        tidy::impure,
        &[
            ("crates/trace/src/a.rs", "use std::{fmt, fs};\n\nfn f() {\n    println!(\"x\");\n}\n"),
            ("crates/trace/src/b.rs", "fn f() {}\n#[cfg(test)]\nmod tests { use std::fs; }\n"),
            ("crates/engine/src/c.rs", "static A: std::sync::OnceLock<u8> = std::sync::OnceLock::new();\n"),
            ("crates/engine/tests/d.rs", "use std::fs;\n"),
            ("crates/cli/src/e.rs", "use std::fs;\n"),
        ],
        &[
            "crates/trace/src/a.rs:1: a pure crate does not use fs",
            "crates/trace/src/a.rs:4: a pure crate does not use println!",
            "crates/engine/src/c.rs:1: a pure crate does not use OnceLock",
        ],
    );
}

#[test]
fn libraries_of_one_layer_stay_in_it() {
    check(
        tidy::dependency_in_the_wrong_crate,
        &[
            ("Cargo.toml", "clap = \"4\"\n"),
            ("crates/cli/Cargo.toml", "[dependencies]\nclap.workspace = true\n"),
            ("crates/report/Cargo.toml", "[dependencies]\nserde_json.workspace = true\n"),
            ("crates/engine/Cargo.toml", "[dependencies]\nclap = \"4\"\npyo3.workspace = true\n"),
        ],
        &[
            "crates/engine/Cargo.toml:2: `clap` does not belong in `engine`",
            "crates/engine/Cargo.toml:3: `pyo3` does not belong in `engine`",
        ],
    );
}

#[test]
fn no_source_file_is_longer_than_300_lines_of_code() {
    let long = "fn f() {}\n".repeat(301);
    let commented = format!("{}{}", "// a reason\n\n".repeat(200), "fn f() {}\n".repeat(300));
    let tested = format!("{}#[cfg(test)]\n{}", "fn f() {}\n".repeat(10), "fn f() {}\n".repeat(400));
    check(
        tidy::too_long,
        &[
            ("crates/engine/src/a.rs", &long),
            ("crates/engine/src/b.rs", &commented),
            ("crates/engine/src/c.rs", &tested),
            ("crates/engine/tests/d.rs", &long),
        ],
        &["crates/engine/src/a.rs:0: 301 lines of code; split it by 300"],
    );
}

#[test]
fn modules_are_named_after_their_idea() {
    check(
        tidy::name_without_meaning,
        &[
            ("crates/engine/src/utils.rs", ""),
            ("crates/engine/src/helpers/mod.rs", ""),
            ("crates/engine/src/commonly.rs", ""),
        ],
        &[
            "crates/engine/src/utils.rs:0: name it after its idea",
            "crates/engine/src/helpers/mod.rs:0: name it after its idea",
        ],
    );
}

#[test]
fn nothing_is_left_for_later() {
    let late =
        [concat!("// FIX", "ME: later"), concat!("    to", "do!()"), "a todo list", concat!("XX", "XX")]
            .join("\n");
    check(
        tidy::left_for_later,
        &[("crates/engine/src/a.rs", &late)],
        &[
            concat!("crates/engine/src/a.rs:1: `FIX", "ME` is left"),
            concat!("crates/engine/src/a.rs:2: `to", "do!` is left"),
        ],
    );
}

#[test]
fn no_file_names_a_path_of_the_machine_it_was_written_on() {
    let text = [
        concat!("see /wo", "rk/main"),
        concat!("/ho", "me/user/project is made up"),
        concat!("\"/ho", "me/me/x\""),
        concat!("crates/wo", "rk/x"),
    ]
    .join("\n");
    check(
        tidy::path_of_a_machine,
        &[("docs/a.md", &text), ("fixtures/a/README.md", &text)],
        &[
            concat!("docs/a.md:1: `/wo", "rk/` is a path of one machine"),
            concat!("docs/a.md:3: `/ho", "me/` is a path of one machine"),
        ],
    );
}

#[test]
fn every_crate_obeys_the_lints_of_the_workspace() {
    check(
        tidy::without_workspace_lints,
        &[("crates/a/Cargo.toml", "[lints]\nworkspace = true\n"), ("crates/b/Cargo.toml", "[package]\n")],
        &["crates/b/Cargo.toml:0: `[lints] workspace = true` is missing"],
    );
}

#[test]
fn links_in_markdown_lead_somewhere() {
    check(
        tidy::dead_link,
        &[
            (
                "docs/guide/a.md",
                "[b](../b.md#part) [c](c.md)\n[web](https://example.org) [here](#here) [docs](..)\n",
            ),
            ("docs/b.md", "```\n[not](a-link.md)\n```\n[up](../../outside.md)\n"),
        ],
        &["docs/guide/a.md:1: `c.md` leads nowhere", "docs/b.md:4: `../../outside.md` leads nowhere"],
    );
}

#[test]
fn code_is_told_from_comments_and_literals() {
    for (text, expected) in [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */\nd */ e", "a             \n     e"),
        (r#"f("\"x", 'y', b'\'')"#, "f(\"\"\"\"\", \"\"\", b\"\"\"\")"),
        ("r#\"x\"y\"# z", "\"\"\"\"\"\"\"\" z"),
        ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
    ] {
        assert_eq!(code_only(text), expected, "{text}");
    }
}

#[test]
fn a_crate_uses_only_those_above_it() {
    let table = "| crate | in |\n|---|---|\n| [trace](crates/trace/src/lib.rs) | bytes |\n| [engine](crates/engine/src/lib.rs) | a trace |\n";
    check(
        tidy::crate_out_of_order,
        &[
            ("ARCHITECTURE.md", table),
            (
                "crates/trace/Cargo.toml",
                "[dependencies]\noomph-engine.workspace = true\n[dev-dependencies]\noomph-engine.workspace = true\n",
            ),
            ("crates/engine/Cargo.toml", "[dependencies]\noomph-trace = { path = \"../trace\" }\n"),
            ("crates/stray/Cargo.toml", "[dependencies]\n"),
        ],
        &[
            "crates/trace/Cargo.toml:2: `trace` stands above `engine`",
            "crates/stray/Cargo.toml:0: the crate is not in the table of ARCHITECTURE.md",
        ],
    );
}

#[test]
fn a_module_uses_only_those_declared_above_it() {
    check(
        tidy::module_out_of_order,
        &[
            ("crates/engine/src/lib.rs", "pub mod device;\n\npub mod torch;\n\nmod replay;\n"),
            (
                "crates/engine/src/device.rs",
                "use crate::{replay::Run, torch};\n#[cfg(test)]\nuse crate::torch;\n",
            ),
            (
                "crates/engine/src/replay.rs",
                "use crate::device::Device;\nuse crate::torch::{Torch, pool::Pool};\n",
            ),
            ("crates/engine/src/torch/mod.rs", "mod pool;\nmod block;\nuse pool::Pool;\n"),
            ("crates/engine/src/torch/pool.rs", "use super::Torch;\nfn f() { super::block::g(); }\n"),
            (
                "crates/engine/src/torch/block.rs",
                "use super::pool::Pool;\nuse super::super::device::Device;\n",
            ),
        ],
        &[
            "crates/engine/src/device.rs:1: `device` uses `replay`, which is declared below it",
            "crates/engine/src/device.rs:1: `device` uses `torch`, which is declared below it",
            "crates/engine/src/torch/pool.rs:2: `pool` uses `block`, which is declared below it",
        ],
    );
}

#[test]
fn every_file_of_tests_is_run() {
    check(
        tidy::test_left_out,
        &[
            ("crates/engine/tests/all.rs", "//! mod model;\n\nmod policy;\nmod replay;\n"),
            ("crates/engine/tests/model.rs", ""),
            ("crates/engine/tests/replay.rs", ""),
            ("crates/engine/tests/policy/mod.rs", "mod placing;\n"),
            ("crates/engine/tests/policy/placing.rs", ""),
            ("crates/engine/tests/shapes/mod.rs", ""),
            ("crates/engine/tests/robust/main.rs", ""),
            ("crates/trace/tests/reader.rs", ""),
        ],
        &[
            "crates/engine/tests/model.rs:0: nobody runs it: write `mod model;` in all.rs",
            "crates/engine/tests/shapes/mod.rs:0: nobody runs it: write `mod shapes;` in all.rs",
        ],
    );
}
