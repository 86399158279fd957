// The rows of the table of objects: its columns, filters, and order.

import { isOutlier } from "./evidence.js";
import { threeDecimals } from "./format.js";
import { memoize } from "./memoize.js";

const className = (data, i) => data.classNames[data.classLabels[i]];

// `text` is what a cell shows.  Rows are sorted by the number `value`, or else by the text.
export const COLUMNS = {
  object: textColumn("Object", (data, i) => data.ids[i]),
  class: {
    ...textColumn("Class", className),
    isAvailable: (data) => data.classNames.length > 0,
  },
  cluster: {
    ...textColumn("Cluster", (data, i) =>
      isOutlier(data, i) ? "none" : data.clusterNames[data.labels[i]],
    ),
    value: (data, i) => (isOutlier(data, i) ? data.c : data.labels[i]),
  },
  verdict: {
    ...textColumn("Verdict", (data, i) => data.words[data.verdicts[i]]),
    value: (data, i) => data.verdicts[i],
  },
  belief: numberColumn("Belief", (data, i) => data.scores.belief[i]),
  overlap: numberColumn("Overlap", (data, i) => data.scores.overlap[i]),
  undecided: numberColumn("Undecided", (data, i) => data.scores.undecided[i]),
  outlying: {
    ...numberColumn("Outlying", (data, i) => data.scores.outlying[i]),
    isAvailable: (data) => data.words.includes("outlying"),
  },
  plausibility: numberColumn("Plausibility", (data, i) => data.scores.plausibility[i]),
  set: {
    ...textColumn("Set", (data, i) => data.setNames[data.setLabels[i]]),
    value: (data, i) => data.setLabels[i],
  },
};

function textColumn(head, text) {
  return { head, isText: true, isAvailable: () => true, text, value: null };
}

function numberColumn(head, value) {
  const text = (data, i) => threeDecimals(value(data, i));
  return { head, isText: false, isAvailable: () => true, text, value };
}

export const columnsOf = (data) =>
  Object.entries(COLUMNS).filter(([, column]) => column.isAvailable(data));

// Filters by word, beside one for each set: "all", a word, or the index of a set as text.
export const filtersOf = (data) => ["all", ...data.words];

// The objects of the table, in its order.
export const tableRows = memoize(
  ({ data, filter, search, sort }) => ({ data, filter, search, sort }),
  ({ data, filter, search, sort: { column, descending } }) => {
    const isInSet = setFilter(data, filter);
    const isFound = searchFilter(data, search);
    const sign = descending ? -1 : 1;
    const compare = comparison(data, COLUMNS[column]);
    // Sorting is stable: of rows that compare equal the least sure comes first.
    return Array.from(data.order)
      .filter((i) => isInSet(i) && isFound(i))
      .sort((i, j) => sign * compare(i, j));
  },
);

function setFilter(data, filter) {
  if (filter === "all") {
    return () => true;
  }
  if (data.words.includes(filter)) {
    return (i) => data.words[data.verdicts[i]] === filter;
  }
  return (i) => data.setLabels[i] === Number(filter);
}

function searchFilter(data, search) {
  const words = search.trim().toLowerCase();
  const matches = (text) => text.toLowerCase().includes(words);
  return (i) => matches(data.ids[i]) || (data.classLabels && matches(className(data, i)));
}

function comparison(data, { text, value }) {
  if (value) {
    return (i, j) => value(data, i) - value(data, j);
  }
  const collator = new Intl.Collator("en", { numeric: true });
  return (i, j) => collator.compare(text(data, i), text(data, j));
}

// A flag for each object, whether it is in the table; null if all are.
export const inTable = memoize(
  (state) => ({ data: state.data, rows: tableRows(state) }),
  ({ data, rows }) => {
    if (rows.length === data.n) {
      return null;
    }
    const flags = new Uint8Array(data.n);
    for (const i of rows) {
      flags[i] = 1;
    }
    return flags;
  },
);
