// Files that the reader saves.  They are made in the page: nothing is asked of a network.

import { byId, element } from "./dom.js";
import { massesAsCsv } from "./masses-file.js";
import { pictureAsPng, pictureAsSvg } from "./saved-picture.js";

const LONGEST_STEM = 60; // characters
const KEPT_FOR = 60_000; // milliseconds that the browser has to take the file

const FILES = {
  "save-svg": { ending: "svg", content: pictureAsSvg },
  "save-png": { ending: "png", content: pictureAsPng },
  "save-masses": { ending: "csv", content: ({ data }) => massesAsCsv(data) },
};

export function listenToDownloads(store) {
  for (const [id, { ending, content }] of Object.entries(FILES)) {
    byId(id).addEventListener("click", async () => {
      save(await content(store.state), `${stem(document.title)}.${ending}`);
    });
  }
}

// A title as the name of a file, on every system.
const stem = (title) =>
  title
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-/, "")
    .slice(0, LONGEST_STEM)
    .replace(/-$/, "") || "clustering";

function save(content, name) {
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_FOR);
}
