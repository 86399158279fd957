// What symbols and colours mean: below the picture, and in the table of clusters.

import { COLOURINGS, OUTLIER_ENTRY } from "./colourings.js";
import { byId, element } from "./dom.js";
import { canHaveEllipses } from "./ellipse-shapes.js";
import { ellipsesTexts } from "./ellipses.js";
import { memoize } from "./memoize.js";
import { swatch, symbolOf } from "./symbols.js";
import { isDark } from "./theme.js";

export function renderLegends(state) {
  renderPictureLegend(state);
  renderClusterSymbols(state);
}

// Entries of the legend of the picture.
export const legendEntries = memoize(
  ({ data, colouring, showsEllipses, xAxis, yAxis }) => ({
    data,
    colouring,
    hasEllipses: showsEllipses && canHaveEllipses(data, [xAxis, yAxis]),
    xAxis,
    yAxis,
  }),
  ({ data, colouring, hasEllipses, xAxis, yAxis }) => [
    ...COLOURINGS[colouring].legend(data),
    ...(hasEllipses
      ? ellipsesTexts({ data, xAxis, yAxis }, COLOURINGS[colouring]).map((text) => ({ text }))
      : []),
  ],
);

const renderPictureLegend = memoize(
  (state) => ({ data: state.data, entries: legendEntries(state), dark: isDark(state) }),
  ({ data, entries, dark }) => {
    const shown = entries.map((entry) => {
      const image = entry.symbol
        ? [element("span", { class: "swatch" }, swatch(data, entry, dark))]
        : [];
      return element("span", {}, ...image, entry.text);
    });
    byId("legend").replaceChildren(...shown);
  },
);

const renderClusterSymbols = memoize(
  (state) => ({ data: state.data, dark: isDark(state) }),
  ({ data, dark }) => {
    for (const place of document.querySelectorAll("[data-cluster]")) {
      const { cluster } = place.dataset;
      const k = Number(cluster);
      const entry =
        cluster === "none"
          ? OUTLIER_ENTRY
          : { symbol: symbolOf(data, k), colour: data.clusterColours[k] };
      place.replaceChildren(swatch(data, entry, dark));
    }
  },
);
