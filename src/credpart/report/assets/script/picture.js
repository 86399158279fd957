// The picture of the objects, on a canvas.

import { COLOURINGS } from "./colourings.js";
import { byId, element } from "./dom.js";
import { drawEllipses } from "./ellipses.js";
import { memoize } from "./memoize.js";
import { PAIR_LETTERS } from "./pair.js";
import { currentView, pixelScales, pixels, plotArea } from "./projection.js";
import { inTable } from "./rows.js";
import { drawRing, drawSymbol, hasRings, symbolRadius } from "./symbols.js";
import { isDark, themeColours } from "./theme.js";
import { axisTicks } from "./ticks.js";

const PRINT_RESOLUTION = 3; // dots for each pixel
const PIXELS_PER_TICK = { x: 80, y: 50 }; // at least
const TRANSPARENT_ABOVE = 4000; // objects
const FAINT = 0.12; // opacity of objects that the table leaves out
const MARK_DISTANCE = 5; // pixels from a symbol to the circle around it

export function buildPicture(data) {
  for (const id of ["x-axis", "y-axis"]) {
    byId(id).append(...data.axes.map(({ name }, k) => element("option", { value: k }, name)));
  }
  for (const [value, { name, isAvailable }] of Object.entries(COLOURINGS)) {
    if (isAvailable(data)) {
      byId("colour").append(element("option", { value }, name));
    }
  }
  byId("ellipses-label").hidden = !data.ellipses;
}

export function pictureSize() {
  const { clientWidth, clientHeight } = byId("scatter");
  return { width: clientWidth, height: clientHeight };
}

export const renderPictureControls = memoize(
  ({ xAxis, yAxis, colouring, showsEllipses }) => ({ xAxis, yAxis, colouring, showsEllipses }),
  ({ xAxis, yAxis, colouring, showsEllipses }) => {
    byId("x-axis").value = xAxis;
    byId("y-axis").value = yAxis;
    byId("colour").value = colouring;
    byId("ellipses").checked = showsEllipses;
  },
);

const dotsPerPixel = ({ printing }) => (printing ? PRINT_RESOLUTION : window.devicePixelRatio || 1);

// Clear a canvas, and return a context whose unit is a pixel of the page.
function clearedContext(canvas, { width, height }, dots) {
  canvas.width = Math.round(width * dots);
  canvas.height = Math.round(height * dots);
  const context = canvas.getContext("2d");
  context.scale(dots, dots);
  return context;
}

// What moves with the pointer is drawn over a copy of what does not.
export const drawPicture = memoize(
  (state) => ({
    background: background(state),
    size: state.size,
    radius: symbolRadius(state.data),
    colours: themeColours(isDark(state)),
    dots: dotsPerPixel(state),
    places: pixels(state),
    chosen: state.chosen,
    pointed: state.pointed,
    drag: state.drag,
  }),
  (picture) => {
    const { background: image, size, dots, chosen, pointed, drag } = picture;
    if (!image) {
      return;
    }
    const context = clearedContext(byId("scatter"), size, dots);
    context.drawImage(image.canvas, 0, 0, size.width, size.height);
    chosen.forEach((i, k) => {
      if (i !== null) {
        drawMark(context, picture, i, PAIR_LETTERS[k]);
      }
    });
    if (pointed !== null) {
      drawMark(context, picture, pointed, "");
    }
    if (drag) {
      drawDrag(context, drag, picture.colours.text);
    }
  },
);

const backgroundCanvas = document.createElement("canvas");

// The picture without marks.  Each drawing is a new value around the same canvas, so that
// `drawPicture` sees that it has changed; null if the canvas has no size.
const background = memoize(
  (state) => ({
    data: state.data,
    size: state.size,
    view: currentView(state),
    places: pixels(state),
    xAxis: state.data.axes[state.xAxis],
    yAxis: state.data.axes[state.yAxis],
    colouring: COLOURINGS[state.colouring],
    images: symbolImages(state),
    isInTable: inTable(state),
    showsEllipses: state.showsEllipses,
    dark: isDark(state),
    dots: dotsPerPixel(state),
  }),
  (picture) => {
    const { data, size, dark, dots } = picture;
    if (!size.width) {
      return null;
    }
    const context = clearedContext(backgroundCanvas, size, dots);
    context.fillStyle = themeColours(dark).background;
    context.fillRect(0, 0, size.width, size.height);
    drawAxes(context, picture);
    const area = plotArea(size);
    context.save();
    context.beginPath();
    context.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
    context.clip();
    drawObjects(context, picture);
    if (data.ellipses && picture.showsEllipses) {
      drawEllipses(context, picture);
    }
    context.restore();
    return { canvas: backgroundCanvas };
  },
);

function drawAxes(context, { size, view, xAxis, yAxis, dark }) {
  const { text, secondary, grid } = themeColours(dark);
  const area = plotArea(size);
  const { toPixelX, toPixelY } = pixelScales(view, size);
  const most = (length, distance) => Math.max(2, Math.floor(length / distance));
  context.font = "12px system-ui, sans-serif";
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

const imageSize = (data) => Math.ceil(2 * (symbolRadius(data) + 4));

// Images of symbols, by the key of their appearance.  Drawing an image is many times faster than
// drawing the path of the symbol.
const symbolImages = memoize(
  (state) => ({
    data: state.data,
    colouring: state.colouring,
    dark: isDark(state),
    dots: dotsPerPixel(state),
  }),
  () => new Map(),
);

function symbolImage(data, { symbol, colour, isRinged }, dark, dots) {
  const size = imageSize(data);
  const radius = symbolRadius(data);
  const image = document.createElement("canvas");
  const context = clearedContext(image, { width: size, height: size }, dots);
  context.translate(size / 2, size / 2);
  drawSymbol(context, { symbol, colour, radius, dark });
  if (isRinged && hasRings(data)) {
    drawRing(context, { n: data.n, radius: radius + 1.8, dark });
  }
  return image;
}

function drawObjects(context, { data, size, places, colouring, images, isInTable, dark, dots }) {
  const side = imageSize(data);
  const opacity = data.n > TRANSPARENT_ABOVE ? 0.7 : 0.9;
  const isInside = (place, length) => place > -side && place < length + side;
  // The least sure objects, which come first, are drawn last and so lie on top.
  for (let rank = data.n - 1; rank >= 0; rank--) {
    const i = data.order[rank];
    const [x, y] = [places.x[i], places.y[i]];
    if (!isInside(x, size.width) || !isInside(y, size.height)) {
      continue;
    }
    const key = colouring.key(data, i);
    if (!images.has(key)) {
      images.set(key, symbolImage(data, colouring.appearance(data, i), dark, dots));
    }
    context.globalAlpha = isInTable === null || isInTable[i] ? opacity : FAINT;
    context.drawImage(images.get(key), x - side / 2, y - side / 2, side, side);
  }
  context.globalAlpha = 1;
}

// A circle around an object, with a letter beside it if the object is chosen.
function drawMark(context, { size, places, radius, colours }, i, letter) {
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
  context.font = "bold 14px system-ui, sans-serif";
  context.textAlign = "left";
  context.lineWidth = 4;
  context.strokeStyle = colours.background;
  context.strokeText(letter, x + reach + 2, y + 5);
  context.fillStyle = colours.text;
  context.fillText(letter, x + reach + 2, y + 5);
}

function drawDrag(context, { from, to }, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
  context.setLineDash([]);
}
