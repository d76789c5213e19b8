//! The page itself: one document with its own style and script, and nothing of any recording in it.

use super::base64::base64;
use super::sha256::sha256;

const SHELL: &str = include_str!("page/shell.html");
const STYLE: &str = include_str!("page/view.css");
const LIGHT: &str = include_str!("../html/light.css");
const DARK: &str = include_str!("../html/dark.css");

/// The script's modules, each after those it uses.
const MODULES: &[&str] = &[
    include_str!("page/numbers.js"),
    include_str!("page/dom.js"),
    include_str!("page/source.js"),
    include_str!("page/tiles.js"),
    include_str!("page/axis.js"),
    include_str!("page/state.js"),
    include_str!("page/colours.js"),
    include_str!("page/paint_gl.js"),
    include_str!("page/paint_2d.js"),
    include_str!("page/paint_svg.js"),
    include_str!("page/marks.js"),
    include_str!("page/panel.js"),
    include_str!("page/timeline.js"),
    include_str!("page/map.js"),
    include_str!("page/verdict.js"),
    include_str!("page/slice.js"),
    include_str!("page/flame.js"),
    include_str!("page/details.js"),
    include_str!("page/replay.js"),
    include_str!("page/compare.js"),
    include_str!("page/pictures.js"),
    include_str!("page/keys.js"),
    include_str!("page/chosen.js"),
    include_str!("page/controls.js"),
    include_str!("page/main.js"),
];

/// The modules as one: what one takes from another is in the same script.
fn script() -> String {
    let mut script = String::from("\"use strict\";\n");
    for line in MODULES.iter().flat_map(|module| module.lines()) {
        if line.starts_with("import ") {
            continue;
        }
        script.push_str(line.strip_prefix("export ").unwrap_or(line));
        script.push('\n');
    }
    script
}

fn style() -> String {
    format!(":root {{\n{LIGHT}}}\n@media (prefers-color-scheme: dark) {{ :root {{\n{DARK}}} }}\n{STYLE}")
}

/// What the browser may load and run: this script, this style, pictures that the page makes itself, and from where it came,
/// if it was served, its data.
fn policy(script: &str, style: &str, connects: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", base64(&sha256(text.as_bytes())));
    format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src {connects}; img-src data: blob:; base-uri 'none'; \
         form-action 'none'",
        hash(script),
        hash(style)
    )
}

/// The page that asks its server. Its policy goes into a header as well.
pub fn served() -> String {
    document("'self'", "")
}

/// The policy of [`served`], for the header; there it can also forbid that another page frames it.
pub fn served_policy() -> String {
    format!("{}; frame-ancestors 'none'", policy(&script(), &style(), "'self'"))
}

/// The page with `data` in it: text that neither begins nor ends a tag.
pub(super) fn with_data(data: &str) -> String {
    document("'none'", data)
}

fn document(connects: &str, data: &str) -> String {
    let (script, style) = (script(), style());
    SHELL
        .replace("{{policy}}", &policy(&script, &style, connects))
        .replace("{{style}}", &style)
        .replace("{{data}}", data)
        .replace("{{script}}", &script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_one_module_that_takes_nothing_from_others() {
        let script = script();
        assert!(!script.lines().any(|line| line.starts_with("import ") || line.starts_with("export ")));
        assert!(!script.contains("</script") && !script.contains("innerHTML") && !script.contains("eval("));
        let page = served().replace("\"http://www.w3.org/2000/svg\"", "");
        assert!(!page.contains("{{"), "a place of the page is not filled");
        assert!(!page.contains("http://") && !page.contains("https://"), "the page names an address");
    }
}
