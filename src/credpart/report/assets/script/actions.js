// What the reader can do: functions from a state to the changes of it.

import { asTyped } from "./dataset.js";
import { coordinates, currentView, fromPixels, fullView, pixelOf, pixels } from "./projection.js";
import { COLUMNS, tableRows } from "./rows.js";
import { isDark } from "./theme.js";

const REACH = 14; // pixels around the pointer in which an object is found
const ZOOM_LIMITS = [1e-4, 100]; // of the full range: beyond them digits or objects are lost

// The pair.

export function choose(state, i) {
  const [first, second] = state.chosen;
  if (first === null) {
    return { chosen: [i, second], pairError: "" };
  }
  const completes = second === null && first !== i;
  return { chosen: completes ? [first, i] : [i, null], pairError: "" };
}

// Choose by name the first (k = 0) or the second (k = 1) object; an empty name chooses none.
export function chooseByName(state, k, text) {
  const name = asTyped(text);
  const i = name ? state.data.objectNamed.get(name) : null;
  if (i === undefined) {
    return { pairError: `No object is named “${name}”.` };
  }
  return { chosen: state.chosen.map((old, side) => (side === k ? i : old)), pairError: "" };
}

export const clearChosen = () => ({ chosen: [null, null], pairError: "" });

// The picture.

export const point = (i) =>
  i === null ? { pointed: null, showsTip: false } : { pointed: i, showsTip: true, announced: i };

export const showAll = () => ({ view: null, showsTip: false });

export const endPress = () => ({ press: null, drag: null });

export function zoomToRectangle(state, { from, to }) {
  const view = currentView(state);
  const lowest = { x: Math.min(from.x, to.x), y: Math.max(from.y, to.y) };
  const highest = { x: Math.max(from.x, to.x), y: Math.min(from.y, to.y) };
  const low = fromPixels(view, state.size, lowest);
  const high = fromPixels(view, state.size, highest);
  return zoomTo(state, { x: [low.x, high.x], y: [low.y, high.y] });
}

// Zoom around the object pointed at, or around the middle.
export function zoomBy(state, factor) {
  const view = currentView(state);
  const i = state.pointed;
  const zoomed = (side) => {
    const [low, high] = view[side];
    const centre = i === null ? (low + high) / 2 : coordinates(state)[side][i];
    return [centre - (centre - low) * factor, centre + (high - centre) * factor];
  };
  return { ...zoomTo(state, { x: zoomed("x"), y: zoomed("y") }), showsTip: i !== null };
}

function zoomTo(state, view) {
  const full = fullView(state);
  const isWithinLimits = ["x", "y"].every((side) => {
    const share = (view[side][1] - view[side][0]) / (full[side][1] - full[side][0]);
    return share > ZOOM_LIMITS[0] && share < ZOOM_LIMITS[1];
  });
  return isWithinLimits ? { view } : {};
}

// The object nearest to a point within reach, or null.
export function objectAt(state, { x, y }) {
  const places = pixels(state);
  let nearest = null;
  let least = REACH * REACH;
  for (let i = 0; i < state.data.n; i++) {
    const distance = (places.x[i] - x) ** 2 + (places.y[i] - y) ** 2;
    if (distance < least) {
      nearest = i;
      least = distance;
    }
  }
  return nearest;
}

// Point at the nearest object in a direction; distance across the direction counts double.
export function pointInDirection(state, right, below) {
  if (state.pointed === null) {
    return point(state.data.order[0]);
  }
  const from = pixelOf(state, state.pointed);
  const places = pixels(state);
  let nearest = state.pointed;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < state.data.n; i++) {
    const dx = places.x[i] - from.x;
    const dy = places.y[i] - from.y;
    const along = dx * right + dy * below;
    const across = Math.abs(dx * below) + Math.abs(dy * right);
    if (along > 0 && across <= 2 * along && along + 2 * across < least) {
      nearest = i;
      least = along + 2 * across;
    }
  }
  return point(nearest);
}

// The table.

// Rows in another order or selection are shown from the first one.
const FROM_THE_TOP = { activeRow: null, firstRow: 0 };

// Numbers begin with the largest, text with the first; the sorted column is reversed.
export function sortBy({ sort }, column) {
  const descending = sort.column === column ? !sort.descending : !COLUMNS[column].isText;
  return { sort: { column, descending }, ...FROM_THE_TOP };
}

export const searchFor = (search) => ({ search, ...FROM_THE_TOP });

export const filterBy = (filter) => ({ filter, ...FROM_THE_TOP });

// Move the active row by a number of rows, or by an infinite one to the first or the last row.
// If no row is active yet, a finite step reaches the first row.
export function moveActiveRow(state, step) {
  const rows = tableRows(state);
  const isFirstStep = state.activeRow === null && Number.isFinite(step);
  const target = isFirstStep ? 0 : (state.activeRow ?? 0) + step;
  const activeRow = Math.max(0, Math.min(rows.length - 1, target));
  return { activeRow, announced: rows[activeRow] };
}

// The page.

export const switchTheme = (state) => ({ theme: isDark(state) ? "light" : "dark" });
