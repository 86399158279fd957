// Ellipses that hold a given share of a normal cluster in the plane of the axes.

import { pixelScales } from "./projection.js";
import { adapted, themeColours } from "./theme.js";

const ELLIPSES = [
  { share: 0.5, lineWidth: 1 },
  { share: 0.9, lineWidth: 1.6 },
];
const STEPS = 72; // points of an ellipse

// What they mean in the legend of a colouring; where colours do not tell the clusters, names do.
export const ellipsesText = ({ coloursClusters }) =>
  `ellipses hold 50 % and 90 % of ${coloursClusters ? "a cluster" : "the cluster named in them"}`;

// An axis that is no linear function of the columns has no normal distribution.
export const canHaveEllipses = (data, axes) =>
  data.ellipses !== null && axes.every((axis) => data.axes[axis].weights);

export function drawEllipses(context, { data, size, view, xAxis, yAxis, colouring, dark }) {
  const { toPixelX, toPixelY } = pixelScales(view, size);
  data.ellipses.means.forEach((mean, cluster) => {
    const centre = [xAxis, yAxis].map((axis) => dot(axis.weights, mean) - axis.center);
    const factor = planeFactor(data.ellipses.covariances[cluster], xAxis.weights, yAxis.weights);
    context.strokeStyle = colouring.coloursClusters
      ? adapted(data.clusterColours[cluster], dark)
      : themeColours(dark).secondary;
    for (const { share, lineWidth } of ELLIPSES) {
      context.lineWidth = lineWidth;
      context.beginPath();
      for (const [x, y] of ellipsePoints(centre, factor, share)) {
        context.lineTo(toPixelX(x), toPixelY(y));
      }
      context.stroke();
    }
  });
}

const dot = (left, right) => left.reduce((sum, value, e) => sum + value * right[e], 0);

// The Cholesky factor [[a, 0], [b, c]] of the covariance of two linear functions of the columns.
function planeFactor(covariance, xWeights, yWeights) {
  const between = (left, right) =>
    dot(
      left,
      covariance.map((row) => dot(right, row)),
    );
  const a = Math.sqrt(between(xWeights, xWeights));
  const b = a ? between(xWeights, yWeights) / a : 0;
  const c = Math.sqrt(Math.max(0, between(yWeights, yWeights) - b * b));
  return { a, b, c };
}

// Points of the ellipse.  The squared Mahalanobis distance in a plane is exponential, which gives
// the radius.
function ellipsePoints([x, y], { a, b, c }, share) {
  const radius = Math.sqrt(-2 * Math.log(1 - share));
  return Array.from({ length: STEPS + 1 }, (_, k) => {
    const angle = (2 * Math.PI * k) / STEPS;
    const u = radius * Math.cos(angle);
    const v = radius * Math.sin(angle);
    return [x + a * u, y + b * u + c * v];
  });
}
