// The box beside the object pointed at.

import { byId, element, note } from "./dom.js";
import { memoize } from "./memoize.js";
import { clusterSentence, massTable, valuesText } from "./object.js";
import { pixelOf } from "./projection.js";
import { isDark } from "./theme.js";

const DISTANCE = 16; // pixels beside the object
const RAISE = 20; // pixels above it

export function renderTip(state) {
  renderContent(state);
  renderPlace(state);
}

const shownObject = ({ pointed, showsTip }) => (showsTip ? pointed : null);

const renderContent = memoize(
  (state) => ({ data: state.data, i: shownObject(state), dark: isDark(state) }),
  ({ data, i, dark }) => {
    const tip = byId("tip");
    tip.hidden = i === null;
    if (i !== null) {
      tip.replaceChildren(
        element("h3", {}, data.ids[i]),
        note(clusterSentence(data, i)),
        massTable(data, i, dark),
        note(valuesText(data, i)),
      );
    }
  },
);

const renderPlace = memoize(
  (state) => {
    const i = shownObject(state);
    const place = i === null ? {} : pixelOf(state, i);
    return { i, ...place, size: state.size };
  },
  ({ i, x, y, size }) => {
    if (i === null) {
      return;
    }
    const tip = byId("tip");
    const right = x + DISTANCE;
    const left = Math.max(0, x - DISTANCE - tip.offsetWidth);
    tip.style.left = `${right + tip.offsetWidth < size.width ? right : left}px`;
    tip.style.top = `${Math.max(0, Math.min(y - RAISE, size.height - tip.offsetHeight))}px`;
  },
);
