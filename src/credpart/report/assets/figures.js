// Small things to draw with.  Text enters the page by `textContent` only.

const SVG = "http://www.w3.org/2000/svg";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function drawn(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  if (matchMedia("print").matches || data.printing) return false;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

// Colours of the data on the page's background: lighter where that is dark.
function shown(hex) {
  if (!isDark()) return hex;
  const parts = [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
  const light = (0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2]) / 255;
  const share = light < 0.1 ? 0.85 : light < 0.3 ? 0.4 : 0;
  return `rgb(${parts.map((p) => Math.round(p + share * (255 - p))).join(",")})`;
}

function mixed(members) {
  const parts = [1, 3, 5].map((k) => {
    const sum = members.reduce((a, m) => a + parseInt(about.colours[m].slice(k, k + 2), 16), 0);
    return Math.round(sum / members.length).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

const setColour = (set) => (about.members[set].length ? mixed(about.members[set]) : "#767676");

const ink = () => (isDark() ? "#eceff2" : "#1b1f24");
const soft = () => (isDark() ? "#a9b2bd" : "#565e68");
const faint = () => (isDark() ? "#3a4149" : "#d5d9de");
const paper = () => (isDark() ? "#1b1f24" : "#ffffff");

// Paths of matplotlib's symbols, in a square from -1 to 1.
const polygon = (corners, turn = 0, inner = null) => (pen) => {
  const count = inner ? 2 * corners : corners;
  for (let k = 0; k < count; k++) {
    const angle = turn - Math.PI / 2 + (2 * Math.PI * k) / count;
    const radius = inner && k % 2 ? inner : 1;
    pen.lineTo(radius * Math.cos(angle), radius * Math.sin(angle));
  }
  pen.closePath();
};
const strokes = (turn) => (pen) => {
  for (const angle of [turn, turn + Math.PI / 2]) {
    pen.moveTo(-Math.cos(angle), -Math.sin(angle));
    pen.lineTo(Math.cos(angle), Math.sin(angle));
  }
};
const SYMBOLS = {
  o: (pen) => pen.arc(0, 0, 0.9, 0, 2 * Math.PI),
  "^": polygon(3), v: polygon(3, Math.PI), "<": polygon(3, -Math.PI / 2), ">": polygon(3, Math.PI / 2),
  s: (pen) => pen.rect(-0.8, -0.8, 1.6, 1.6), D: polygon(4), "*": polygon(5, 0, 0.45), p: polygon(5),
  P: (pen) => { pen.rect(-0.3, -0.9, 0.6, 1.8); pen.rect(-0.9, -0.3, 1.8, 0.6); },
  "+": strokes(0), x: strokes(Math.PI / 4),
};
const symbolOf = (code) => about.symbols[code % about.symbols.length];

function stamp(pen, symbol, colour, radius) {
  const open = symbol === "+" || symbol === "x";
  pen.save();
  pen.scale(radius, radius);
  pen.beginPath();
  SYMBOLS[symbol](pen);
  pen.restore();
  if (open) {
    pen.strokeStyle = colour;
    pen.lineWidth = Math.max(1.2, radius / 2.2);
    pen.stroke();
  } else {
    pen.fillStyle = colour;
    pen.fill();
  }
}

function ring(pen, radius) {
  pen.beginPath();
  pen.arc(0, 0, radius, 0, 2 * Math.PI);
  pen.strokeStyle = ink();
  pen.globalAlpha = data.n > 500 ? 0.55 : 0.8;
  pen.lineWidth = data.n > 500 ? 0.8 : 1.2;
  pen.stroke();
}

function key(symbol, colour, ringed = false) {
  const canvas = element("canvas", { width: 36, height: 36, "aria-hidden": "true" });
  const pen = canvas.getContext("2d");
  pen.translate(18, 18);
  pen.scale(2, 2);
  stamp(pen, symbol, shown(colour), ringed ? 3.6 : 5);
  if (ringed) ring(pen, 6.5);
  return element("span", { class: "swatch" }, canvas);
}

function niceTicks(low, high, most) {
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => (high - low) / s <= most);
  const first = Math.ceil(low / step), count = Math.floor((high - low) / step) + 1;
  const ticks = Array.from({ length: count }, (_, k) => (first + k) * step).filter((t) => t <= high);
  return { ticks, text: (t) => tickText(t, step, Math.max(Math.abs(low), Math.abs(high))) };
}

// As many digits as tell a tick from the next; as a power of ten where that is shorter.
function tickText(t, step, largest) {
  const digits = Math.min(15, Math.max(1, Math.ceil(Math.log10(largest / step)) + 1));
  if (t !== 0 && (largest >= 1e9 || largest < 1e-5)) return String(Number(t.toPrecision(digits)).toExponential());
  return Number(t.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 12 });
}

function ticksOf(axis, box, most) {
  if (!axis.levels) return niceTicks(...box, most);
  const ticks = [...axis.levels.keys()].filter((k) => k > box[0] && k < box[1]);
  return { ticks, text: (k) => axis.levels[k].slice(0, 12) };
}

const valueOf = (i, e) => {
  const value = data.X[i * data.d + e], { levels } = about.axes[e];
  return levels ? levels[value] ?? "missing" : short(value);
};
const digits = (value) => value.toFixed(3);
// Four digits, but no digit before the point is lost.
const short = (value) => (!Number.isFinite(value) ? "missing" : String(Math.abs(value) < 1000 || Math.abs(value) >= 1e12 ? Number(value.toPrecision(4)) : Math.round(value)));
