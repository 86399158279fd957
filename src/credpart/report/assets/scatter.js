// The picture of the objects: any two axes, pointing, choosing, zooming.

const scatter = { canvas: null, base: null, at: null, cursor: null, box: null, drag: null, stamps: new Map(), legend: "", awaited: null };
const MARGIN = { left: 58, right: 12, top: 10, bottom: 42 };
const REACH = 14; // pixels around the pointer
const RINGED = 2.5; // smaller symbols have no ring

const axisOf = (id) => scatter.axes[Number(document.getElementById(id).value)];

function startScatter() {
  scatter.canvas = document.getElementById("scatter");
  scatter.base = document.createElement("canvas");
  scatter.axes = [...about.axes, { name: "ambiguity", weights: null }];
  const first = about.axes.length > data.d ? data.d : 0; // principal components, if there are
  for (const [id, chosen] of [["x-axis", first], ["y-axis", first + 1]]) {
    const select = document.getElementById(id);
    scatter.axes.forEach((axis, k) => select.append(element("option", { value: k }, axis.name)));
    select.value = chosen;
    select.addEventListener("change", showAll);
  }
  const colours = [["set", "cluster"], ["ambiguity", "ambiguity"]];
  if (about.classes.length) colours.push(["class", "known class"]);
  const select = document.getElementById("colour");
  colours.forEach(([value, name]) => select.append(element("option", { value }, name)));
  select.addEventListener("change", drawScatter);
  document.getElementById("ellipses").addEventListener("change", drawScatter);
  document.getElementById("ellipses-label").hidden = !about.ellipses;
  document.getElementById("reset").addEventListener("click", showAll);
  listen();
  new ResizeObserver(drawScatter).observe(scatter.canvas);
  showAll();
}

function places() {
  const x = axisOf("x-axis"), y = axisOf("y-axis");
  const at = { x: new Float64Array(data.n), y: new Float64Array(data.n) };
  for (let i = 0; i < data.n; i++) {
    at.x[i] = coordinate(x, i);
    at.y[i] = coordinate(y, i);
  }
  return at;
}

function range(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  const pad = 0.04 * (high - low) || Math.abs(high) * 0.04 || 1;
  return [low - pad, high + pad];
}

function showAll() {
  scatter.at = places();
  scatter.box = { x: range(scatter.at.x), y: range(scatter.at.y) };
  hideTip();
  drawScatter();
}

function frame() {
  const { clientWidth: width, clientHeight: height } = scatter.canvas;
  return { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom, width, height };
}

const across = (v, f = frame()) => f.left + ((v - scatter.box.x[0]) / (scatter.box.x[1] - scatter.box.x[0])) * (f.right - f.left);
const down = (v, f = frame()) => f.bottom - ((v - scatter.box.y[0]) / (scatter.box.y[1] - scatter.box.y[0])) * (f.bottom - f.top);

const sharpness = () => (data.printing ? 3 : window.devicePixelRatio || 1);

function sheet(canvas, f) {
  canvas.width = Math.round(f.width * sharpness());
  canvas.height = Math.round(f.height * sharpness());
  const pen = canvas.getContext("2d");
  pen.scale(sharpness(), sharpness());
  return pen;
}

// Several changes before the next frame are drawn once.
function drawScatter() {
  scatter.awaited ??= requestAnimationFrame(drawNow);
}

function drawNow() {
  const f = frame();
  scatter.awaited = null;
  if (!f.width) return;
  const pen = sheet(scatter.base, f);
  pen.fillStyle = paper();
  pen.fillRect(0, 0, f.width, f.height);
  drawAxes(pen, f);
  pen.save();
  pen.beginPath();
  pen.rect(f.left, f.top, f.right - f.left, f.bottom - f.top);
  pen.clip();
  drawObjects(pen, f);
  if (about.ellipses && document.getElementById("ellipses").checked) drawEllipses(pen, f);
  pen.restore();
  drawLegend();
  drawMarks();
}

// What moves with the pointer is drawn over a copy of what does not.
function drawMarks() {
  const f = frame(), pen = sheet(scatter.canvas, f);
  pen.drawImage(scatter.base, 0, 0, f.width, f.height);
  chosen.forEach((i, k) => i !== null && mark(pen, f, i, "AB"[k]));
  if (scatter.cursor !== null) mark(pen, f, scatter.cursor, "");
  if (scatter.drag) drawDrag(pen);
}

