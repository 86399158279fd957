// What is told of an object under the pointer, of the chosen ones, and of them as a pair.

const chosen = [null, null];
const VISIBLE = 0.0005; // a mass that three digits show
const MOST_MASSES = 6;

function choose(i) {
  if (chosen[0] === null) chosen[0] = i;
  else if (chosen[1] === null && chosen[0] !== i) chosen[1] = i;
  else [chosen[0], chosen[1]] = [i, null];
  showChosen();
}

function showChosen() {
  ["object-a", "object-b"].forEach((id, k) => {
    document.getElementById(id).value = chosen[k] === null ? "" : about.ids[chosen[k]];
  });
  document.getElementById("pair-error").textContent = "";
  const cards = chosen.map((i, k) => i !== null && objectCard(i, "AB"[k])).filter(Boolean);
  document.getElementById("cards").replaceChildren(...cards);
  showInterval();
  drawMarks();
  drawRows();
}

function startChosen() {
  ["object-a", "object-b"].forEach((id, k) => {
    document.getElementById(id).addEventListener("change", (event) => {
      const name = typed(event.target.value);
      const i = data.row.get(name);
      if (name && i === undefined) {
        document.getElementById("pair-error").textContent = `No object is named “${name}”.`;
        return;
      }
      chosen[k] = name ? i : null;
      showChosen();
    });
  });
  document.getElementById("clear").addEventListener("click", () => {
    chosen[0] = chosen[1] = null;
    showChosen();
  });
  showInterval();
}

function heaviest(i) {
  const masses = [...massesOf(i)].map((mass, set) => ({ mass, set }));
  return masses.filter(({ mass }) => mass >= VISIBLE).sort((a, b) => b.mass - a.mass);
}

