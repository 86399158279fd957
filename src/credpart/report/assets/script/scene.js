// What the picture of the objects consists of, drawn on a canvas or as SVG.

import { drawEllipses } from "./ellipses.js";
import { isOutlier } from "./evidence.js";
import { pixelScales, plotArea } from "./projection.js";
import { drawRings, drawSymbol, hasRings, isHardToTell, symbolRadius } from "./symbols.js";
import { themeColours } from "./theme.js";
import { axisTicks } from "./ticks.js";

const PIXELS_PER_TICK = { x: 80, y: 50 }; // at least
const TRANSPARENT_ABOVE = 4000; // objects
const FAINT = 0.12; // opacity of objects that the table leaves out
const MARK_DISTANCE = 5; // pixels from a symbol to the circle around it
const LONGEST_NAME = 16; // characters of a cluster's name in the picture
const REACH_OF_SYMBOL = 5; // pixels around a symbol that its rings may need

export const FONT = "12px system-ui, sans-serif";

// The picture without marks.  `drawObject` draws the object i at a place.
export function drawScene(context, picture, drawObject) {
  const { size, dark } = picture;
  context.fillStyle = themeColours(dark).background;
  context.fillRect(0, 0, size.width, size.height);
  drawAxes(context, picture);
  const area = plotArea(size);
  context.save();
  context.beginPath();
  context.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
  context.clip();
  drawObjects(context, picture, drawObject);
  if (picture.hasEllipses) {
    drawEllipses(context, picture);
  }
  if (isNamed(picture)) {
    drawClusterNames(context, picture);
  }
  context.restore();
}

// Whether clusters have their names in the picture: ellipses without their colours need them, too.
const isNamed = ({ data, colouring, hasEllipses }) =>
  (colouring.showsClusters && isHardToTell(data)) || (hasEllipses && !colouring.coloursClusters);

function drawAxes(context, { size, view, xAxis, yAxis, dark }) {
  const { text, secondary, grid } = themeColours(dark);
  const area = plotArea(size);
  const { toPixelX, toPixelY } = pixelScales(view, size);
  const most = (length, distance) => Math.max(2, Math.floor(length / distance));
  context.font = FONT;
  context.strokeStyle = grid;
  context.lineWidth = 1;
  context.fillStyle = secondary;

  context.textAlign = "center";
  const alongX = axisTicks(xAxis, view.x, most(area.right - area.left, PIXELS_PER_TICK.x));
  for (const tick of alongX.ticks) {
    const x = toPixelX(tick);
    drawLine(context, [x, area.top], [x, area.bottom]);
    context.fillText(alongX.text(tick), x, area.bottom + 16, PIXELS_PER_TICK.x - 2);
  }
  context.textAlign = "right";
  const alongY = axisTicks(yAxis, view.y, most(area.bottom - area.top, PIXELS_PER_TICK.y));
  for (const tick of alongY.ticks) {
    const y = toPixelY(tick);
    drawLine(context, [area.left, y], [area.right, y]);
    context.fillText(alongY.text(tick), area.left - 6, y + 4, area.left - 22);
  }

  context.fillStyle = text;
  context.textAlign = "center";
  const middle = { x: (area.left + area.right) / 2, y: (area.top + area.bottom) / 2 };
  context.fillText(xAxis.name, middle.x, size.height - 8, area.right - area.left);
  context.save();
  context.translate(12, middle.y);
  context.rotate(-Math.PI / 2);
  context.fillText(yAxis.name, 0, 0, area.bottom - area.top);
  context.restore();
}

function drawLine(context, from, to) {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

export const symbolReach = (data) => symbolRadius(data) + REACH_OF_SYMBOL;

function drawObjects(context, { data, size, places, isInTable }, drawObject) {
  const reach = 2 * symbolReach(data);
  const opacity = data.n > TRANSPARENT_ABOVE ? 0.7 : 0.9;
  const isInside = (place, length) => place > -reach && place < length + reach;
  // The least sure objects, which come first, are drawn last and so lie on top.
  for (let rank = data.n - 1; rank >= 0; rank--) {
    const i = data.order[rank];
    const [x, y] = [places.x[i], places.y[i]];
    if (isInside(x, size.width) && isInside(y, size.height)) {
      context.globalAlpha = isInTable === null || isInTable[i] ? opacity : FAINT;
      drawObject(i, x, y);
    }
  }
  context.globalAlpha = 1;
}

// The symbol of an object around the origin of the context.
export function drawAppearance(context, data, { symbol, colour, rings }, { dark, scale }) {
  const radius = symbolRadius(data);
  context.save();
  context.scale(scale, scale);
  drawSymbol(context, { symbol, colour, radius, dark });
  if (hasRings(data)) {
    drawRings(context, { n: data.n, rings, radius: radius + 1.8, dark });
  }
  context.restore();
}

// The names of the clusters, in the middle of their objects.
function drawClusterNames(context, { data, places, dark }) {
  const members = data.clusterNames.map(() => []);
  for (let i = 0; i < data.n; i++) {
    if (!isOutlier(data, i)) {
      members[data.labels[i]].push(i);
    }
  }
  context.font = "bold 14px system-ui, sans-serif";
  context.textAlign = "center";
  members.forEach((objects, k) => {
    if (objects.length) {
      const name = data.clusterNames[k].slice(0, LONGEST_NAME);
      const [x, y] = [places.x, places.y].map((along) => median(objects.map((i) => along[i])));
      drawHaloed(context, name, [x, y + 5], themeColours(dark));
    }
  });
}

function median(values) {
  return Float64Array.from(values).sort()[Math.floor(values.length / 2)];
}

// Text that is read on any ground.
function drawHaloed(context, text, [x, y], { background, text: ink }) {
  context.lineWidth = 4;
  context.strokeStyle = background;
  context.strokeText(text, x, y);
  context.fillStyle = ink;
  context.fillText(text, x, y);
}

// A circle around an object, with a letter beside it if the object is chosen.
export function drawMark(context, { size, places, radius, colours }, i, letter) {
  const area = plotArea(size);
  const [x, y] = [places.x[i], places.y[i]];
  if (x < area.left || x > area.right || y < area.top || y > area.bottom) {
    return;
  }
  const reach = radius + MARK_DISTANCE;
  context.beginPath();
  context.arc(x, y, reach, 0, 2 * Math.PI);
  context.lineWidth = 2.5;
  context.strokeStyle = colours.text;
  context.stroke();
  if (!letter) {
    return;
  }
  context.font = "bold 14px system-ui, sans-serif";
  context.textAlign = "left";
  drawHaloed(context, letter, [x + reach + 2, y + 5], colours);
}
