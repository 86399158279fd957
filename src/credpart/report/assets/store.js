"use strict";
// The data of the page, and what is computed from them: masses, intervals, quantiles.

const about = JSON.parse(document.getElementById("about").textContent);
const KINDS = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, u2: Uint16Array };
const WHOLE = 65535;
const data = {};

async function unpack() {
  const element = document.getElementById("arrays");
  const text = atob(element.textContent);
  element.textContent = "";
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  for (const [name, { kind, shape, start }] of Object.entries(about.arrays)) {
    const length = shape.reduce((a, b) => a * b, 1);
    data[name] = new KINDS[kind](buffer, start, length);
  }
  data.n = about.ids.length;
  data.f = about.sets.length;
  data.c = about.clusters.length;
  data.d = about.names.length;
  data.place = new Map();
  data.kept.forEach((i, row) => data.place.set(i, row));
  data.row = new Map();
  about.ids.forEach((id, i) => data.row.has(typed(id)) || data.row.set(typed(id), i));
  data.scores = scores();
}

// An id as a field can hold it: without line breaks and spaces around it.
const typed = (id) => id.replace(/[\r\n]/g, "").trim();

const isSeveral = (set) => about.members[set].length !== 1;

function massesOf(i) {
  return data.masses.subarray(i * data.f, (i + 1) * data.f);
}

function bounds(i, cluster) {
  const m = massesOf(i);
  let belief = 0, plausibility = 0;
  about.members.forEach((members, set) => {
    if (!members.includes(cluster)) return;
    plausibility += m[set];
    if (members.length === 1) belief += m[set];
  });
  return [belief, plausibility];
}

// Belief, plausibility, ambiguity of every object: what the table sorts by.
function scores() {
  const { n, f, c } = data;
  const belief = new Float64Array(n), plausibility = new Float64Array(n);
  const ambiguity = new Float64Array(n);
  const single = about.members.map((members) => members.length === 1);
  const holds = about.members.map((members) => {
    const row = new Uint8Array(c);
    members.forEach((k) => { row[k] = 1; });
    return row;
  });
  for (let i = 0; i < n; i++) {
    const k = data.labels[i];
    let largest = 0;
    for (let s = 0; s < f; s++) {
      const mass = data.masses[i * f + s];
      if (mass === 0) continue;
      if (single[s] && mass > largest) largest = mass;
      if (!holds[s][k]) continue;
      plausibility[i] += mass;
      if (single[s]) belief[i] += mass;
    }
    ambiguity[i] = Math.max(0, 1 - largest);
  }
  return { belief, plausibility, ambiguity };
}

// Belief and plausibility of "i and j are in the same cluster", Eq. (3).
function pairBounds(i, j) {
  const a = massesOf(i), b = massesOf(j);
  let belief = 0, plausibility = 0;
  about.members.forEach((left, s) => {
    if (a[s] === 0) return;
    about.members.forEach((right, t) => {
      if (b[t] === 0 || !left.some((k) => right.includes(k))) return;
      plausibility += a[s] * b[t];
      if (s === t && left.length === 1) belief += a[s] * b[t];
    });
  });
  return [belief, Math.min(1, plausibility)];
}

// Posteriors (cluster by cluster) of an object in the stored replicates; null if there are none.
function posteriorsOf(i) {
  if (data.natural) return fromProducts(i);
  const row = data.place.get(i), size = data.c * about.stored.replicates;
  if (row === undefined) return null;
  const unit = about.stored.resolution ? WHOLE : 1;
  return Float64Array.from(data.posteriors.subarray(row * size, (row + 1) * size), (p) => p / unit);
}

// The log joint density of each replicate and cluster is a product of parameters and features.
function fromProducts(i) {
  const R = about.stored.replicates, { c } = data, p = data.features.length / data.n;
  const posteriors = new Float64Array(c * R), logs = new Float64Array(c);
  for (let r = 0; r < R; r++) {
    for (let k = 0; k < c; k++) {
      logs[k] = 0;
      const start = (r * c + k) * p;
      for (let e = 0; e < p; e++) logs[k] += data.natural[start + e] * data.features[i * p + e];
    }
    const top = Math.max(...logs);
    let sum = 0;
    for (let k = 0; k < c; k++) sum += logs[k] = Math.exp(logs[k] - top);
    for (let k = 0; k < c; k++) posteriors[k * R + r] = logs[k] / sum;
  }
  return posteriors;
}

// P_ij of Eq. (4) in each stored replicate, in increasing order; null if one is not stored.
function pairSample(i, j) {
  const a = posteriorsOf(i), b = posteriorsOf(j);
  if (!a || !b) return null;
  const R = about.stored.replicates, sample = new Float64Array(R);
  for (let k = 0; k < data.c; k++) {
    for (let r = 0; r < R; r++) sample[r] += a[k * R + r] * b[k * R + r];
  }
  return sample.map((p) => Math.min(1, p)).sort();
}

// R's type 7, as everywhere in credpart.
function quantile(sorted, share) {
  const h = (sorted.length - 1) * share, low = Math.floor(h);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (h - low) * (sorted[high] - sorted[low]);
}

function interval(sorted) {
  const tail = (1 - about.level) / 2;
  return [quantile(sorted, tail), quantile(sorted, 1 - tail)];
}

function fitted(i, j) {
  let sum = 0;
  for (let k = 0; k < data.c; k++) sum += data.fit[i * data.c + k] * data.fit[j * data.c + k];
  return Math.min(1, sum);
}

function coordinate(axis, i) {
  if (!axis.weights) return data.scores.ambiguity[i];
  let sum = -axis.center;
  for (let e = 0; e < data.d; e++) {
    if (axis.weights[e] !== 0) sum += axis.weights[e] * data.X[i * data.d + e];
  }
  // Objects of one category would hide one another.
  return axis.levels ? sum + 0.6 * ((i * (0.618 + 0.137 * about.axes.indexOf(axis))) % 1) - 0.3 : sum;
}
