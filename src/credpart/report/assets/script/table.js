// The table of objects.  Only the rows in view, and some around them, are in the page.

import { byId, element } from "./dom.js";
import { withThousands } from "./format.js";
import { memoize } from "./memoize.js";
import { COLUMNS, columnsOf, filtersOf, tableRows } from "./rows.js";

const ROW_HEIGHT = 34; // pixels, as in page.css
const ROWS_BUILT = 40;
const ROWS_ABOVE = 10; // rows built above those in view
const ROWS_PRINTED = 40;

export function buildTable(data) {
  for (const [name, column] of columnsOf(data)) {
    const attributes = { scope: "col", class: cellClass(column), "data-column": name };
    const button = element("button", { type: "button" }, column.head);
    byId("heads").append(element("th", attributes, button));
  }
  const options = filtersOf(data).map((word) => [word, word]);
  const used = new Set(data.setLabels);
  data.setNames.forEach((name, set) => {
    if (used.has(set)) {
      options.push([set, name]);
    }
  });
  byId("set-filter").append(...options.map(([value, text]) => element("option", { value }, text)));
}

const cellClass = (column) => (column.isText ? "text" : "");

// The first row to build where the table is scrolled to.
export const firstRowAt = (scrollTop) =>
  Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - ROWS_ABOVE);

export function scrollToRow(position) {
  const box = byId("rows");
  const top = position * ROW_HEIGHT;
  const bottom = top + 2 * ROW_HEIGHT; // the head covers one row
  if (top < box.scrollTop) {
    box.scrollTop = top;
  }
  if (bottom > box.scrollTop + box.clientHeight) {
    box.scrollTop = bottom - box.clientHeight;
  }
}

export function renderTable(state) {
  renderControls(state);
  renderHeads(state);
  scrollToTop(state);
  renderRows(state);
  renderCount(state);
}

const renderControls = memoize(
  ({ search, filter }) => ({ search, filter }),
  ({ search, filter }) => {
    byId("search").value = search;
    byId("set-filter").value = filter;
  },
);

const renderHeads = memoize(
  ({ sort }) => ({ sort }),
  ({ sort }) => {
    const [order, arrow] = sort.descending ? ["descending", " ▼"] : ["ascending", " ▲"];
    for (const head of byId("heads").children) {
      const name = head.dataset.column;
      const isSorted = name === sort.column;
      head.setAttribute("aria-sort", isSorted ? order : "none");
      head.firstChild.textContent = COLUMNS[name].head + (isSorted ? arrow : "");
    }
  },
);

const scrollToTop = memoize(
  (state) => ({ rows: tableRows(state) }),
  () => {
    byId("rows").scrollTop = 0;
  },
);

const renderRows = memoize(
  (state) => ({
    data: state.data,
    rows: tableRows(state),
    firstRow: state.firstRow,
    activeRow: state.activeRow,
    chosen: state.chosen,
    printing: state.printing,
  }),
  ({ data, rows, firstRow, activeRow, chosen, printing }) => {
    const first = printing ? 0 : firstRow;
    const last = Math.min(rows.length, first + (printing ? ROWS_PRINTED : ROWS_BUILT));
    const built = rows.slice(first, last).map((i, k) =>
      rowElement(data, i, first + k, {
        isChosen: chosen.includes(i),
        isActive: first + k === activeRow,
      }),
    );
    const span = columnsOf(data).length;
    const below = printing ? 0 : rows.length - last;
    const body = byId("body");
    if (body.contains(document.activeElement)) {
      byId("rows").focus({ preventScroll: true }); // the focused row is about to be replaced
    }
    body.replaceChildren(gap(first, span), ...built, gap(below, span));
    body.parentElement.setAttribute("aria-rowcount", rows.length + 1);
  },
);

// Empty space as high as the rows that are not built.
function gap(rows, span) {
  const row = element("tr", { class: "gap", "aria-hidden": "true" });
  row.append(element("td", { colspan: span }));
  row.style.height = `${rows * ROW_HEIGHT}px`;
  row.hidden = rows === 0;
  return row;
}

function rowElement(data, i, position, { isChosen, isActive }) {
  const row = element("tr", { "aria-rowindex": position + 2, "data-row": i });
  row.classList.toggle("chosen", isChosen);
  row.classList.toggle("active", isActive);
  row.append(
    ...columnsOf(data).map(([name, column]) =>
      name === "object"
        ? element("th", { scope: "row" }, chooseButton(data, i))
        : element("td", { class: cellClass(column) }, column.text(data, i)),
    ),
  );
  return row;
}

function chooseButton(data, i) {
  const attributes = {
    type: "button",
    tabindex: -1, // the table is one stop of the Tab key
    "data-object": i,
    title: "Choose this object",
  };
  return element("button", attributes, data.ids[i] || "(no name)");
}

const renderCount = memoize(
  (state) => ({
    n: state.data.n,
    count: tableRows(state).length,
    printing: state.printing,
  }),
  ({ n, count, printing }) => {
    const part = printing && count > ROWS_PRINTED ? `the first ${ROWS_PRINTED} of ` : "";
    const all = count < n ? ` of ${withThousands(n)}` : "";
    byId("count").textContent = `${part}${withThousands(count)}${all} objects`;
  },
);
