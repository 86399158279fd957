// Belief and plausibility from the masses of the objects.
//
// `data.members[s]` lists the clusters of the focal set s.

export const isSure = (data, i) => data.words[data.verdicts[i]] === "sure";

// The set of most mass is the empty one: the object belongs to no cluster.
export const isOutlier = (data, i) => data.members[data.setLabels[i]].length === 0;

export const massesOf = (data, i) => data.masses.subarray(i * data.f, (i + 1) * data.f);

// Belief and plausibility that an object is in a cluster.
export function clusterBounds(data, i, cluster) {
  const masses = massesOf(data, i);
  let belief = 0;
  let plausibility = 0;
  data.members.forEach((members, set) => {
    if (!members.includes(cluster)) {
      return;
    }
    plausibility += masses[set];
    if (members.length === 1) {
      belief += masses[set];
    }
  });
  return [belief, plausibility];
}

// Of every object: belief and plausibility of its own cluster, the other parts of its mass, and the
// doubt: what the belief lacks to 1.
export function objectScores(data) {
  const { n, f, labels } = data;
  const belief = new Float64Array(n);
  const plausibility = new Float64Array(n);
  const overlap = new Float64Array(n);
  const undecided = new Float64Array(n);
  const outlying = new Float64Array(n);
  const sizes = data.members.map((members) => members.length);
  const contains = data.members.map((members) => {
    const row = new Uint8Array(data.c);
    for (const cluster of members) {
      row[cluster] = 1;
    }
    return row;
  });
  for (let i = 0; i < n; i++) {
    for (let set = 0; set < f; set++) {
      const mass = data.masses[i * f + set];
      const isOwn = contains[set][labels[i]];
      plausibility[i] += isOwn ? mass : 0;
      if (sizes[set] === 0) {
        outlying[i] += mass;
      } else if (sizes[set] > 1) {
        undecided[i] += mass;
      } else {
        (isOwn ? belief : overlap)[i] += mass;
      }
    }
  }
  const doubt = belief.map((mass) => Math.max(0, 1 - mass));
  return { belief, plausibility, overlap, undecided, outlying, doubt };
}

// Belief and plausibility that i and j are in the same cluster, Eq. (3).
export function pairBounds(data, i, j) {
  const massesOfI = massesOf(data, i);
  const massesOfJ = massesOf(data, j);
  let belief = 0;
  let plausibility = 0;
  data.members.forEach((setOfI, s) => {
    if (massesOfI[s] === 0) {
      return;
    }
    data.members.forEach((setOfJ, t) => {
      const mass = massesOfI[s] * massesOfJ[t];
      if (mass === 0 || !setOfI.some((cluster) => setOfJ.includes(cluster))) {
        return;
      }
      plausibility += mass;
      if (s === t && setOfI.length === 1) {
        belief += mass;
      }
    });
  });
  return [belief, Math.min(1, plausibility)];
}
