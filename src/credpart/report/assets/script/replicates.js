// The bootstrap replicates of P_ij, the probability that i and j are in the same cluster, Eq. (4).

const WHOLE = 65535; // what a probability of 1 is rounded to, as in payload.py

// P_ij in each stored replicate, in increasing order; null if i or j is not stored.
export function pairReplicates(data, i, j) {
  const posteriorsOfI = posteriorsOf(data, i);
  const posteriorsOfJ = posteriorsOf(data, j);
  if (!posteriorsOfI || !posteriorsOfJ) {
    return null;
  }
  const R = data.stored.replicates;
  const sample = new Float64Array(R);
  for (let k = 0; k < data.c; k++) {
    for (let r = 0; r < R; r++) {
      sample[r] += posteriorsOfI[k * R + r] * posteriorsOfJ[k * R + r];
    }
  }
  return sample.map((p) => Math.min(1, p)).sort();
}

// Posteriors (c, R) of an object; null if they are not stored.
function posteriorsOf(data, i) {
  if (data.natural) {
    return posteriorsFromProducts(data, i);
  }
  const row = data.storedRow.get(i);
  if (row === undefined) {
    return null;
  }
  const size = data.c * data.stored.replicates;
  const unit = data.stored.resolution ? WHOLE : 1;
  const posteriors = data.posteriors.subarray(row * size, (row + 1) * size);
  return Float64Array.from(posteriors, (p) => p / unit);
}

// Posteriors (c, R) where the log joint densities are products of parameters and features.
function posteriorsFromProducts(data, i) {
  const { c, natural, features } = data;
  const R = data.stored.replicates;
  const p = features.length / data.n;
  const posteriors = new Float64Array(c * R);
  const logs = new Float64Array(c);
  for (let r = 0; r < R; r++) {
    for (let k = 0; k < c; k++) {
      logs[k] = 0;
      for (let e = 0; e < p; e++) {
        logs[k] += natural[(r * c + k) * p + e] * features[i * p + e];
      }
    }
    const largest = Math.max(...logs);
    const joint = logs.map((log) => Math.exp(log - largest));
    const total = joint.reduce((sum, density) => sum + density, 0);
    for (let k = 0; k < c; k++) {
      posteriors[k * R + r] = joint[k] / total;
    }
  }
  return posteriors;
}

// The percentile interval.
export function confidenceInterval(sorted, level) {
  const tail = (1 - level) / 2;
  return [quantile(sorted, tail), quantile(sorted, 1 - tail)];
}

// Type 7 of R, as everywhere in credpart.
function quantile(sorted, share) {
  const position = (sorted.length - 1) * share;
  const low = Math.floor(position);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (position - low) * (sorted[high] - sorted[low]);
}

// P_ij of the fitted mixture.
export function fittedProbability(data, i, j) {
  let sum = 0;
  for (let k = 0; k < data.c; k++) {
    sum += data.fitted[i * data.c + k] * data.fitted[j * data.c + k];
  }
  return Math.min(1, sum);
}
