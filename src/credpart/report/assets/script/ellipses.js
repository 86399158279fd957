// Ellipses that hold given shares of a normal cluster in the plane of the axes.

import { clusterShapes, radiusOf, SHARES, unexpectedShares } from "./ellipse-shapes.js";
import { coordinates, pixelScales } from "./projection.js";
import { adapted, themeColours } from "./theme.js";

const LINE_WIDTHS = [1.2, 1.8]; // of the shares
const HALO = 2.4; // pixels by which the ground of a line is wider, so that objects do not hide it
const STEPS = 72; // points of an ellipse
const MOST_TOLD = 4; // clusters of which the legend says what their ellipses hold

// What they mean in the legend of a colouring; where colours do not tell the clusters, names do.
// If they hold other shares of the objects, that stands beside it.
export function ellipsesTexts(state, { coloursClusters }) {
  const { data } = state;
  const found = unexpectedShares({ data, ...coordinates(state), shapes: clusterShapes(state) });
  const told = found
    .slice(0, MOST_TOLD)
    .map(({ cluster, held }) => `${data.clusterNames[cluster]}: ${percents(held)} of its objects`);
  const whose = coloursClusters ? "a cluster" : "the cluster named in them";
  const texts = [`ellipses: ${percents(SHARES)} of ${whose}, under the model`];
  if (told.length) {
    texts.push(`but in cluster ${told[0]}`, ...told.slice(1).map((text) => `in cluster ${text}`));
  }
  if (found.length > MOST_TOLD) {
    texts.push(`and other shares in ${found.length - MOST_TOLD} more`);
  }
  return texts;
}

const percents = (shares) => shares.map((share) => `${Math.round(100 * share)} %`).join(" and ");

export function drawEllipses(context, { data, size, view, shapes, colouring, dark }) {
  const { toPixelX, toPixelY } = pixelScales(view, size);
  const { background, secondary } = themeColours(dark);
  shapes.forEach((shape, cluster) => {
    const colour = colouring.coloursClusters
      ? adapted(data.clusterColours[cluster], dark)
      : secondary;
    SHARES.forEach((share, k) => {
      context.beginPath();
      for (const [x, y] of ellipsePoints(shape, share)) {
        context.lineTo(toPixelX(x), toPixelY(y));
      }
      context.strokeStyle = background;
      context.lineWidth = LINE_WIDTHS[k] + HALO;
      context.stroke();
      context.strokeStyle = colour;
      context.lineWidth = LINE_WIDTHS[k];
      context.stroke();
    });
  });
}

function ellipsePoints({ centre: [x, y], a, b, c }, share) {
  const radius = radiusOf(share);
  return Array.from({ length: STEPS + 1 }, (_, k) => {
    const angle = (2 * Math.PI * k) / STEPS;
    const u = radius * Math.cos(angle);
    const v = radius * Math.sin(angle);
    return [x + a * u, y + b * u + c * v];
  });
}
