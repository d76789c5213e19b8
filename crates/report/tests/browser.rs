//! The page in a real browser: nothing is asked for, nothing fails, and what is drawn adds up.
//!
//! Without a Chromium the test says so and passes, unless `CI=true` or `OOMPH_BROWSER=1`.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

mod page;

use std::path::{Path, PathBuf};
use std::process::Command;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Adds up the bars and measures the page as the browser shows it, points at a part, and writes what it saw.
const PROBE: &str = r#"<script>
const root = document.documentElement, seen = {};
const bars = [...document.querySelectorAll("svg.bar")];
seen.bars = bars.length;
seen.exact = bars.every((bar) => {
  const parts = [...bar.querySelectorAll("[data-bytes]")];
  return parts.reduce((sum, part) => sum + BigInt(part.dataset.bytes), 0n) === BigInt(bar.dataset.total);
});
seen.filled = bars.every((bar) => {
  const parts = [...bar.querySelectorAll("[data-bytes]")];
  const drawn = parts.reduce((sum, part) => sum + part.getBBox().width, 0);
  return Math.abs(drawn - bar.getBoundingClientRect().width) < 1;
});
seen.drawings = document.querySelectorAll("main svg").length;
seen.drawn = [...document.querySelectorAll("main > .device > .card > svg, .plot > svg")].every((svg) => svg.getBoundingClientRect().height > 20);
seen.width = root.scrollWidth;
seen.window = innerWidth;
seen.images = document.images.length;
const part = document.querySelector("svg.bar [data-tip]");
part.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 90, clientY: 90 }));
const tip = document.getElementById("tip");
seen.tip = !tip.hidden && tip.textContent === part.dataset.tip && tip.getBoundingClientRect().right <= innerWidth;
tip.hidden = true;
if (parent === window) root.setAttribute("data-seen", JSON.stringify(seen));
else parent.postMessage(seen, "*");
</script>
"#;

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = |name: &&str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    BROWSERS.iter().find_map(found)
}

/// What a browser made of a file.
struct Opened {
    /// The document at the end.
    dom: String,
    /// What was written to the console.
    console: Vec<String>,
    /// The addresses outside the file that the page asked for.
    asked: Vec<String>,
}

fn open(browser: &Path, file: &Path, width: u32) -> Opened {
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
fn seen(browser: &Path, file: &Path, width: u32) -> serde_json::Value {
    let opened = open(browser, file, width);
    assert!(opened.console.is_empty(), "{}: {:?}", file.display(), opened.console);
    assert!(opened.asked.is_empty(), "{} asks for {:?}", file.display(), opened.asked);
    let seen = opened.dom.split("data-seen=\"").nth(1).and_then(|rest| rest.split('"').next());
    let seen = seen.unwrap_or_else(|| panic!("{}: the probe did not run", file.display()));
    serde_json::from_str(&seen.replace("&quot;", "\"")).unwrap()
}

fn check(name: &str, width: u32, seen: &serde_json::Value) {
    assert_eq!(seen["bars"], 1, "{name}: {seen}");
    assert_eq!(seen["exact"], true, "{name}: the parts do not add up: {seen}");
    assert_eq!(seen["filled"], true, "{name}: the drawn parts do not fill the bar: {seen}");
    assert!(seen["drawings"].as_u64().unwrap() >= 4, "{name}: {seen}");
    assert_eq!(seen["drawn"], true, "{name}: a drawing has no height: {seen}");
    assert_eq!(seen["window"], width, "{name}: {seen}");
    assert_eq!(seen["width"], width, "{name}: the page is wider than the window: {seen}");
    assert_eq!(seen["images"], 0, "{name}: an image came from nowhere: {seen}");
    assert_eq!(seen["tip"], true, "{name}: pointing at a part shows nothing: {seen}");
}

#[test]
fn the_page_works_in_a_browser() {
    let Some(browser) = browser() else {
        let wanted = |name, value| std::env::var(name).is_ok_and(|found| found == value);
        assert!(!wanted("CI", "true") && !wanted("OOMPH_BROWSER", "1"), "none of {BROWSERS:?} is on PATH");
        eprintln!("skipped: none of {BROWSERS:?} is on PATH");
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(&folder).unwrap();
    // A page that does what none should is found out.
    let wrong = folder.join("wrong.html");
    std::fs::write(&wrong, "<img src=\"http://a.example/b.png\"><script>console.error(1)</script>").unwrap();
    let opened = open(&browser, &wrong, 1280);
    assert!(opened.asked.iter().any(|url| url == "http://a.example/b.png"), "{:?}", opened.asked);
    assert!(!opened.console.is_empty());
    for name in ["fragmentation-oom", "leak-oom", "gpt2-ragged", "hostile"] {
        let snapshot = if name == "hostile" { page::hostile() } else { page::snapshot(name) };
        let page = page::page(&snapshot).replace("</body>", &format!("{PROBE}</body>"));
        let file = folder.join(format!("{name}.html"));
        std::fs::write(&file, page).unwrap();
        check(name, 1280, &seen(&browser, &file, 1280));
        // A window cannot be as narrow as a telephone, a frame can.
        let frame = folder.join(format!("{name}-narrow.html"));
        let script = "addEventListener('message', (e) => document.documentElement.setAttribute('data-seen', JSON.stringify(e.data)))";
        let wrapper = format!(
            "<!doctype html><script>{script}</script><iframe src=\"{name}.html\" width=\"380\" height=\"800\" style=\"border:0\"></iframe>"
        );
        std::fs::write(&frame, wrapper).unwrap();
        check(name, 380, &seen(&browser, &frame, 800));
    }
}
