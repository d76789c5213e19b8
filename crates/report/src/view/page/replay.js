// The same job under other settings: a menu, and how a replay went.

import { element, fill } from "./dom.js";
import { count, counted, size } from "./numbers.js";

/** What a replay gave, beside the recording. */
export function outcome(found, meta) {
  if (found.refused) return found.refused;
  if (found.same) return "Identical to the recording: every block at the same address at the same time.";
  const parts = [`held at most ${size(found.peaks.reserved)} (recorded: ${size(meta.peaks.reserved)})`, `in use at most ${size(found.peaks.active)}`];
  if (found.retries) parts.push(`the cache was released ${counted(found.retries, "time")} under pressure`);
  if (found.died !== null) parts.unshift(`it would have died at event ${count(found.died)}`);
  else parts.unshift(found.completes ? "every request is served" : "the same request fails");
  const text = parts.join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** The menu. `run` gets settings and a limit, `without` the number of a line. */
export function showMenu(into, app, menu, act) {
  const settings = element("input", { type: "text", placeholder: "expandable_segments:True", "aria-label": "Settings", size: 30, spellcheck: "false" });
  const limit = element("input", { type: "text", placeholder: "limit, e.g. 16 GiB", "aria-label": "Limit", size: 16, spellcheck: "false" });
  settings.value = app.state.settings || "";
  limit.value = app.state.limit || "";
  const form = element("form", { onsubmit: (event) => {
    event.preventDefault();
    act({ settings: settings.value.trim(), limit: limit.value.trim(), without: null });
  } }, settings, limit, element("button", { type: "submit" }, "Replay"));
  const what = (one) => (one.without === undefined ? { settings: one.settings, limit: "", without: null } : { settings: "", limit: "", without: one.without });
  const entry = (one) => element("button", {
    type: "button",
    class: one.helps ? "helps" : "",
    title: one.helps === null ? null : one.helps ? "helps" : "does not help",
    onclick: () => act(what(one)),
  }, one.title);
  const clear = app.state.settings !== null ? element("button", { type: "button", onclick: () => act(null) }, "no replay") : null;
  if (app.source.isFile) {
    const note = element("p", { class: "note" }, "This file holds few replays. `oomph view FILE` replays any setting at once.");
    return fill(into, [note, element("div", { class: "chips" }, menu.filter((one) => app.hasReplay(what(one))).map(entry), clear)]);
  }
  const same = element("button", { type: "button", onclick: () => act({ settings: "", limit: "", without: null }) }, "as recorded");
  return fill(into, [form, element("div", { class: "chips" }, menu.map(entry), same, clear)]);
}
