// A view as a picture: SVG, and PNG made of it.

import { css } from "./colours.js";
import { LEFT } from "./panel.js";
import { PaintSvg, svg } from "./paint_svg.js";

const GAP = 26;

/** One SVG of all that is drawn: panels below each other, each with its title. */
export function asSvg(app, panels, title) {
  const width = Math.max(...panels.map(({ panel }) => panel.width)) + LEFT + 12;
  const ground = css(app.colours.card);
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, "font-family": "system-ui, sans-serif" });
  const text = (words, y, weight) => svg("text", { x: 8, y, "font-size": 13, "font-weight": weight, fill: css(app.colours.ink) }, words);
  root.append(svg("rect", { width: "100%", height: "100%", fill: ground }), text(title, 20, 600));
  let top = 30;
  panels.forEach(({ panel, draw, name }, number) => {
    const painter = new PaintSvg();
    const real = panel.painter;
    const over = panel.over;
    panel.painter = painter;
    panel.over = svg("svg");
    draw(painter);
    const clip = `clip${number}`;
    root.append(text(name, top + 16, 400));
    const place = svg("g", { transform: `translate(${LEFT},${top + GAP})` });
    place.append(svg("clipPath", { id: clip }, svg("rect", { width: panel.width, height: panel.drawn })));
    const picture = svg("g", { "clip-path": `url(#${clip})` });
    painter.group.setAttribute("transform", `scale(${panel.width / painter.size[0]})`);
    picture.append(painter.group);
    place.append(picture, ...panel.over.childNodes);
    root.append(place);
    [panel.painter, panel.over] = [real, over];
    top += panel.height + GAP;
  });
  root.setAttribute("height", top + 8);
  root.setAttribute("viewBox", `0 0 ${width} ${top + 8}`);
  return new XMLSerializer().serializeToString(root);
}

/** The same as PNG, at twice the size. */
export async function asPng(text) {
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * 2, image.height * 2];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}
