// The chosen objects, and whether they are in the same cluster.

import { byId, element, note, svgElement, tell } from "./dom.js";
import { pairBounds } from "./evidence.js";
import { threeDecimals, withThousands } from "./format.js";
import { memoize } from "./memoize.js";
import { objectCard } from "./object.js";
import { confidenceInterval, fittedProbability, pairReplicates } from "./replicates.js";
import { isDark, themeColours } from "./theme.js";

export const FIELDS = ["object-a", "object-b"];
export const PAIR_LETTERS = ["A", "B"];

const NOT_STORED =
  "The replicates of one of these objects are not stored on this page: " +
  "only those of the least sure objects are.";

// The histogram, in units of its drawing.
const BINS = 25;
const LEFT = 12;
const WIDTH = 316;
const BASELINE = 110;
const HIGHEST_BAR = 100;

const SHORT = 0.1; // length of an interval below which a probability is called known
const TO_BE_QUOTED =
  "Quote the confidence interval: belief to plausibility is what the masses say of it.";
const NOT_TRUSTED = "The verdict above says not to trust the level of this interval.";

export function renderPair(state) {
  renderFields(state);
  renderError(state);
  renderCards(state);
  renderAnswer(state);
  announceAnswer(state);
}

const renderFields = memoize(
  ({ data, chosen }) => ({ data, chosen }),
  ({ data, chosen }) => {
    chosen.forEach((i, k) => {
      byId(FIELDS[k]).value = i === null ? "" : data.ids[i];
    });
  },
);

const renderError = memoize(
  ({ pairError }) => ({ pairError }),
  ({ pairError }) => {
    byId("pair-error").textContent = pairError;
  },
);

const renderCards = memoize(
  (state) => ({ data: state.data, chosen: state.chosen, dark: isDark(state) }),
  ({ data, chosen, dark }) => {
    const cards = chosen.map((i, k) => i !== null && objectCard(data, i, PAIR_LETTERS[k], dark));
    byId("cards").replaceChildren(...cards.filter(Boolean));
  },
);

const renderAnswer = memoize(
  (state) => ({ data: state.data, chosen: state.chosen, dark: isDark(state) }),
  ({ data, chosen, dark }) => {
    const missing = chosen.filter((i) => i === null).length;
    const parts = missing ? [invitation(missing)] : answer(data, ...chosen, dark);
    byId("interval").replaceChildren(...parts);
  },
);

const announceAnswer = memoize(
  ({ data, chosen }) => ({ data, chosen }),
  ({ data, chosen: [i, j] }) => {
    if (i !== null && j !== null) {
      const question = `Are ${data.ids[i]} and ${data.ids[j]} in the same cluster`;
      tell(`${question}? ${verdictSentence(data, i, j)}`);
    }
  },
);

function invitation(missing) {
  const request = missing === 2 ? "Choose two objects" : "Choose a second object";
  return note(`${request} in the picture, in the table or by name.`);
}

function answer(data, i, j, dark) {
  const [belief, plausibility] = pairBounds(data, i, j);
  const question = element("h3", {}, "Are A and B in the same cluster?");
  const verdict = element("p", {}, verdictSentence(data, i, j));
  const sample = pairReplicates(data, i, j);
  if (!sample) {
    return [question, verdict, note(NOT_STORED)];
  }
  const [lower, upper] = confidenceInterval(sample, data.level);
  const figures = { lower, upper, belief, plausibility, fit: fittedProbability(data, i, j) };
  return [
    question,
    verdict,
    pairChart(sample, figures, confidenceName(data), dark),
    note(`${replicatesSentence(sample.length, data.stored.of, figures.fit)} ${usage(data)}`),
    figureList(figures),
  ];
}

// The confidence interval in words; where replicates are not stored, belief and plausibility, which
// approximate it.
function verdictSentence(data, i, j) {
  const sample = pairReplicates(data, i, j);
  const [lower, upper] = sample ? confidenceInterval(sample, data.level) : pairBounds(data, i, j);
  const basis = sample ? confidenceName(data) : "belief to plausibility";
  const percent = (p) => `${Math.round(100 * p)}\u00a0%`;
  const [low, high] = [percent(lower), percent(upper)];
  const range = low === high ? `about ${low}` : `between ${low} and ${high}`;
  return `${verdictWords(lower, upper)}: ${range} (${basis}).`;
}

