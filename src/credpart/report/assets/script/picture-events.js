// The picture by pointer and by keyboard.

import {
  choose,
  endPress,
  objectAt,
  point,
  pointInDirection,
  showAll,
  zoomBy,
  zoomToRectangle,
} from "./actions.js";
import { byId } from "./dom.js";
import { pictureSize } from "./picture.js";

const DRAG_DISTANCE = 8; // pixels: a shorter way is a click with an unsteady hand
const ZOOM_STEP = 0.7;

export function listenToPicture(store) {
  listenToControls(store);
  listenToPointer(store);
  byId("scatter").addEventListener("keydown", (event) => handlePictureKey(store, event));
  byId("scatter").addEventListener("blur", () => store.update(point(null)));
  const resized = () => store.update({ size: pictureSize() });
  new ResizeObserver(resized).observe(byId("scatter"));
}

function listenToControls(store) {
  const onChange = (id, changes) =>
    byId(id).addEventListener("change", (event) => store.update(changes(event.target)));
  onChange("x-axis", ({ value }) => ({ xAxis: Number(value), ...showAll() }));
  onChange("y-axis", ({ value }) => ({ yAxis: Number(value), ...showAll() }));
  onChange("colour", ({ value }) => ({ colouring: value }));
  onChange("ellipses", ({ checked }) => ({ showsEllipses: checked }));
  byId("reset").addEventListener("click", () => store.update(showAll()));
}

function listenToPointer(store) {
  const canvas = byId("scatter");
  const placeOf = (event) => ({ x: event.offsetX, y: event.offsetY });
  canvas.addEventListener("pointerdown", (event) => store.update({ press: placeOf(event) }));
  canvas.addEventListener("pointermove", (event) => {
    const from = store.state.press;
    const to = placeOf(event);
    const isDrag =
      from !== null &&
      event.pointerType === "mouse" &&
      Math.hypot(to.x - from.x, to.y - from.y) > DRAG_DISTANCE;
    store.update(
      isDrag ? { drag: { from, to }, showsTip: false } : point(objectAt(store.state, to)),
    );
  });
  canvas.addEventListener("pointerup", (event) => {
    const { state } = store;
    const changes = state.drag
      ? zoomToRectangle(state, state.drag)
      : chooseIfAny(state, objectAt(state, placeOf(event)));
    store.update({ ...endPress(), ...changes });
  });
  canvas.addEventListener("pointerleave", () => store.update({ ...endPress(), ...point(null) }));
}

const chooseIfAny = (state, i) => (i === null ? {} : choose(state, i));

const choosePointed = (state) => chooseIfAny(state, state.pointed);

const KEYS = {
  ArrowLeft: (state) => pointInDirection(state, -1, 0),
  ArrowRight: (state) => pointInDirection(state, 1, 0),
  ArrowUp: (state) => pointInDirection(state, 0, -1),
  ArrowDown: (state) => pointInDirection(state, 0, 1),
  Enter: choosePointed,
  " ": choosePointed,
  Escape: () => point(null),
  "+": (state) => zoomBy(state, ZOOM_STEP),
  "=": (state) => zoomBy(state, ZOOM_STEP),
  "-": (state) => zoomBy(state, 1 / ZOOM_STEP),
  0: showAll,
};

function handlePictureKey(store, event) {
  if (!Object.hasOwn(KEYS, event.key) || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  event.preventDefault();
  store.update(KEYS[event.key](store.state));
}
