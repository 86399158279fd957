// What symbols and colours mean: below the picture, and in the table of clusters.

import { COLOURINGS } from "./colourings.js";
import { byId, element } from "./dom.js";
import { memoize } from "./memoize.js";
import { swatch, symbolOf } from "./symbols.js";
import { isDark } from "./theme.js";

export function renderLegends(state) {
  renderPictureLegend(state);
  renderClusterSymbols(state);
}

const renderPictureLegend = memoize(
  (state) => ({ data: state.data, colouring: state.colouring, dark: isDark(state) }),
  ({ data, colouring, dark }) => {
    const entries = COLOURINGS[colouring].legend(data).map((entry) => {
      const image = entry.symbol
        ? [element("span", { class: "swatch" }, swatch(data, entry, dark))]
        : [];
      return element("span", {}, ...image, entry.text);
    });
    byId("legend").replaceChildren(...entries);
  },
);

const renderClusterSymbols = memoize(
  (state) => ({ data: state.data, dark: isDark(state) }),
  ({ data, dark }) => {
    for (const place of document.querySelectorAll("[data-cluster]")) {
      const k = Number(place.dataset.cluster);
      const entry = { symbol: symbolOf(data, k), colour: data.clusterColours[k] };
      place.replaceChildren(swatch(data, entry, dark));
    }
  },
);
