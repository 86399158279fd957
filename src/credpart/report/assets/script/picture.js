// The picture of the objects, on a canvas.

import { COLOURINGS } from "./colourings.js";
import { byId, element } from "./dom.js";
import { canHaveEllipses } from "./ellipse-shapes.js";
import { memoize } from "./memoize.js";
import { PAIR_LETTERS } from "./pair.js";
import { currentView, pixels, shapesOf } from "./projection.js";
import { inTable } from "./rows.js";
import { drawAppearance, drawMark, drawScene, symbolReach } from "./scene.js";
import { symbolRadius, symbolScale } from "./symbols.js";
import { isDark, themeColours } from "./theme.js";

const PRINT_RESOLUTION = 3; // dots for each pixel

export function buildPicture(data) {
  for (const id of ["x-axis", "y-axis"]) {
    byId(id).append(...data.axes.map(option));
  }
  for (const [value, { name, isAvailable }] of Object.entries(COLOURINGS)) {
    if (isAvailable(data)) {
      byId("colour").append(element("option", { value }, name));
    }
  }
}

const option = ({ name, short }, k) => element("option", { value: k }, short ?? name);

export function pictureSize() {
  const { clientWidth, clientHeight } = byId("scatter");
  return { width: clientWidth, height: clientHeight };
}

export const renderPictureControls = memoize(
  ({ data, xAxis, yAxis, colouring, showsEllipses }) => ({
    data,
    xAxis,
    yAxis,
    colouring,
    showsEllipses,
  }),
  ({ data, xAxis, yAxis, colouring, showsEllipses }) => {
    byId("x-axis").value = xAxis;
    byId("y-axis").value = yAxis;
    byId("colour").value = colouring;
    byId("ellipses").checked = showsEllipses;
    byId("ellipses-label").hidden = !canHaveEllipses(data, [xAxis, yAxis]);
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
    radius: symbolScale(state.size) * symbolRadius(state.data),
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

// What `drawScene` needs to know.
export const sceneOf = (state) => ({
  data: state.data,
  size: state.size,
  view: currentView(state),
  places: pixels(state),
  xAxis: state.data.axes[state.xAxis],
  yAxis: state.data.axes[state.yAxis],
  colouring: COLOURINGS[state.colouring],
  isInTable: inTable(state),
  shapes: shapesOf(state),
  hasEllipses: state.showsEllipses && canHaveEllipses(state.data, [state.xAxis, state.yAxis]),
  dark: isDark(state),
  scale: symbolScale(state.size),
});

const backgroundCanvas = document.createElement("canvas");

// The picture without marks.  Each drawing is a new value around the same canvas, so that
// `drawPicture` sees that it has changed; null if the canvas has no size.
const background = memoize(
  (state) => ({ ...sceneOf(state), images: symbolImages(state), dots: dotsPerPixel(state) }),
  (picture) => {
    const { size, dots } = picture;
    if (!size.width) {
      return null;
    }
    const context = clearedContext(backgroundCanvas, size, dots);
    drawScene(context, picture, byImage(context, picture));
    return { canvas: backgroundCanvas };
  },
);

const imageSize = (data) => Math.ceil(2 * symbolReach(data));

// Images of symbols, by the key of their appearance.  Drawing an image is many times faster than
// drawing the path of the symbol.
const symbolImages = memoize(
  (state) => ({
    data: state.data,
    colouring: state.colouring,
    dark: isDark(state),
    scale: symbolScale(state.size),
    dots: dotsPerPixel(state),
  }),
  () => new Map(),
);

function symbolImage(appearance, { data, dark, scale, dots }) {
  const size = imageSize(data);
  const image = document.createElement("canvas");
  const context = clearedContext(image, { width: size, height: size }, dots);
  context.translate(size / 2, size / 2);
  drawAppearance(context, data, appearance, { dark, scale });
  return image;
}

// The function that draws an object by the image of its symbol.
function byImage(context, picture) {
  const { data, colouring, images } = picture;
  const side = imageSize(data);
  return (i, x, y) => {
    const key = colouring.key(data, i);
    if (!images.has(key)) {
      images.set(key, symbolImage(colouring.appearance(data, i), picture));
    }
    context.drawImage(images.get(key), x - side / 2, y - side / 2, side, side);
  };
}

function drawDrag(context, { from, to }, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
  context.setLineDash([]);
}
