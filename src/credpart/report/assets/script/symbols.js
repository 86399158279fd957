// Symbols of the objects: matplotlib's, in a square from -1 to 1.

import { element } from "./dom.js";
import { adapted, themeColours } from "./theme.js";

const SMALLEST_RINGED = 2.5; // pixels: a smaller symbol has no ring
const FULL_AREA = 340000; // square pixels: in a smaller picture symbols are smaller, too
const SMALLEST_SCALE = 0.6;
const RING_DISTANCE = 2.4; // pixels from one ring to the next
const THIN_RINGS_ABOVE = 500; // objects
const MOST_UNNAMED = 7; // clusters: so many colours are told apart at a glance
const SWATCH = 18; // pixels, as in page.css

const PATHS = {
  o: (context) => context.arc(0, 0, 0.9, 0, 2 * Math.PI),
  "^": polygon(3),
  v: polygon(3, Math.PI),
  "<": polygon(3, -Math.PI / 2),
  ">": polygon(3, Math.PI / 2),
  s: (context) => context.rect(-0.8, -0.8, 1.6, 1.6),
  D: polygon(4),
  "*": polygon(5, 0, 0.45),
  p: polygon(5),
  P: (context) => {
    context.rect(-0.3, -0.9, 0.6, 1.8);
    context.rect(-0.9, -0.3, 1.8, 0.6);
  },
  "+": cross(0),
  x: cross(Math.PI / 4),
};
const WITHOUT_AREA = new Set(["+", "x"]);

// A regular polygon, or a star if there is an inner radius.
function polygon(corners, turn = 0, innerRadius = null) {
  const count = innerRadius ? 2 * corners : corners;
  return (context) => {
    for (let k = 0; k < count; k++) {
      const angle = turn - Math.PI / 2 + (2 * Math.PI * k) / count;
      const radius = innerRadius && k % 2 ? innerRadius : 1;
      context.lineTo(radius * Math.cos(angle), radius * Math.sin(angle));
    }
    context.closePath();
  };
}

function cross(turn) {
  return (context) => {
    for (const angle of [turn, turn + Math.PI / 2]) {
      context.moveTo(-Math.cos(angle), -Math.sin(angle));
      context.lineTo(Math.cos(angle), Math.sin(angle));
    }
  };
}

export const symbolOf = (data, code) => data.symbols[code % data.symbols.length];

export const symbolRadius = (data) => Math.max(2.2, Math.min(5, 110 / Math.sqrt(data.n)));

// How much smaller symbols and rings are in a small picture, as on a telephone.
export const symbolScale = ({ width, height }) =>
  Math.max(SMALLEST_SCALE, Math.min(1, Math.sqrt((width * height) / FULL_AREA)));

export const hasRings = (data) => symbolRadius(data) >= SMALLEST_RINGED;

// Whether clusters need their names in the picture: their colours are many, or their symbols small.
export const isHardToTell = (data) => data.c > MOST_UNNAMED || !hasRings(data);

// Draw a symbol around the origin of the context.
export function drawSymbol(context, { symbol, colour, radius, dark }) {
  context.save();
  context.scale(radius, radius);
  context.beginPath();
  PATHS[symbol](context);
  context.restore();
  if (WITHOUT_AREA.has(symbol)) {
    context.strokeStyle = adapted(colour, dark);
    context.lineWidth = Math.max(1.2, radius / 2.2);
    context.stroke();
  } else {
    context.fillStyle = adapted(colour, dark);
    context.fill();
  }
}

// Draw rings around the origin of the context, the first one with this radius.
export function drawRings(context, { n, rings, radius, dark }) {
  context.save();
  context.beginPath();
  for (let k = 0; k < rings; k++) {
    context.moveTo(radius + k * RING_DISTANCE, 0);
    context.arc(0, 0, radius + k * RING_DISTANCE, 0, 2 * Math.PI);
  }
  context.strokeStyle = themeColours(dark).text;
  context.globalAlpha *= n > THIN_RINGS_ABOVE ? 0.55 : 0.8;
  context.lineWidth = n > THIN_RINGS_ABOVE ? 0.8 : 1.2;
  context.stroke();
  context.restore();
}

// Draw the symbol of an entry of a legend around the origin of the context.
export function drawEntry(context, data, { symbol, colour, rings = 0 }, dark) {
  drawSymbol(context, { symbol, colour, radius: rings ? 5 - 1.3 * rings : 5, dark });
  drawRings(context, { n: data.n, rings, radius: 7.5 - rings, dark });
}

// A canvas with one symbol, as it stands in legends.
export function swatch(data, entry, dark) {
  const size = 2 * SWATCH; // sharp on screens of high resolution
  const canvas = element("canvas", { width: size, height: size, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.translate(size / 2, size / 2);
  context.scale(2, 2);
  drawEntry(context, data, entry, dark);
  return canvas;
}
