// From objects to coordinates of the chosen axes, and from these to pixels of the picture.

import { canHaveEllipses, clusterShapes, extents, SHARES } from "./ellipse-shapes.js";
import { memoize } from "./memoize.js";

const MARGIN = { left: 58, right: 12, top: 10, bottom: 42 }; // pixels
const PADDING = 0.04; // of the range of the data
const MOST_ROOM = 0.25; // of the range of the data, that an ellipse beyond them gets
const JITTER = 0.6; // width of the band that spreads objects of the same category

// Coordinates of all objects on the two axes.
export const coordinates = memoize(
  ({ data, xAxis, yAxis }) => ({ data, xAxis, yAxis }),
  ({ data, xAxis, yAxis }) => ({ x: alongAxis(data, xAxis), y: alongAxis(data, yAxis) }),
);

function alongAxis(data, index) {
  const axis = data.axes[index];
  if (!axis.weights) {
    return data.scores[axis.score];
  }
  const result = new Float64Array(data.n);
  for (let i = 0; i < data.n; i++) {
    let sum = -axis.center;
    for (let e = 0; e < data.d; e++) {
      // A missing value of a column that the axis does not use does not count.
      if (axis.weights[e] !== 0) {
        sum += axis.weights[e] * data.values[i * data.d + e];
      }
    }
    result[i] = axis.levels ? sum + jitter(i, index) : sum;
  }
  return result;
}

// Objects of the same category would hide one another.  Multiples of an irrational number are
// evenly spread; another number for each axis keeps the axes from moving together.
const jitter = (i, axis) => JITTER * ((i * (0.618 + 0.137 * axis)) % 1) - JITTER / 2;

// The ranges of both axes in which all objects are visible, and the ellipses unless they are far
// larger.
export const fullView = memoize(
  (state) => ({ ...coordinates(state), shapes: shapesOf(state) }),
  ({ x, y, shapes }) => {
    const all = shapes.map((shape) => extents(shape, SHARES.at(-1)));
    return {
      x: paddedRange(
        x,
        all.flatMap((one) => one.x),
      ),
      y: paddedRange(
        y,
        all.flatMap((one) => one.y),
      ),
    };
  },
);

const NO_SHAPES = []; // one value, so that nothing is drawn again for another one

// Where the ellipses may be drawn, the shapes of the clusters.
export const shapesOf = (state) =>
  canHaveEllipses(state.data, [state.xAxis, state.yAxis]) ? clusterShapes(state) : NO_SHAPES;

function paddedRange(values, ends) {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value < low) {
      low = value;
    }
    if (value > high) {
      high = value;
    }
  }
  const room = MOST_ROOM * (high - low);
  const padding = PADDING * (high - low) || PADDING * Math.abs(high) || 1;
  return [
    Math.max(low - room, Math.min(low, ...ends)) - padding,
    Math.min(high + room, Math.max(high, ...ends)) + padding,
  ];
}

export const currentView = (state) => state.view ?? fullView(state);

// Where the objects are drawn: the picture without its margins, in pixels.
export const plotArea = ({ width, height }) => ({
  left: MARGIN.left,
  right: width - MARGIN.right,
  top: MARGIN.top,
  bottom: height - MARGIN.bottom,
});

// Functions from coordinates to pixels.
export function pixelScales(view, size) {
  const area = plotArea(size);
  const [xLow, xHigh] = view.x;
  const [yLow, yHigh] = view.y;
  return {
    toPixelX: (x) => area.left + ((x - xLow) / (xHigh - xLow)) * (area.right - area.left),
    toPixelY: (y) => area.bottom - ((y - yLow) / (yHigh - yLow)) * (area.bottom - area.top),
  };
}

// The coordinates of a point given in pixels.
export function fromPixels(view, size, point) {
  const area = plotArea(size);
  const right = (point.x - area.left) / (area.right - area.left);
  const up = (area.bottom - point.y) / (area.bottom - area.top);
  return {
    x: view.x[0] + right * (view.x[1] - view.x[0]),
    y: view.y[0] + up * (view.y[1] - view.y[0]),
  };
}

// Where all objects are in the picture, in pixels.
export const pixels = memoize(
  (state) => ({ ...coordinates(state), view: currentView(state), size: state.size }),
  ({ x, y, view, size }) => {
    const { toPixelX, toPixelY } = pixelScales(view, size);
    return { x: x.map(toPixelX), y: y.map(toPixelY) };
  },
);

export function pixelOf(state, i) {
  const { x, y } = pixels(state);
  return { x: x[i], y: y[i] };
}
