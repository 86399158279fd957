// Ellipses of the normal components in the plane of two axes: where they lie, and what they hold.

import { isOutlier } from "./evidence.js";
import { memoize } from "./memoize.js";

export const SHARES = [0.5, 0.9]; // of a normal cluster, as in object_maps.py
const NOTABLE = 0.1; // difference between a share of the model and that of the objects

// An axis that is no linear function of the columns has no normal distribution.
export const canHaveEllipses = (data, axes) =>
  data.ellipses !== null && axes.every((axis) => data.axes[axis].weights);

// One shape for each cluster: its centre, and the Cholesky factor [[a, 0], [b, c]] of its
// covariance.
export const clusterShapes = memoize(
  ({ data, xAxis, yAxis }) => ({ data, xAxis, yAxis }),
  ({ data, xAxis, yAxis }) => {
    const axes = [data.axes[xAxis], data.axes[yAxis]];
    return data.ellipses.means.map((mean, cluster) => ({
      centre: axes.map((axis) => dot(axis.weights, mean) - axis.center),
      ...planeFactor(data.ellipses.covariances[cluster], ...axes.map(({ weights }) => weights)),
    }));
  },
);

const dot = (left, right) => left.reduce((sum, value, e) => sum + value * right[e], 0);

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

// The squared Mahalanobis distance in a plane is exponential, which gives the radius.
export const radiusOf = (share) => Math.sqrt(-2 * Math.log(1 - share));

// Lowest and highest coordinates on both axes of the ellipse with a share.
export function extents({ centre: [x, y], a, b, c }, share) {
  const radius = radiusOf(share);
  const [right, up] = [radius * a, radius * Math.hypot(b, c)];
  return { x: [x - right, x + right], y: [y - up, y + up] };
}

// For each cluster of which the ellipses hold another share of the objects than the model says, by
// more than 10 points and more than chance: its number, and the shares of its objects.
export const unexpectedShares = memoize(
  ({ data, x, y, shapes }) => ({ data, x, y, shapes }),
  ({ data, x, y, shapes }) => {
    const squares = shapes.map(() => []);
    for (let i = 0; i < data.n; i++) {
      if (!isOutlier(data, i) && shapes[data.labels[i]]) {
        const square = squaredDistance(shapes[data.labels[i]], x[i], y[i]);
        if (Number.isFinite(square)) {
          squares[data.labels[i]].push(square);
        }
      }
    }
    return squares
      .map((all, cluster) => ({ cluster, n: all.length, held: SHARES.map(shareWithin(all)) }))
      .filter(({ n, held }) => n && held.some((share, k) => isUnexpected(share, SHARES[k], n)));
  },
);

const shareWithin = (squares) => (share) =>
  squares.filter((square) => square <= radiusOf(share) ** 2).length / squares.length;

const isUnexpected = (held, share, n) =>
  Math.abs(held - share) > Math.max(NOTABLE, 2 * Math.sqrt((share * (1 - share)) / n));

function squaredDistance({ centre, a, b, c }, x, y) {
  const u = (x - centre[0]) / a;
  const v = (y - centre[1] - b * u) / c;
  return u * u + v * v;
}
