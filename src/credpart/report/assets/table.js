// The table of objects: only the rows in view are in the page.

const ROW = 34; // pixels, as in the style
const PRINTED = 40;
const table = { rows: null, sort: "ambiguity", down: true, active: null };

const COLUMNS = {
  object: { text: true, head: "Object", of: (i) => about.ids[i] },
  class: { text: true, head: "Class", of: (i) => about.classes[data.classes[i]] },
  cluster: { text: true, head: "Cluster", of: (i) => about.clusters[data.labels[i]], by: (i) => data.labels[i] },
  set: { text: true, head: "Set", of: (i) => about.sets[data.sets[i]], by: (i) => data.sets[i] },
  ambiguity: { head: "Ambiguity", by: (i) => data.scores.ambiguity[i] },
  belief: { head: "Belief", by: (i) => data.scores.belief[i] },
  plausibility: { head: "Plausibility", by: (i) => data.scores.plausibility[i] },
};

function startTable() {
  if (!about.classes.length) delete COLUMNS.class;
  const heads = document.getElementById("heads");
  for (const [name, column] of Object.entries(COLUMNS)) {
    const button = element("button", { type: "button" }, column.head);
    button.addEventListener("click", () => {
      table.down = table.sort === name ? !table.down : !column.text;
      table.sort = name;
      arrange();
    });
    heads.append(element("th", { scope: "col", class: column.text ? "text" : "", "data-column": name }, button));
  }
  const filter = document.getElementById("set-filter");
  const option = (value, text) => filter.append(element("option", { value }, text));
  option("all", "all");
  option("certain", "in one cluster");
  option("several", "between clusters");
  const used = new Set(data.sets);
  about.sets.forEach((name, set) => used.has(set) && option(set, name));
  filter.addEventListener("change", arrange);
  document.getElementById("search").addEventListener("input", arrange);
  document.getElementById("rows").addEventListener("scroll", drawRows);
  document.getElementById("rows").addEventListener("keydown", walk);
  arrange();
}

const FILTERS = {
  all: () => true,
  certain: (i) => !isSeveral(data.sets[i]),
  several: (i) => isSeveral(data.sets[i]),
};

function arrange() {
  const words = document.getElementById("search").value.trim().toLowerCase();
  const value = document.getElementById("set-filter").value;
  const inSet = FILTERS[value] || ((i) => data.sets[i] === Number(value));
  const found = (i) => !words || about.ids[i].toLowerCase().includes(words) || (data.classes && about.classes[data.classes[i]].toLowerCase().includes(words));
  const rows = [];
  for (const i of data.order) if (inSet(i) && found(i)) rows.push(i); // so equals stay by ambiguity
  const { by, of } = COLUMNS[table.sort], sign = table.down ? -1 : 1;
  const compare = by ? (a, b) => by(a) - by(b) : ((collator) => (a, b) => collator.compare(of(a), of(b)))(new Intl.Collator("en", { numeric: true }));
  rows.sort((a, b) => sign * compare(a, b));
  table.rows = rows;
  table.active = null;
  data.shown = null;
  if (rows.length < data.n) {
    data.shown = new Uint8Array(data.n);
    rows.forEach((i) => { data.shown[i] = 1; });
  }
  for (const head of document.querySelectorAll("#heads th")) {
    const active = head.dataset.column === table.sort;
    head.setAttribute("aria-sort", active ? (table.down ? "descending" : "ascending") : "none");
    head.firstChild.textContent = COLUMNS[head.dataset.column].head + (active ? (table.down ? " ▼" : " ▲") : "");
  }
  document.getElementById("rows").scrollTop = 0;
  drawRows();
  drawScatter();
}

// One stop of the Tab key for all rows; within them the arrow keys move, and Enter chooses.
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

function walk(event) {
  if (event.target.closest("thead") || !table.rows.length) return;
  if (event.key === "Enter" && table.active !== null && !event.target.closest("button")) {
    choose(table.rows[table.active]);
  } else if (event.key in STEPS) {
    const from = table.active === null ? Math.min(0, -STEPS[event.key]) : table.active;
    table.active = Math.max(0, Math.min(table.rows.length - 1, from + STEPS[event.key]));
    const box = document.getElementById("rows"), top = table.active * ROW;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + 2 * ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * ROW - box.clientHeight;
    drawRows();
    tell(table.rows[table.active]);
  } else return;
  event.preventDefault();
}

function drawRows() {
  const box = document.getElementById("rows"), { rows } = table;
  if (!rows) return;
  const first = data.printing ? 0 : Math.max(0, Math.floor(box.scrollTop / ROW) - 10);
  const last = Math.min(rows.length, data.printing ? PRINTED : first + 40);
  const lines = rows.slice(first, last).map((i, k) => rowOf(i, first + k));
  const above = gap(first * ROW), below = gap(data.printing ? 0 : (rows.length - last) * ROW);
  const body = document.getElementById("body");
  if (body.contains(document.activeElement)) box.focus({ preventScroll: true });
  body.replaceChildren(above, ...lines, below);
  body.parentElement.setAttribute("aria-rowcount", rows.length + 1);
  const head = data.printing && rows.length > PRINTED ? `the first ${PRINTED} of ` : "";
  const among = rows.length < data.n ? ` of ${data.n.toLocaleString("en")}` : "";
  document.getElementById("count").textContent = `${head}${rows.length.toLocaleString("en")}${among} objects`;
}

function gap(height) {
  const row = element("tr", { class: "gap", "aria-hidden": "true" }, element("td", { colspan: Object.keys(COLUMNS).length }));
  row.style.height = `${height}px`;
  row.hidden = height <= 0;
  return row;
}

function rowOf(i, position) {
  const row = element("tr", { "aria-rowindex": position + 2, "data-row": i });
  if (chosen.includes(i)) row.classList.add("chosen");
  if (position === table.active) row.classList.add("active");
  for (const [name, { text, of, by }] of Object.entries(COLUMNS)) {
    if (name !== "object") {
      row.append(element("td", { class: text ? "text" : "" }, of ? of(i) : digits(by(i))));
      continue;
    }
    const button = element("button", { type: "button", tabindex: -1, "data-object": i, title: "Choose this object" }, about.ids[i] || "(no name)");
    button.addEventListener("click", () => choose(i));
    row.append(element("th", { scope: "row" }, button));
  }
  return row;
}
