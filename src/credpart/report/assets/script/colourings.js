// What the colours of the objects can show: one row for each.

import { isOutlier, isSure } from "./evidence.js";
import { hasRings, isHardToTell, symbolOf } from "./symbols.js";
import { interpolatedColour, meanColour } from "./theme.js";

const GREY = "#767676";
const OUTLIER = "x";
const LEAST_DOUBT = "#bec4cc";
const MOST_DOUBT = "#d53c00"; // it differs from the other in lightness too
const DOUBT_STEPS = 8;
// Near those of page.css, and seen on light and dark pages alike.
const WORD_COLOURS = {
  sure: "#b4bdc8",
  overlapping: "#d98200",
  undecided: "#9650c8",
  outlying: "#000000",
};
const MOST_ENTRIES = 24; // of a legend
const MOST_RINGS = 2; // around an object
const NAMES_ENTRY = { text: "numbers or names in the picture: clusters" };

export const OUTLIER_ENTRY = { symbol: OUTLIER, colour: GREY, text: "outlier" };

// Objects with the same `key` have the same `appearance`: symbol, colour, number of rings.
// `showsClusters`: symbols are clusters; `coloursClusters`: colours are, too.
export const COLOURINGS = {
  set: {
    name: "cluster",
    showsClusters: true,
    coloursClusters: true,
    isAvailable: () => true,
    key: (data, i) => 2 * (data.labels[i] * data.f + data.setLabels[i]) + isSure(data, i),
    appearance: (data, i) => ({
      symbol: isOutlier(data, i) ? OUTLIER : symbolOf(data, data.labels[i]),
      colour: setColour(data, data.setLabels[i]),
      rings: ringsOf(data, i),
    }),
    legend: (data) => [
      ...clusterEntries(data),
      ...severalEntries(data, "mixed colour", (set) => setColour(data, set)),
      ...outlierEntries(data),
    ],
  },
  verdict: {
    name: "sure, overlapping or undecided",
    showsClusters: true,
    isAvailable: () => true,
    key: (data, i) => data.labels[i] * data.words.length + data.verdicts[i],
    appearance: (data, i) => ({
      symbol: symbolOf(data, data.labels[i]),
      colour: WORD_COLOURS[data.words[data.verdicts[i]]],
      rings: 0,
    }),
    legend: (data) => [
      ...data.words.map((word) => ({ symbol: "o", colour: WORD_COLOURS[word], text: word })),
      ...symbolEntries(data),
    ],
  },
  doubt: {
    name: "doubt (1 − belief)",
    showsClusters: true,
    isAvailable: () => true,
    key: (data, i) => data.labels[i] * (DOUBT_STEPS + 1) + doubtStep(data.scores.doubt[i]),
    appearance: (data, i) => ({
      symbol: symbolOf(data, data.labels[i]),
      colour: doubtColour(data.scores.doubt[i]),
      rings: 0,
    }),
    legend: (data) => [
      ...[0, 0.5, 1].map((share) => ({
        symbol: "o",
        colour: doubtColour(share),
        text: `doubt ${share}`,
      })),
      ...symbolEntries(data),
    ],
  },
  class: {
    name: "known class",
    showsClusters: false,
    isAvailable: (data) => data.classNames.length > 0,
    key: (data, i) => (MOST_RINGS + 1) * data.classLabels[i] + ringsOf(data, i),
    appearance: (data, i) => ({
      symbol: symbolOf(data, data.classLabels[i]),
      colour: data.classColours[data.classLabels[i]],
      rings: ringsOf(data, i),
    }),
    legend: (data) => [
      ...namedEntries(data, "class", data.classNames, data.classColours),
      ...ringEntries(data),
      ...(hasRings(data) ? severalEntries(data, "", () => GREY) : []),
    ],
  },
};

// The mean of the colours of its clusters; grey for the empty set.
export function setColour(data, set) {
  const members = data.members[set];
  return members.length ? meanColour(members.map((k) => data.clusterColours[k])) : GREY;
}

// Rings around an object: two if most of its mass is on a set of several clusters, else one if it
// is not sure.  Mixed colours alone would not be told by everybody.
function ringsOf(data, i) {
  if (isSure(data, i)) {
    return 0;
  }
  return isOfSeveral(data, data.setLabels[i]) ? MOST_RINGS : 1;
}

const isOfSeveral = (data, set) => data.members[set].length > 1;

// An entry for objects with most mass on a set of several, where there are any.
function severalEntries(data, kind, colourOf) {
  const set = data.setLabels.find((one) => isOfSeveral(data, one));
  if (set === undefined) {
    return [];
  }
  const rings = hasRings(data) ? MOST_RINGS : 0;
  const signs = [kind, rings ? "two rings" : ""].filter((sign) => sign).join(", ");
  const text = `${signs}: most mass on a set of several`;
  return [{ symbol: "o", colour: colourOf(set), text, rings }];
}

// An entry for outliers, where there are any.
const outlierEntries = (data) =>
  data.setLabels.some((set) => !data.members[set].length) ? [OUTLIER_ENTRY] : [];

const doubtStep = (share) => Math.round(DOUBT_STEPS * share);

const doubtColour = (share) =>
  interpolatedColour(LEAST_DOUBT, MOST_DOUBT, doubtStep(share) / DOUBT_STEPS);

// Where the picture has the names of the clusters, a list of colours would only repeat them.
const clusterEntries = (data) =>
  isHardToTell(data)
    ? [NAMES_ENTRY, ...ringEntries(data)]
    : [
        ...namedEntries(data, "cluster", data.clusterNames, data.clusterColours),
        ...ringEntries(data),
      ];

// Symbols of the clusters, where colours mean something else.
const symbolEntries = (data) =>
  isHardToTell(data)
    ? [NAMES_ENTRY]
    : namedEntries(
        data,
        "cluster",
        data.clusterNames,
        data.clusterNames.map(() => GREY),
      );

const ringEntries = (data) => [
  hasRings(data)
    ? { symbol: "o", colour: GREY, text: "not sure", rings: 1 }
    : { text: `too many objects for rings: under Colour choose “${COLOURINGS.verdict.name}”` },
];

function namedEntries(data, kind, names, colours) {
  const entries = names.slice(0, MOST_ENTRIES).map((name, k) => ({
    symbol: symbolOf(data, k),
    colour: colours[k],
    text: `${kind} ${name}`,
  }));
  if (names.length > MOST_ENTRIES) {
    entries.push({ text: `and ${names.length - MOST_ENTRIES} more` });
  }
  return entries;
}
