// The masses of all objects as CSV: the table that `credpart fit` writes as masses.csv.

import { isOutlier } from "./evidence.js";

// A spreadsheet takes a cell that begins so for a formula, which an apostrophe prevents.
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
const SIGNED_NUMBER = /^[+-](\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const QUOTED = /[",\r\n]/;
const EMPTY = "∅";

export function massesAsCsv(data) {
  const lines = [heads(data)];
  for (let i = 0; i < data.n; i++) {
    lines.push(row(data, i));
  }
  const text = lines.map((cells) => `${cells.map(asCell).join(",")}\n`).join("");
  return new Blob([text], { type: "text/csv;charset=utf-8" });
}

function heads({ setNames, clusterNames, words }) {
  const measures = ["bel", "pl"].flatMap((measure) =>
    clusterNames.map((name) => `${measure}{${name}}`),
  );
  const masses = setNames.map((name) => `m${name}`);
  return ["id", "label", "set_label", ...masses, ...measures, ...parts(words), "verdict"];
}

// The parts of the mass of an object that are told apart.
const parts = (words) => [
  "belief",
  "overlap",
  "undecided",
  ...(words.includes("outlying") ? ["outlying"] : []),
];

function row(data, i) {
  const masses = Array.from(data.masses.subarray(i * data.f, (i + 1) * data.f));
  const belief = new Array(data.c).fill(0);
  const plausibility = new Array(data.c).fill(0);
  data.members.forEach((members, set) => {
    for (const cluster of members) {
      plausibility[cluster] += masses[set];
      belief[cluster] += members.length === 1 ? masses[set] : 0;
    }
  });
  return [
    data.ids[i],
    label(data, i),
    data.setNames[data.setLabels[i]],
    ...masses,
    ...belief,
    ...plausibility,
    ...parts(data.words).map((part) => data.scores[part][i]),
    data.words[data.verdicts[i]],
  ];
}

// Clusters without names have numbers from 1, and there -1 is none of them.
function label(data, i) {
  const isNumbered = data.clusterNames.every((name, k) => name === String(k + 1));
  if (isOutlier(data, i)) {
    return isNumbered ? -1 : EMPTY;
  }
  return isNumbered ? data.labels[i] + 1 : data.clusterNames[data.labels[i]];
}

function asCell(value) {
  if (typeof value === "number") {
    return String(value);
  }
  const isFormula = FORMULA.test(value) && !SIGNED_NUMBER.test(value);
  const text = isFormula ? `'${value}` : value;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
