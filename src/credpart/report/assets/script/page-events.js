// The fields of the pair, the theme, and printing.

import { chooseByName, clearChosen, switchTheme } from "./actions.js";
import { byId } from "./dom.js";
import { FIELDS } from "./pair.js";
import { onSystemChange, systemState } from "./theme.js";

export function listenToPage(store) {
  FIELDS.forEach((id, k) => {
    byId(id).addEventListener("change", ({ target }) =>
      store.update(chooseByName(store.state, k, target.value)),
    );
  });
  byId("clear").addEventListener("click", () => store.update(clearChosen()));
  byId("theme").addEventListener("click", () => store.update(switchTheme(store.state)));
  onSystemChange(() => store.update(systemState()));
  window.addEventListener("beforeprint", () => store.update({ printing: true }));
  window.addEventListener("afterprint", () => store.update({ printing: false }));
}
