//! The card of a notebook: its parts add up, nothing foreign in it is markup, it keeps to itself, and a browser shows it.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::path::Path;

use oomph_diagnose::message;
use oomph_diagnose::results::explain::Explained;
use oomph_report::html::card;
use oomph_trace::Snapshot;

use crate::{chromium, page};

/// A message whose numbers add up: 11.17 + 0.17 + 0.53 in use, cached and outside, 3.13 free.
const MESSAGE: &str = r#"Traceback (most recent call last):
  File "train.py", line 61, in main
    loss = model(x).float().sum()  # <b>&
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity of 15.00 GiB of which 3.13 GiB is free. Including non-PyTorch memory, this process has 11.87 GiB memory in use. Of the allocated memory 11.17 GiB is allocated by PyTorch, and 170.00 MiB is reserved by PyTorch but unallocated.
"#;

fn recorded(snapshot: &Snapshot, code: Option<&str>) -> String {
    card::card(&[page::file(page::results(snapshot))], &|_| code.map(str::to_owned))
}

fn told(text: &str) -> String {
    let log = message::read(text.as_bytes()).unwrap();
    card::card(&[page::file(vec![Explained::Text(log)])], &|_| None)
}

/// The bytes of the parts of each bar, and what they are to add up to.
fn bars(card: &str) -> Vec<(Vec<u64>, u64)> {
    page::bars(&card.replace("</div><ul class=\"keys\">", "</svg>"))
}

#[test]
fn the_parts_of_every_card_add_up() {
    for fixture in page::fixtures() {
        let card = recorded(&page::snapshot(&fixture), None);
        let bars = bars(&card);
        assert!(!bars.is_empty(), "{fixture}");
        for (parts, total) in bars {
            assert_eq!(parts.iter().sum::<u64>(), total, "{fixture}: {parts:?}");
        }
    }
    let bars = bars(&told(MESSAGE));
    let (parts, total) = &bars[0];
    assert_eq!((bars.len(), parts.len()), (1, 4));
    assert_eq!(parts.iter().sum::<u64>(), *total);
}

#[test]
fn a_message_that_leaves_numbers_out_has_no_bar() {
    let card = told("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB");
    assert!(bars(&card).is_empty());
    assert!(card.contains("2.00\u{a0}GiB more was asked for"), "{card}");
    assert!(told("all went well").contains("No report of memory that ran out"));
}

#[test]
fn the_place_is_shown_with_its_line_of_source() {
    let card = recorded(&page::snapshot("fragmentation-oom"), Some("  x = model(<batch>)  "));
    assert!(card.contains("<code>train.py:142 "), "{card}");
    assert!(card.contains("<pre>x = model(&lt;batch&gt;)</pre>"), "{card}");
    let card = told(MESSAGE);
    assert!(card.contains("<code>train.py:61 main"), "{card}");
    assert!(card.contains("<pre>loss = model(x).float().sum()  # &lt;b&gt;&amp;</pre>"), "{card}");
}

#[test]
fn nothing_foreign_is_markup_and_nothing_is_loaded() {
    let hostile = recorded(&page::hostile(), Some("</pre><script>alert(4)</script>"));
    let message =
        told(&MESSAGE.replace("train.py", "<script>a.py").replace("in main", "in <img src=x onerror=b>"));
    for card in [hostile, message] {
        let markup: Vec<&str> = card.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()).collect();
        let names = markup.iter().map(|tag| tag.trim_start_matches('/').split([' ', '\n']).next().unwrap());
        let known = ["div", "style", "p", "span", "ul", "li", "code", "pre", "b"];
        let table = ["table", "thead", "tbody", "tr", "th", "td"];
        for name in names {
            assert!(known.contains(&name) || table.contains(&name), "<{name}> in {card}");
        }
        for outside in ["http:", "https:", "src=\"", "href=", "@import", "@font-face", "<iframe", " id=\""] {
            assert!(!card.contains(outside), "{outside}");
        }
        assert!(card.split("url(").skip(1).all(|rest| rest.starts_with('#')));
    }
}

/// Looks at each card as the browser shows it, and at what stands beside it.
const PROBE: &str = r#"<script>
const root = document.documentElement, seen = {};
const cards = [...document.querySelectorAll(".oomph-card")];
seen.grounds = cards.map((card) => getComputedStyle(card).backgroundColor);
seen.shown = cards.every((card) => card.getBoundingClientRect().height > 200);
seen.filled = [...document.querySelectorAll(".bar")].every((bar) => {
  const drawn = [...bar.children].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0);
  return Math.abs(drawn - bar.clientWidth) < 1;
});
seen.width = root.scrollWidth;
seen.window = innerWidth;
seen.beside = getComputedStyle(document.getElementById("beside")).textAlign;
root.setAttribute("data-seen", JSON.stringify(seen));
</script>
"#;

#[test]
fn cards_work_in_a_browser_light_and_dark() {
    let Some(browser) = chromium::browser() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("card");
    std::fs::create_dir_all(&folder).unwrap();
    // A notebook's own style of tables, as Jupyter has it, must neither reach in nor be reached.
    let notebook = ".jp-RenderedHTMLCommon :is(td, th, tr) { text-align: right; white-space: nowrap; }";
    let cards = recorded(&page::snapshot("fragmentation-oom"), Some("x = 1")) + &told(MESSAGE);
    for (name, theme, grounds) in [
        ("none", "", "rgb(255, 255, 255)"),
        ("light", " data-jp-theme-light=\"true\"", "rgb(255, 255, 255)"),
        ("dark", " data-jp-theme-light=\"false\"", "rgb(28, 32, 36)"),
    ] {
        let text = format!(
            "<!doctype html><meta charset=\"utf-8\"><link rel=\"icon\" href=\"data:,\"><style>{notebook}</style>\
             <body{theme}><div class=\"jp-RenderedHTMLCommon\">{cards}<table><tr><td id=\"beside\">1</td></tr></table></div>{PROBE}</body>"
        );
        let file = folder.join(format!("{name}.html"));
        std::fs::write(&file, text).unwrap();
        for width in [1280, 520] {
            let seen = chromium::seen(&browser, &file, width);
            assert_eq!(seen["grounds"], serde_json::json!([grounds, grounds]), "{name}: {seen}");
            assert_eq!(seen["shown"], true, "{name}: {seen}");
            assert_eq!(seen["filled"], true, "{name}: the drawn parts do not fill the bar: {seen}");
            assert_eq!(seen["width"], seen["window"], "{name}: wider than the window: {seen}");
            assert_eq!(seen["beside"], "right", "{name}: the card's style leaves it: {seen}");
        }
    }
}
