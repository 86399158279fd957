// The start of the page.

import { unpack } from "./dataset.js";
import { byId } from "./dom.js";
import { listenToDownloads } from "./download.js";
import { listenToPage } from "./page-events.js";
import { pictureSize } from "./picture.js";
import { listenToPicture } from "./picture-events.js";
import { pixelOf } from "./projection.js";
import { build, createRender } from "./render.js";
import { createStore, initialState } from "./state.js";
import { listenToTable } from "./table-events.js";
import { systemState } from "./theme.js";

// What `unpack` or a later step throws is not caught here: failure.js listens for it and shows it.
async function start() {
  document.documentElement.dataset.started = "yes"; // failure.js looks for this
  const description = byId("about").textContent;
  const arrays = byId("arrays").textContent;
  byId("arrays").textContent = ""; // many megabytes, not needed any more
  const data = await unpack(description, arrays);
  build(data);
  const browser = { ...systemState(), size: pictureSize() };
  const store = createStore(initialState(data, browser), createRender());
  listenToPicture(store);
  listenToTable(store);
  listenToPage(store);
  listenToDownloads(store);
  store.update({});
  // The only global name, for tests and for the console of the browser.
  window.credpartReport = {
    store,
    pixelOf: (i) => pixelOf(store.state, i),
  };
  requestAnimationFrame(() => {
    document.documentElement.dataset.ready = "yes";
  });
}

start();