function drawAxes(pen, f) {
  pen.font = "12px system-ui, sans-serif";
  pen.strokeStyle = faint();
  pen.lineWidth = 1;
  pen.fillStyle = soft();
  pen.textAlign = "center";
  const x = ticksOf(axisOf("x-axis"), scatter.box.x, Math.max(2, Math.floor((f.right - f.left) / 80)));
  for (const t of x.ticks) {
    line(pen, across(t, f), f.top, across(t, f), f.bottom);
    pen.fillText(x.text(t), across(t, f), f.bottom + 16, 78);
  }
  pen.textAlign = "right";
  const y = ticksOf(axisOf("y-axis"), scatter.box.y, Math.max(2, Math.floor((f.bottom - f.top) / 50)));
  for (const t of y.ticks) {
    line(pen, f.left, down(t, f), f.right, down(t, f));
    pen.fillText(y.text(t), f.left - 6, down(t, f) + 4, f.left - 22);
  }
  pen.fillStyle = ink();
  pen.textAlign = "center";
  pen.fillText(axisOf("x-axis").name, (f.left + f.right) / 2, f.height - 8, f.right - f.left);
  pen.save();
  pen.translate(12, (f.top + f.bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(axisOf("y-axis").name, 0, 0, f.bottom - f.top);
  pen.restore();
}

function line(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}

const radius = () => Math.max(2.2, Math.min(5, 110 / Math.sqrt(data.n)));

// How an object is drawn under each choice of colours: symbol, colour, whether with a ring.
// Objects with the same key look the same.
const LOOKS = {
  set: {
    key: (i) => data.labels[i] * data.f + data.sets[i],
    of: (i) => [symbolOf(data.labels[i]), setColour(data.sets[i]), isSeveral(data.sets[i])],
  },
  ambiguity: {
    key: (i) => data.labels[i] * 9 + Math.round(8 * data.scores.ambiguity[i]),
    of: (i) => [symbolOf(data.labels[i]), shade(data.scores.ambiguity[i]), false],
  },
  class: {
    key: (i) => 2 * data.classes[i] + isSeveral(data.sets[i]),
    of: (i) => [symbolOf(data.classes[i]), about.class_colours[data.classes[i]], isSeveral(data.sets[i])],
  },
};

function shade(share) {
  // From grey to vermilion: both differ in lightness too.  Few steps, so few stamps.
  const t = Math.round(8 * share) / 8, from = [190, 196, 204], to = [213, 60, 0];
  return `#${from.map((p, k) => Math.round(p + t * (to[k] - p)).toString(16).padStart(2, "0")).join("")}`;
}

// Drawing a ready picture of a symbol is many times faster than drawing its path.
function ready(symbol, colour, ringed) {
  const sharp = sharpness(), r = radius(), size = Math.ceil(2 * (r + 4));
  const name = [symbol, shown(colour), ringed, isDark(), sharp].join();
  if (!scatter.stamps.has(name)) {
    const image = element("canvas", { width: size * sharp, height: size * sharp });
    const pen = image.getContext("2d");
    pen.scale(sharp, sharp);
    pen.translate(size / 2, size / 2);
    stamp(pen, symbol, shown(colour), r);
    if (ringed && r >= RINGED) ring(pen, r + 1.8);
    scatter.stamps.set(name, image);
  }
  return scatter.stamps.get(name);
}

function drawObjects(pen, f) {
  const look = LOOKS[document.getElementById("colour").value], images = new Map();
  const size = Math.ceil(2 * (radius() + 4)), { x, y } = scatter.at, full = data.n > 4000 ? 0.7 : 0.9;
  pen.globalAlpha = full;
  for (let k = data.n - 1; k >= 0; k--) { // the most ambiguous on top
    const i = data.order[k];
    const px = across(x[i], f), py = down(y[i], f);
    if (!(px > -size && px < f.width + size && py > -size && py < f.height + size)) continue;
    if (data.shown) pen.globalAlpha = data.shown[i] ? full : 0.12;
    const key = look.key(i);
    if (!images.has(key)) images.set(key, ready(...look.of(i)));
    pen.drawImage(images.get(key), px - size / 2, py - size / 2, size, size);
  }
  pen.globalAlpha = 1;
}

// Ellipses that hold half and nine tenths of a normal cluster in the plane of the axes.
function drawEllipses(pen, f) {
  const axes = [axisOf("x-axis"), axisOf("y-axis")];
  if (axes.some((axis) => !axis.weights)) return;
  about.ellipses.means.forEach((mean, k) => {
    const dot = (w, v) => w.reduce((sum, a, e) => sum + a * v[e], 0);
    const [cx, cy] = axes.map((axis) => dot(axis.weights, mean) - axis.center);
    const S = about.ellipses.covariances[k];
    const spread = (a, b) => dot(a.weights, S.map((row) => dot(b.weights, row)));
    const xx = spread(axes[0], axes[0]), xy = spread(axes[0], axes[1]), yy = spread(axes[1], axes[1]);
    const a = Math.sqrt(xx), b = a ? xy / a : 0, c = Math.sqrt(Math.max(0, yy - b * b));
    pen.strokeStyle = shown(about.colours[k]);
    for (const [share, width] of [[0.5, 1], [0.9, 1.6]]) {
      const reach = Math.sqrt(-2 * Math.log(1 - share));
      pen.lineWidth = width;
      pen.beginPath();
      for (let s = 0; s <= 72; s++) {
        const u = reach * Math.cos((s * Math.PI) / 36), v = reach * Math.sin((s * Math.PI) / 36);
        pen.lineTo(across(cx + a * u, f), down(cy + b * u + c * v, f));
      }
      pen.stroke();
    }
  });
}

function mark(pen, f, i, letter) {
  const px = across(scatter.at.x[i], f), py = down(scatter.at.y[i], f), r = radius() + 5;
  if (px < f.left || px > f.right || py < f.top || py > f.bottom) return;
  pen.beginPath();
  pen.arc(px, py, r, 0, 2 * Math.PI);
  pen.lineWidth = 2.5;
  pen.strokeStyle = ink();
  pen.stroke();
  if (!letter) return;
  pen.font = "bold 14px system-ui, sans-serif";
  pen.textAlign = "left";
  pen.lineWidth = 4;
  pen.strokeStyle = paper();
  pen.strokeText(letter, px + r + 2, py + 5);
  pen.fillStyle = ink();
  pen.fillText(letter, px + r + 2, py + 5);
}

function drawDrag(pen) {
  const { from, to } = scatter.drag;
  pen.strokeStyle = ink();
  pen.lineWidth = 1;
  pen.setLineDash([4, 3]);
  pen.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
  pen.setLineDash([]);
}

const MOST_KEYS = 24;

function drawLegend() {
  const legend = document.getElementById("legend");
  const kind = document.getElementById("colour").value, keys = [];
  if (scatter.legend === kind + isDark()) return;
  scatter.legend = kind + isDark();
  const add = (symbol, colour, text, ringed = false) => keys.push(element("span", {}, key(symbol, colour, ringed), text));
  if (kind === "ambiguity") [0, 0.5, 1].forEach((share) => add("o", shade(share), `ambiguity ${share}`));
  const names = kind === "class" ? about.classes : about.clusters;
  const colours = kind === "class" ? about.class_colours : about.colours;
  if (kind !== "ambiguity") {
    names.slice(0, MOST_KEYS).forEach((name, k) => add(symbolOf(k), colours[k], `${kind === "class" ? "class" : "cluster"} ${name}`));
    if (names.length > MOST_KEYS) keys.push(element("span", {}, `and ${names.length - MOST_KEYS} more`));
    const ringed = radius() >= RINGED;
    add("o", "#767676", ringed ? "between clusters" : "between clusters: mixed colours", ringed);
  }
  legend.replaceChildren(...keys);
  document.querySelectorAll("[data-cluster]").forEach((place) => {
    const k = Number(place.dataset.cluster);
    place.replaceChildren(key(symbolOf(k), about.colours[k]).firstChild);
  });
}

function nearest(px, py) {
  const f = frame();
  let best = null, least = REACH * REACH;
  for (let i = 0; i < data.n; i++) {
    const dx = across(scatter.at.x[i], f) - px, dy = down(scatter.at.y[i], f) - py;
    const distance = dx * dx + dy * dy;
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}

function listen() {
  const { canvas } = scatter;
  const pointer = (event) => ({ x: event.offsetX, y: event.offsetY });
  canvas.addEventListener("pointerdown", (event) => { scatter.press = pointer(event); });
  canvas.addEventListener("pointermove", (event) => {
    const to = pointer(event), from = scatter.press;
    if (from && event.pointerType === "mouse" && Math.hypot(to.x - from.x, to.y - from.y) > 8) {
      scatter.drag = { from, to };
      hideTip();
    } else point(nearest(to.x, to.y));
    if (scatter.drag) drawMarks();
  });
  canvas.addEventListener("pointerup", (event) => {
    const { drag } = scatter;
    scatter.press = scatter.drag = null;
    if (drag) return zoomTo(drag);
    const { x, y } = pointer(event), i = nearest(x, y);
    if (i !== null) choose(i);
  });
  canvas.addEventListener("pointerleave", () => {
    scatter.press = scatter.drag = null;
    point(null);
  });
  canvas.addEventListener("keydown", keyboard);
  canvas.addEventListener("blur", () => point(null));
}

function point(i) {
  if (i === scatter.cursor) return;
  scatter.cursor = i;
  i === null ? hideTip() : showTip(i);
  drawMarks();
}

function zoomTo({ from, to }) {
  const f = frame(), box = scatter.box;
  const x = (p) => box.x[0] + ((p - f.left) / (f.right - f.left)) * (box.x[1] - box.x[0]);
  const y = (p) => box.y[0] + ((f.bottom - p) / (f.bottom - f.top)) * (box.y[1] - box.y[0]);
  zoomInto({ x: [x(Math.min(from.x, to.x)), x(Math.max(from.x, to.x))], y: [y(Math.max(from.y, to.y)), y(Math.min(from.y, to.y))] });
}

// Zoom, but not so far in that digits are used up, nor so far out that nothing is seen.
function zoomInto(box) {
  const sound = ["x", "y"].every((side) => {
    const [low, high] = range(scatter.at[side]), share = (box[side][1] - box[side][0]) / (high - low);
    return share > 1e-4 && share < 100;
  });
  if (sound) scatter.box = box;
  drawScatter();
}

function zoomBy(factor) {
  const i = scatter.cursor, { x, y } = scatter.box;
  const zoom = ([low, high], middle) => [middle - (middle - low) * factor, middle + (high - middle) * factor];
  zoomInto({ x: zoom(x, i === null ? (x[0] + x[1]) / 2 : scatter.at.x[i]), y: zoom(y, i === null ? (y[0] + y[1]) / 2 : scatter.at.y[i]) });
  if (i !== null) showTip(i);
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function keyboard(event) {
  const actions = {
    Enter: () => scatter.cursor !== null && choose(scatter.cursor),
    " ": () => scatter.cursor !== null && choose(scatter.cursor),
    Escape: () => point(null),
    "+": () => zoomBy(0.7), "=": () => zoomBy(0.7), "-": () => zoomBy(1 / 0.7), 0: showAll,
  };
  const act = ARROWS[event.key] ? () => step(...ARROWS[event.key]) : actions[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
}

// The nearest object in a direction, the sideways distance counting double.
function step(right, below) {
  if (scatter.cursor === null) return point(data.order[0]);
  const f = frame(), from = scatter.cursor;
  const x = across(scatter.at.x[from], f), y = down(scatter.at.y[from], f);
  let best = null, least = Infinity;
  for (let i = 0; i < data.n; i++) {
    const dx = across(scatter.at.x[i], f) - x, dy = down(scatter.at.y[i], f) - y;
    const ahead = dx * right + dy * below, aside = Math.abs(dx * below) + Math.abs(dy * right);
    if (i === from || ahead <= 0 || aside > 2 * ahead) continue;
    if (ahead + 2 * aside < least) [best, least] = [i, ahead + 2 * aside];
  }
  if (best !== null) point(best);
}
