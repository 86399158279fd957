// The table of objects by pointer and by keyboard.

import { choose, filterBy, moveActiveRow, searchFor, sortBy } from "./actions.js";
import { byId } from "./dom.js";
import { tableRows } from "./rows.js";
import { firstRowAt, scrollToRow } from "./table.js";

// Rows that a key moves by.
const STEPS = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

export function listenToTable(store) {
  byId("heads").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) {
      store.update(sortBy(store.state, button.parentElement.dataset.column));
    }
  });
  byId("body").addEventListener("click", (event) => {
    const button = event.target.closest("[data-object]");
    if (button) {
      store.update(choose(store.state, Number(button.dataset.object)));
    }
  });
  byId("search").addEventListener("input", ({ target }) => store.update(searchFor(target.value)));
  byId("set-filter").addEventListener("change", ({ target }) =>
    store.update(filterBy(target.value)),
  );
  const box = byId("rows");
  box.addEventListener("scroll", () => store.update({ firstRow: firstRowAt(box.scrollTop) }));
  box.addEventListener("keydown", (event) => handleTableKey(store, event));
}

// All rows are one stop of the Tab key; within them arrow keys move and Enter chooses.
function handleTableKey(store, event) {
  const { state } = store;
  const rows = tableRows(state);
  if (event.target.closest("thead") || !rows.length) {
    return;
  }
  const isOnButton = event.target.closest("button") !== null;
  if (event.key === "Enter" && state.activeRow !== null && !isOnButton) {
    event.preventDefault();
    store.update(choose(state, rows[state.activeRow]));
  } else if (Object.hasOwn(STEPS, event.key)) {
    event.preventDefault();
    const changes = moveActiveRow(state, STEPS[event.key]);
    scrollToRow(changes.activeRow);
    store.update({ ...changes, firstRow: firstRowAt(byId("rows").scrollTop) });
  }
}
