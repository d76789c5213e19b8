// The verdict: what happened, why, and what to do, as `oomph explain` says it.

import { element, fill } from "./dom.js";
import { size } from "./numbers.js";

/** A sentence in which what stands between backticks is code. */
function prose(text) {
  return text.split("`").map((part, at) => (at % 2 ? element("code", {}, part) : part));
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The card at the top of the page. `lines` are those that the timeline colours, by rank; `go` shows a moment. */
export function showVerdict(into, found, lines, go) {
  const judged = found.verdict;
  const parts = [element("h1", {}, capital(found.headline))];
  if (judged) {
    const blamed = judged.culprits[0];
    parts.push(element("div", { class: "cause" },
      element("p", {}, element("b", {}, `${capital(judged.cause)}: `), prose(judged.claim)),
      blamed ? element("p", {}, element("code", {}, blamed.line), `: ${blamed.did}`) : null,
      blamed && blamed.code ? element("pre", {}, blamed.code) : null));
    if (judged.cures[0]) {
      parts.push(element("div", { class: "do" }, element("p", {}, element("b", {}, "Do: "), prose(judged.cures[0].do)), element("p", { class: "soft" }, prose(judged.cures[0].proof))));
    }
  } else if (found.failed) {
    parts.push(element("div", { class: "cause" }, element("p", {}, found.unknown)));
  }
  parts.push(bar(found.memory, lines));
  const facts = found.facts.map(([label, text]) => [element("dt", {}, label), element("dd", {}, text)]);
  const findings = found.findings.map(([claim, rule]) => [element("dt", {}, rule), element("dd", {}, claim)]);
  const more = judged ? judged.cures.slice(1).map((cure) => [element("dt", {}, "Or"), element("dd", {}, prose(cure.do), element("span", { class: "soft" }, ` (${cure.proof})`))]) : [];
  parts.push(element("details", {}, element("summary", {}, "All that is known"), element("dl", {}, more, findings, facts)));
  parts.push(element("button", { type: "button", onclick: () => go(found.slot) }, found.failed ? "Show the failure" : "Show the peak"));
  fill(into, parts);
}

/** The style of a part: a line has the colour that it has in the timeline. */
function styleOf(part, lines) {
  if (!part.style.startsWith("h")) return part.style;
  const rank = part.line === null ? -1 : lines.indexOf(part.line);
  return rank >= 0 && rank < 8 ? `h${rank}` : "hx";
}

/** Memory at the moment, in parts that add up. */
function bar(memory, lines) {
  const shown = memory.parts.filter((part) => part.bytes > 0);
  const total = shown.reduce((sum, part) => sum + part.bytes, 0) || 1;
  const piece = (part) => element("span", { class: styleOf(part, lines), width: `${part.bytes / total * 100}%`, title: `${size(part.bytes)} ${part.what}` });
  const keys = shown.map((part) => element("li", {}, element("span", { class: `key ${styleOf(part, lines)}` }), element("b", {}, size(part.bytes)), ` ${part.what}`));
  return element("div", {}, element("p", { class: "label" }, memory.heading), element("div", { class: "bar" }, shown.map(piece)),
    element("ul", { class: "keys" }, keys, element("li", { class: "soft" }, `= ${size(memory.total)} ${memory.source}`)));
}
