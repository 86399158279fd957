// Ellipses of the normal components in the plane of two axes: where they lie, and what they hold.

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
// more than 10 points and more than chance: its number, and the shares of its objects.  These count
// by their posterior probabilities: the label alone would cut off where clusters overlap.
export const unexpectedShares = memoize(
  ({ data, x, y, shapes }) => ({ data, x, y, shapes }),
  ({ data, x, y, shapes }) =>
    shapes
      .map((shape, cluster) => ({ cluster, ...heldBy(shape, cluster, data, x, y) }))
      .filter(({ n, held }) => n > 0 && held.some((one, k) => isUnexpected(one, SHARES[k], n))),
);

function heldBy(shape, cluster, { n: count, fitted }, x, y) {
  const columns = fitted.length / count;
  const inside = SHARES.map(() => 0);
  let n = 0;
  for (let i = 0; i < count; i++) {
    const square = squaredDistance(shape, x[i], y[i]);
    if (Number.isFinite(square)) {
      const weight = fitted[i * columns + cluster];
      n += weight;
      for (let k = 0; k < SHARES.length; k++) {
        inside[k] += square <= radiusOf(SHARES[k]) ** 2 ? weight : 0;
      }
    }
  }
  return { n, held: inside.map((sum) => sum / n) };
}

const isUnexpected = (held, share, n) =>
  Math.abs(held - share) > Math.max(NOTABLE, 2 * Math.sqrt((share * (1 - share)) / n));

function squaredDistance({ centre, a, b, c }, x, y) {
  const u = (x - centre[0]) / a;
  const v = (y - centre[1] - b * u) / c;
  return u * u + v * v;
}
