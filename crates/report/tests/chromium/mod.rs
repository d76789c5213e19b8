//! Opens files in a real browser.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::path::{Path, PathBuf};
use std::process::Command;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The browser. Without one the test that asks says so and passes, unless `CI=true` or `OOMPH_BROWSER=1`.
#[expect(clippy::print_stderr, reason = "the reason for a skipped test is printed")]
pub(crate) fn browser() -> Option<PathBuf> {
    let found = installed();
    if found.is_none() {
        let wanted = |name, value| std::env::var(name).is_ok_and(|found| found == value);
        assert!(!wanted("CI", "true") && !wanted("OOMPH_BROWSER", "1"), "none of {BROWSERS:?} is on PATH");
        eprintln!("skipped: none of {BROWSERS:?} is on PATH");
    }
    found
}

fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = |name: &&str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    BROWSERS.iter().find_map(found)
}

/// What a browser made of a file.
pub(crate) struct Opened {
    /// The document at the end.
    pub(crate) dom: String,
    /// What was written to the console.
    pub(crate) console: Vec<String>,
    /// The addresses outside the file that the page asked for.
    pub(crate) asked: Vec<String>,
}

/// Opens a file in a window of this width, and says what came of it.
pub(crate) fn open(browser: &Path, file: &Path, width: u32) -> Opened {
    let log = file.with_extension("net.json");
    let profile = file.with_extension("profile");
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
        .args(["--disable-sync", "--disable-default-apps", "--disable-extensions", "--hide-scrollbars"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr"])
        .arg(format!("--window-size={width},1600"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--log-net-log={}", log.display()))
        .args(["--virtual-time-budget=1000", "--dump-dom"])
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", file.display());
    let log: serde_json::Value = serde_json::from_slice(&std::fs::read(&log).unwrap()).unwrap();
    // The browser's own requests, for its updates and the like, have no page as their initiator.
    let params = log["events"].as_array().unwrap().iter().map(|event| &event["params"]);
    let of_page =
        params.filter(|params| params["initiator"].as_str().is_some_and(|by| by != "not an origin"));
    let urls = of_page.filter_map(|params| params["url"].as_str());
    let outside = urls.filter(|url| !["file:", "data:"].iter().any(|inside| url.starts_with(inside)));
    let asked = outside.map(str::to_owned).collect();
    // A process of the browser may still be writing to it.
    let _ = std::fs::remove_dir_all(&profile);
    Opened {
        dom: String::from_utf8_lossy(&output.stdout).into_owned(),
        console: said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
        asked,
    }
}

/// What the probe saw in a page that asks for nothing and complains of nothing.
pub(crate) fn seen(browser: &Path, file: &Path, width: u32) -> serde_json::Value {
    let opened = open(browser, file, width);
    assert!(opened.console.is_empty(), "{}: {:?}", file.display(), opened.console);
    assert!(opened.asked.is_empty(), "{} asks for {:?}", file.display(), opened.asked);
    let seen = opened.dom.split("data-seen=\"").nth(1).and_then(|rest| rest.split('"').next());
    let seen = seen.unwrap_or_else(|| panic!("{}: the probe did not run", file.display()));
    serde_json::from_str(&seen.replace("&quot;", "\"")).unwrap()
}