const isTrusted = (data) => data.grade !== "poor";

const usage = (data) => (isTrusted(data) ? TO_BE_QUOTED : NOT_TRUSTED);

// Where the verdict does not trust the level, it is only what was asked for.
function confidenceName(data) {
  const level = `${Math.round(1e6 * data.level) / 1e4} %`;
  return isTrusted(data) ? `${level} confidence` : `nominal ${level}`;
}

function verdictWords(lower, upper) {
  if (lower > 0.5) {
    return "Probably yes";
  }
  if (upper < 0.5) {
    return "Probably not";
  }
  return upper - lower < SHORT ? "About even, and known" : "The data do not tell";
}

function replicatesSentence(count, all, fit) {
  const share = count < all ? ` of ${withThousands(all)}` : "";
  return (
    `P(same cluster) in ${withThousands(count)}${share} replicates; ` +
    `broken line: the fit itself, ${threeDecimals(fit)}.`
  );
}

// All digits, hidden from sight, for screen readers and programs.
function figureList(figures) {
  const items = Object.entries(figures).flatMap(([name, value]) => [
    element("dt", {}, name),
    element("dd", { "data-figure": name }, String(value)),
  ]);
  return element("dl", { class: "hidden", id: "pair-figures" }, ...items);
}

const toX = (p) => LEFT + WIDTH * p;

// The two intervals are grey: colours are those of clusters.
function pairChart(sample, { lower, upper, belief, plausibility, fit }, confidence, dark) {
  const { secondary, faint } = themeColours(dark);
  return svgElement(
    "svg",
    {
      viewBox: "0 0 340 200",
      role: "img",
      "aria-label": "Histogram of the probability over the replicates, with both intervals",
    },
    ...histogramBars(sample, secondary),
    ...histogramAxis(fit, themeColours(dark)),
    ...intervalBar(146, `${confidence} interval`, lower, upper, secondary),
    ...intervalBar(178, "masses: belief to plausibility", belief, plausibility, faint),
  );
}

function histogramBars(sample, fill) {
  const counts = new Array(BINS).fill(0);
  for (const p of sample) {
    counts[Math.min(BINS - 1, Math.floor(p * BINS))] += 1;
  }
  const largest = Math.max(...counts);
  return counts.map((count, k) => {
    const height = (HIGHEST_BAR * count) / largest;
    const place = { x: toX(k / BINS) + 0.5, y: BASELINE - height };
    const size = { width: WIDTH / BINS - 1, height };
    const title = svgElement("title", {}, `${count} replicates`);
    return svgElement("rect", { ...place, ...size, fill }, title);
  });
}

function histogramAxis(fit, { text, secondary }) {
  const fitPlace = { x1: toX(fit), x2: toX(fit), y1: 4, y2: BASELINE };
  const axisPlace = { x1: toX(0), x2: toX(1), y1: BASELINE, y2: BASELINE };
  const anchors = { 0: "start", 1: "end" };
  return [
    svgElement("line", { ...fitPlace, stroke: text, "stroke-dasharray": "3 3" }),
    svgElement("line", { ...axisPlace, stroke: secondary }),
    ...[0, 0.25, 0.5, 0.75, 1].map((p) =>
      svgElement(
        "text",
        { x: toX(p), y: BASELINE + 14, "text-anchor": anchors[p] ?? "middle" },
        String(p),
      ),
    ),
  ];
}

function intervalBar(y, name, low, high, fill) {
  const text = `${name} [${threeDecimals(low)}, ${threeDecimals(high)}]`;
  const width = Math.max(3, toX(high) - toX(low) + 2);
  return [
    svgElement("rect", { x: toX(low) - 1, y: y + 6, width, height: 6, fill }),
    svgElement("text", { x: LEFT, y }, text),
  ];
}
