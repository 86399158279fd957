// What the colours of the objects can show: one row for each.

import { isBetweenClusters, isOutlier } from "./evidence.js";
import { hasRings, symbolOf } from "./symbols.js";
import { interpolatedColour, meanColour } from "./theme.js";

const GREY = "#767676";
const OUTLIER = "x";
const LEAST_AMBIGUOUS = "#bec4cc";
const MOST_AMBIGUOUS = "#d53c00"; // it differs from the other in lightness too
const AMBIGUITY_STEPS = 8;
const MOST_ENTRIES = 24; // of a legend

// Objects with the same `key` have the same `appearance`: symbol, colour, whether with a ring.
export const COLOURINGS = {
  set: {
    name: "cluster",
    isAvailable: () => true,
    key: (data, i) => data.labels[i] * data.f + data.setLabels[i],
    appearance: (data, i) => ({
      symbol: isOutlier(data, i) ? OUTLIER : symbolOf(data, data.labels[i]),
      colour: setColour(data, data.setLabels[i]),
      isRinged: isBetweenClusters(data, data.setLabels[i]),
    }),
    legend: (data) => [
      ...namedEntries(data, "cluster", data.clusterNames, data.clusterColours),
      ...outlierEntries(data),
    ],
  },
  ambiguity: {
    name: "ambiguity",
    isAvailable: () => true,
    key: (data, i) =>
      data.labels[i] * (AMBIGUITY_STEPS + 1) + ambiguityStep(data.scores.ambiguity[i]),
    appearance: (data, i) => ({
      symbol: symbolOf(data, data.labels[i]),
      colour: ambiguityColour(data.scores.ambiguity[i]),
      isRinged: false,
    }),
    legend: () =>
      [0, 0.5, 1].map((share) => ({
        symbol: "o",
        colour: ambiguityColour(share),
        text: `ambiguity ${share}`,
      })),
  },
  class: {
    name: "known class",
    isAvailable: (data) => data.classNames.length > 0,
    key: (data, i) => 2 * data.classLabels[i] + isBetweenClusters(data, data.setLabels[i]),
    appearance: (data, i) => ({
      symbol: symbolOf(data, data.classLabels[i]),
      colour: data.classColours[data.classLabels[i]],
      isRinged: isBetweenClusters(data, data.setLabels[i]),
    }),
    legend: (data) => namedEntries(data, "class", data.classNames, data.classColours),
  },
};

// The mean of the colours of its clusters; grey for the empty set.
export function setColour(data, set) {
  const members = data.members[set];
  return members.length ? meanColour(members.map((k) => data.clusterColours[k])) : GREY;
}

// An entry for outliers, where there may be any.
const outlierEntries = (data) =>
  data.members.some((members) => !members.length)
    ? [{ symbol: OUTLIER, colour: GREY, text: "outlier" }]
    : [];

const ambiguityStep = (share) => Math.round(AMBIGUITY_STEPS * share);

const ambiguityColour = (share) =>
  interpolatedColour(LEAST_AMBIGUOUS, MOST_AMBIGUOUS, ambiguityStep(share) / AMBIGUITY_STEPS);

function namedEntries(data, kind, names, colours) {
  const entries = names.slice(0, MOST_ENTRIES).map((name, k) => ({
    symbol: symbolOf(data, k),
    colour: colours[k],
    text: `${kind} ${name}`,
  }));
  if (names.length > MOST_ENTRIES) {
    entries.push({ text: `and ${names.length - MOST_ENTRIES} more` });
  }
  const isRinged = hasRings(data);
  const text = isRinged ? "between clusters" : "between clusters: mixed colours";
  return [...entries, { symbol: "o", colour: GREY, text, isRinged }];
}
