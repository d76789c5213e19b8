//! The styles of the page and of the card, made of the same colours and fills.

/// The colours on a light ground, as declarations.
const LIGHT: &str = include_str!("light.css");
/// The colours on a dark ground.
const DARK: &str = include_str!("dark.css");
/// The fills of the parts of a bar.
const PARTS: &str = include_str!("parts.css");
const PAGE: &str = include_str!("page.css");
const CARD: &str = include_str!("card.css");
/// Where a notebook says that it is light or dark: Jupyter, VS Code and Colab. It may differ from what the system says.
const THEMES: [[&str; 2]; 3] = [
    ["[data-jp-theme-light=\"true\"]", "[data-jp-theme-light=\"false\"]"],
    ["[data-vscode-theme-kind=\"vscode-light\"]", "[data-vscode-theme-kind=\"vscode-dark\"]"],
    ["html[theme=\"light\"]", "html[theme=\"dark\"]"],
];

/// The page's style sheet.
pub(super) fn page() -> String {
    format!(
        ":root {{\n  color-scheme: light dark;\n{LIGHT}}}\n@media (prefers-color-scheme: dark) {{\n  :root {{\n{DARK}  }}\n}}\n\
         {PAGE}{PARTS}"
    )
}

/// The card's style sheet. Nothing in it reaches outside a card, and what the notebook says of tables and lists is
/// overruled inside: the class is doubled because that outweighs it.
pub(super) fn card() -> String {
    let of = |side: usize| THEMES.map(|theme| format!("{} .oomph-card", theme[side])).join(", ");
    format!(
        ".oomph-card {{\n{LIGHT}}}\n@media (prefers-color-scheme: dark) {{ .oomph-card {{\n{DARK}}} }}\n\
         {} {{\n{LIGHT}}}\n{} {{\n{DARK}}}\n.oomph-card.oomph-card {{\n{CARD}{PARTS}}}\n",
        of(0),
        of(1)
    )
}
