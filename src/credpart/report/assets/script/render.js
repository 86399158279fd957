// From the state to the page.

import { byId } from "./dom.js";
import { renderLegends } from "./legend.js";
import { memoize } from "./memoize.js";
import { renderAnnouncement } from "./object.js";
import { renderPair } from "./pair.js";
import { buildPicture, drawPicture, renderPictureControls } from "./picture.js";
import { buildTable, renderTable } from "./table.js";
import { isDark } from "./theme.js";
import { renderTip } from "./tip.js";

// Fill in, once, what depends on the data alone.
export function build(data) {
  buildPicture(data);
  buildTable(data);
}

// Return the function that shows a state.  Each part of the page is drawn again only if what it
// depends on has changed.
export function createRender() {
  let latest = null;
  let isAwaitingFrame = false;
  const drawLatest = () => {
    isAwaitingFrame = false;
    drawPicture(latest);
  };
  return (state) => {
    latest = state;
    renderTheme(state);
    renderPictureControls(state);
    renderLegends(state);
    renderTip(state);
    renderAnnouncement(state);
    renderPair(state);
    renderTable(state);
    if (state.printing) {
      drawPicture(state); // printing does not wait for the next frame
    } else if (!isAwaitingFrame) {
      isAwaitingFrame = true; // several changes before the next frame are drawn once
      requestAnimationFrame(drawLatest);
    }
  };
}

const renderTheme = memoize(
  (state) => ({ theme: state.theme, dark: isDark(state) }),
  ({ theme, dark }) => {
    if (theme !== null) {
      document.documentElement.dataset.theme = theme;
    }
    byId("theme-name").textContent = dark ? "Light" : "Dark";
  },
);