function massTable(i) {
  const all = heaviest(i), table = element("table", { class: "masses" });
  for (const { mass, set } of all.slice(0, MOST_MASSES)) {
    const svg = drawn("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    svg.append(drawn("rect", { width: 100 * mass, height: 10, fill: shown(setColour(set)) }));
    const bar = element("td", { class: "bar" });
    bar.append(svg);
    table.append(element("tr", { "data-set": about.sets[set] }, element("th", { scope: "row" }, about.sets[set]), bar, element("td", { class: "mass" }, digits(mass))));
  }
  if (all.length > MOST_MASSES) {
    const rest = all.slice(MOST_MASSES).reduce((sum, { mass }) => sum + mass, 0);
    table.append(element("tr", {}, element("th", {}, `${all.length - MOST_MASSES} more`), element("td"), element("td", {}, digits(rest))));
  }
  return table;
}

function lineOf(i) {
  const k = data.labels[i], [belief, plausibility] = bounds(i, k);
  const known = data.classes ? `, class ${about.classes[data.classes[i]]}` : "";
  return `Cluster ${about.clusters[k]}: belief ${digits(belief)}, plausibility ${digits(plausibility)}${known}.`;
}

function objectCard(i, letter) {
  const title = element("h3", {}, element("span", { class: "letter" }, letter), about.ids[i]);
  return element("div", { class: "object" }, title, element("p", { class: "note" }, lineOf(i)), massTable(i));
}

function showTip(i) {
  const tip = document.getElementById("tip"), f = frame();
  const values = about.names.slice(0, 5).map((name, e) => `${name} ${valueOf(i, e)}`);
  const more = about.names.length > 5 ? ", …" : "";
  tip.replaceChildren(element("h3", {}, about.ids[i]), element("p", { class: "note" }, lineOf(i)), massTable(i), element("p", { class: "note" }, values.join(", ") + more));
  tip.dataset.object = i;
  tip.hidden = false;
  const px = across(scatter.at.x[i], f), py = down(scatter.at.y[i], f);
  const left = px + 16 + tip.offsetWidth < f.width ? px + 16 : Math.max(0, px - 16 - tip.offsetWidth);
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(0, Math.min(py - 20, f.height - tip.offsetHeight))}px`;
  tell(i);
}

// To those who hear the page.
function tell(i) {
  const masses = heaviest(i).slice(0, 3).map(({ mass, set }) => `${about.sets[set]} ${digits(mass)}`);
  document.getElementById("told").textContent = `${about.ids[i]}. ${lineOf(i)} Masses: ${masses.join(", ")}.`;
}

function hideTip() {
  document.getElementById("tip").hidden = true;
}

function showInterval() {
  const place = document.getElementById("interval"), [i, j] = chosen;
  if (i === null || j === null) {
    const missing = i === null && j === null ? "Choose two objects" : "Choose a second object";
    place.replaceChildren(element("p", { class: "note" }, `${missing} in the picture, in the table or by name.`));
    return;
  }
  const [belief, plausibility] = pairBounds(i, j), sample = pairSample(i, j);
  const parts = [element("h3", {}, "Are A and B in the same cluster?"), sentence(belief, plausibility)];
  if (sample) parts.push(...pairHistogram(sample, belief, plausibility, fitted(i, j)));
  else parts.push(element("p", { class: "note" }, "The replicates of one of these objects are not stored on this page: only those of the most ambiguous objects are."));
  place.replaceChildren(...parts);
}

function sentence(belief, plausibility) {
  const percent = (p) => `${Math.round(100 * p)}\u00a0%`;
  const words = belief > 0.5 ? "Probably yes" : plausibility < 0.5 ? "Probably not" : "The data do not tell";
  const [low, high] = [percent(belief), percent(plausibility)];
  return element("p", {}, `${words}: ${low === high ? `about ${low}` : `between ${low} and ${high}`}.`);
}

const BINS = 25;

function pairHistogram(sample, belief, plausibility, best) {
  const [lower, upper] = interval(sample), counts = new Array(BINS).fill(0);
  for (const p of sample) counts[Math.min(BINS - 1, Math.floor(p * BINS))]++;
  const svg = drawn("svg", { viewBox: "0 0 340 200", role: "img", "aria-label": "Histogram of the probability over the replicates, with both intervals" });
  const x = (p) => 12 + 316 * p, top = Math.max(...counts);
  counts.forEach((count, k) => {
    const height = (100 * count) / top;
    const bar = drawn("rect", { x: x(k / BINS) + 0.5, y: 110 - height, width: 316 / BINS - 1, height, fill: soft() });
    bar.append(drawn("title", {}, `${count} replicates`));
    svg.append(bar);
  });
  svg.append(drawn("line", { x1: x(best), x2: x(best), y1: 4, y2: 110, stroke: ink(), "stroke-dasharray": "3 3" }));
  svg.append(drawn("line", { x1: x(0), x2: x(1), y1: 110, y2: 110, stroke: soft() }));
  for (const p of [0, 0.25, 0.5, 0.75, 1]) svg.append(drawn("text", { x: x(p), y: 124, "text-anchor": p === 0 ? "start" : p === 1 ? "end" : "middle" }, String(p)));
  const rows = [[`${Math.round(1e6 * about.level) / 1e4} % confidence interval`, lower, upper, "#0072B2"], ["belief to plausibility", belief, plausibility, "#D55E00"]];
  rows.forEach(([name, low, high, colour], k) => {
    const y = 146 + 32 * k;
    svg.append(drawn("rect", { x: x(low) - 1, y: y + 6, width: Math.max(3, x(high) - x(low) + 2), height: 6, fill: shown(colour) }));
    svg.append(drawn("text", { x: 12, y: y }, `${name} [${digits(low)}, ${digits(high)}]`));
  });
  const few = sample.length < about.stored.of;
  const note = `P(same cluster) in ${sample.length.toLocaleString("en")}${few ? ` of ${about.stored.of.toLocaleString("en")}` : ""} replicates; broken line: the fit itself, ${digits(best)}.`;
  const table = element("dl", { class: "hidden", id: "pair-figures" });
  const figures = { lower, upper, belief, plausibility, fit: best };
  for (const [name, value] of Object.entries(figures)) table.append(element("dt", {}, name), element("dd", { "data-figure": name }, String(value)));
  return [svg, element("p", { class: "note" }, note), table];
}
