// What is said about one object: its cluster, its masses, its values.

import { setColour } from "./colourings.js";
import { element, note, svgElement, tell } from "./dom.js";
import { clusterBounds, isOutlier, massesOf } from "./evidence.js";
import { shortNumber, threeDecimals } from "./format.js";
import { memoize } from "./memoize.js";
import { adapted } from "./theme.js";

const SMALLEST_SHOWN = 0.0005; // a mass that three decimals show
const MOST_MASSES = 6; // in a table
const MOST_VALUES = 5; // columns in the tip

// The sets with a visible mass, the largest mass first.
function largestMasses(data, i) {
  return Array.from(massesOf(data, i), (mass, set) => ({ mass, set }))
    .filter(({ mass }) => mass >= SMALLEST_SHOWN)
    .sort((left, right) => right.mass - left.mass);
}

export function massTable(data, i, dark) {
  const masses = largestMasses(data, i);
  const table = element("table", { class: "masses" });
  for (const { mass, set } of masses.slice(0, MOST_MASSES)) {
    const name = data.setNames[set];
    table.append(
      element(
        "tr",
        { "data-set": name },
        element("th", { scope: "row" }, name),
        element("td", { class: "bar" }, massBar(mass, adapted(setColour(data, set), dark))),
        element("td", { class: "mass" }, threeDecimals(mass)),
      ),
    );
  }
  const others = masses.slice(MOST_MASSES);
  if (others.length) {
    const total = others.reduce((sum, { mass }) => sum + mass, 0);
    table.append(
      element(
        "tr",
        {},
        element("th", {}, `${others.length} more`),
        element("td"),
        element("td", {}, threeDecimals(total)),
      ),
    );
  }
  return table;
}

function massBar(mass, fill) {
  const frame = { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" };
  return svgElement("svg", frame, svgElement("rect", { width: 100 * mass, height: 10, fill }));
}

export function clusterSentence(data, i) {
  const cluster = data.labels[i];
  const [belief, plausibility] = clusterBounds(data, i, cluster).map(threeDecimals);
  const known = data.classLabels ? `, class ${data.classNames[data.classLabels[i]]}` : "";
  const name = data.clusterNames[cluster];
  if (isOutlier(data, i)) {
    return `An outlier, in no cluster (cluster ${name}: plausibility ${plausibility})${known}.`;
  }
  const named = `${name}, ${data.words[data.verdicts[i]]}`;
  return `Cluster ${named}: belief ${belief}, plausibility ${plausibility}${known}.`;
}

export function valuesText(data, i) {
  const values = data.columnNames.slice(0, MOST_VALUES).map((name, e) => {
    const value = data.values[i * data.d + e];
    const { levels } = data.axes[e];
    return `${name} ${levels ? (levels[value] ?? "missing") : shortNumber(value)}`;
  });
  return values.join(", ") + (data.columnNames.length > MOST_VALUES ? ", …" : "");
}

export function objectCard(data, i, letter, dark) {
  const title = element("h3", {}, element("span", { class: "letter" }, letter), data.ids[i]);
  return element(
    "div",
    { class: "object" },
    title,
    note(clusterSentence(data, i)),
    massTable(data, i, dark),
  );
}

// For those who use a screen reader: one sentence on the object that was reached.
export const renderAnnouncement = memoize(
  ({ data, announced }) => ({ data, announced }),
  ({ data, announced }) => {
    if (announced !== null) {
      tell(`${data.ids[announced]}: ${inClause(clusterSentence(data, announced))}`);
    }
  },
);

const inClause = (sentence) => sentence[0].toLowerCase() + sentence.slice(1);
