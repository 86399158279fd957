// The picture as a file, with its legend below it.

import { legendEntries } from "./legend.js";
import { PAIR_LETTERS } from "./pair.js";
import { sceneOf } from "./picture.js";
import { drawAppearance, drawMark, drawScene, FONT } from "./scene.js";
import { SvgContext } from "./svg-context.js";
import { drawEntry, symbolRadius } from "./symbols.js";
import { themeColours } from "./theme.js";

const DOTS = 3; // of PNG, for each pixel: 300 dots an inch at a third of the size on the screen
const LINE = 22; // pixels from one line of the legend to the next
const BESIDE = 18; // pixels for a symbol
const GAP = 18; // pixels between two entries
const MARGIN = 12; // pixels around the legend

export function pictureAsSvg(state) {
  const paper = onPaper(state);
  const context = new SvgContext(fullSize(paper));
  drawAll(context, paper);
  return new Blob([context.toString()], { type: "image/svg+xml" });
}

export function pictureAsPng(state) {
  const paper = onPaper(state);
  const { width, height } = fullSize(paper);
  const canvas = document.createElement("canvas");
  canvas.width = DOTS * width;
  canvas.height = DOTS * height;
  const context = canvas.getContext("2d");
  context.scale(DOTS, DOTS);
  drawAll(context, paper);
  return new Promise((resolve) => {
    canvas.toBlob(resolve, "image/png");
  });
}

// A file is seen elsewhere: it is light whatever the theme.
const onPaper = (state) => ({ ...state, printing: true });

function fullSize(state) {
  const { width, height } = state.size;
  const measuring = new SvgContext({ width, height });
  return { width, height: height + legendLayout(measuring, state).height };
}

// Where each entry stands, counted from the upper left corner of the legend.
function legendLayout(context, state) {
  context.font = FONT;
  let x = MARGIN;
  let y = LINE / 2;
  const places = legendEntries(state).map((entry) => {
    const beside = entry.symbol ? BESIDE : 0;
    const width = beside + context.measureText(entry.text).width;
    if (x > MARGIN && x + width > state.size.width - MARGIN) {
      x = MARGIN;
      y += LINE;
    }
    const place = { entry, x, y, textX: x + beside };
    x += width + GAP;
    return place;
  });
  return { places, height: y + LINE / 2 + MARGIN };
}

function drawAll(context, state) {
  const scene = sceneOf(state);
  const { data, size, colouring, dark, scale } = scene;
  drawScene(context, scene, (i, x, y) => {
    context.save();
    context.translate(x, y);
    drawAppearance(context, data, colouring.appearance(data, i), { dark, scale });
    context.restore();
  });
  const marks = { ...scene, radius: scale * symbolRadius(data), colours: themeColours(dark) };
  state.chosen.forEach((i, k) => {
    if (i !== null) {
      drawMark(context, marks, i, PAIR_LETTERS[k]);
    }
  });
  context.save();
  context.translate(0, size.height);
  drawLegend(context, state, themeColours(dark));
  context.restore();
}

function drawLegend(context, state, { background, text }) {
  const { places, height } = legendLayout(context, state);
  context.fillStyle = background;
  context.fillRect(0, 0, state.size.width, height);
  context.textAlign = "left";
  for (const { entry, x, y, textX } of places) {
    if (entry.symbol) {
      context.save();
      context.translate(x + BESIDE / 2 - 2, y);
      drawEntry(context, state.data, entry, false);
      context.restore();
    }
    context.fillStyle = text;
    context.fillText(entry.text, textX, y + 4);
  }
}
