// The data of the page, unpacked from its two data elements.

import { objectScores } from "./evidence.js";

const ARRAY_TYPES = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, u2: Uint16Array };
// Axes that the masses give: names for the reader, and keys of the scores.
const DOUBT_AXES = [
  { name: "overlap", score: "overlap" },
  { name: "undecided", score: "undecided" },
  { name: "doubt (1 − belief)", score: "doubt" },
];
const TOO_OLD =
  "This browser cannot decompress the data of the page (it has no DecompressionStream). " +
  "Use a version of Chrome, Edge, Firefox or Safari from 2024 or later.";
const DAMAGED =
  "The data of the page cannot be read: the file was changed or not copied completely. " +
  "Copy it or make it again.";

export async function unpack(descriptionText, arraysText) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error(TOO_OLD);
  }
  try {
    const description = JSON.parse(descriptionText);
    const buffer = await decompress(arraysText);
    return dataset(description, arraysFrom(buffer, description.arrays));
  } catch (cause) {
    throw new Error(DAMAGED, { cause });
  }
}

// The buffer of gzipped bytes that are written in base64.
async function decompress(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let k = 0; k < bytes.length; k++) {
    bytes[k] = characters.charCodeAt(k);
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function arraysFrom(buffer, places) {
  const arrays = {};
  for (const [name, { kind, shape, start }] of Object.entries(places)) {
    const length = shape.reduce((product, size) => product * size, 1);
    arrays[name] = new ARRAY_TYPES[kind](buffer, start, length);
  }
  return arrays;
}

function dataset(description, arrays) {
  const data = {
    n: description.ids.length,
    c: description.clusters.length,
    d: description.names.length,
    f: description.sets.length,
    ids: description.ids,
    clusterNames: description.clusters,
    setNames: description.sets,
    members: description.members,
    classNames: description.classes,
    columnNames: description.names,
    words: description.words,
    axes: [...description.axes, ...DOUBT_AXES.map((axis) => ({ ...axis, weights: null }))],
    firstAxes: firstAxes(description.axes.length, description.names.length),
    ellipses: description.ellipses,
    clusterColours: description.colours,
    classColours: description.class_colours,
    symbols: description.symbols,
    level: description.level,
    grade: description.grade,
    stored: description.stored,
    values: arrays.X,
    masses: arrays.masses,
    fitted: arrays.fit,
    labels: arrays.labels,
    setLabels: arrays.sets,
    verdicts: arrays.verdicts,
    classLabels: arrays.classes,
    order: arrays.order,
    posteriors: arrays.posteriors,
    natural: arrays.natural,
    features: arrays.features,
    storedRow: new Map(Array.from(arrays.kept, (i, row) => [i, row])),
    objectNamed: firstByName(description.ids),
  };
  data.scores = objectScores(data);
  return data;
}

// What the picture begins with: principal components if there are any, else the first two columns;
// one column is drawn against the doubt, which lies in its overlaps.
function firstAxes(linear, columns) {
  if (linear > columns) {
    return [columns, columns + 1];
  }
  return columns > 1 ? [0, 1] : [0, linear + DOUBT_AXES.length - 1];
}

function firstByName(ids) {
  const objects = new Map();
  ids.forEach((id, i) => {
    if (!objects.has(asTyped(id))) {
      objects.set(asTyped(id), i);
    }
  });
  return objects;
}

// A name as a text field can hold it: without line breaks, and without spaces around it.
export const asTyped = (name) => name.replace(/[\r\n]/g, "").trim();
