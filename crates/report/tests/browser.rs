//! The page in a real browser: nothing is asked for, nothing fails, and what is drawn adds up.
//!
//! Without a Chromium the test says so and passes, unless `CI=true` or `OOMPH_BROWSER=1`.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::path::Path;

use crate::chromium::{self, open, seen};
use crate::page;

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
    let Some(browser) = chromium::browser() else { return };
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
