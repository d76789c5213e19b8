// Elements made by hand. Every text is set as text: nothing from a recording is ever read as markup.

/** An element with attributes, listeners (`onclick`) and children; a string is a text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "colour") made.style.background = value;
    else if (key === "width") made.style.width = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  fill(made, children);
  return made;
}

/** Puts children in the place of what is there. */
export function fill(parent, children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return parent;
}

/** Buttons of which one is pressed. */
export function choice(label, options, chosen, choose) {
  const buttons = options.map(([value, text, reason]) =>
    element("button", {
      type: "button",
      "aria-pressed": String(value === chosen),
      disabled: Boolean(reason),
      title: reason || null,
      "data-value": value,
      onclick: () => choose(value),
    }, text));
  return element("div", { class: "choice", role: "group", "aria-label": label }, element("span", { class: "soft" }, label), buttons);
}

/** Copies a text; where the browser refuses, shows it to be copied by hand. */
export async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    done("copied");
  } catch {
    const area = element("textarea", { class: "copied", readonly: true, "aria-label": "Copy this text" });
    area.value = text;
    document.body.append(area);
    area.select();
    done("press Ctrl-C to copy, Escape to close");
    area.addEventListener("keydown", (event) => { if (event.key === "Escape") area.remove(); });
    area.addEventListener("blur", () => area.remove());
  }
}

/** Hands the user a file that the page has made. */
export function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
