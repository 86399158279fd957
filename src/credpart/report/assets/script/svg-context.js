// A drawing as SVG, with the part of the interface of a canvas that the picture needs.
//
// Coordinates are transformed as they come, so that elements need no transform, except text.
// Transforms keep angles: a circle stays a circle.

import { svgElement } from "./dom.js";

const ANCHORS = { left: "start", center: "middle", right: "end" };
const FONT = /^(?:(bold) )?(\d+)px (.+)$/;
// Characters that XML does not have, even as references.
const NOT_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;
const rounded = (value) => String(Math.round(100 * value) / 100);

const measuring = document.createElement("canvas").getContext("2d");

export class SvgContext {
  constructor({ width, height }) {
    const frame = { width, height, viewBox: `0 0 ${width} ${height}` };
    this.root = svgElement("svg", frame);
    this.parent = this.root; // that gets the next element
    this.matrix = [1, 0, 0, 1, 0, 0];
    this.saved = [];
    this.clips = 0;
    this.fillStyle = "#000000";
    this.strokeStyle = "#000000";
    this.lineWidth = 1;
    this.globalAlpha = 1;
    this.font = "10px sans-serif";
    this.textAlign = "left";
    this.beginPath();
  }

  save() {
    const { parent, matrix, fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign } =
      this;
    this.saved.push({
      parent,
      matrix,
      fillStyle,
      strokeStyle,
      lineWidth,
      globalAlpha,
      font,
      textAlign,
    });
  }

  restore() {
    Object.assign(this, this.saved.pop());
  }

  translate(x, y) {
    this.transform([1, 0, 0, 1, x, y]);
  }

  scale(x, y) {
    this.transform([x, 0, 0, y, 0, 0]);
  }

  rotate(angle) {
    const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
    this.transform([cosine, sine, -sine, cosine, 0, 0]);
  }

  transform([a, b, c, d, e, f]) {
    const [A, B, C, D, E, F] = this.matrix;
    this.matrix = [
      A * a + C * b,
      B * a + D * b,
      A * c + C * d,
      B * c + D * d,
      A * e + C * f + E,
      B * e + D * f + F,
    ];
  }

  place(x, y) {
    const [a, b, c, d, e, f] = this.matrix;
    return `${rounded(a * x + c * y + e)} ${rounded(b * x + d * y + f)}`;
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${this.place(x, y)}`;
  }

  lineTo(x, y) {
    this.path += `${this.path ? "L" : "M"}${this.place(x, y)}`;
  }

  closePath() {
    this.path += "Z";
  }

  rect(x, y, width, height) {
    this.moveTo(x, y);
    this.lineTo(x + width, y);
    this.lineTo(x + width, y + height);
    this.lineTo(x, y + height);
    this.closePath();
  }

  // Whole circles only.
  arc(x, y, radius) {
    const reach = rounded(radius * Math.hypot(this.matrix[0], this.matrix[1]));
    const half = (to) => `A${reach} ${reach} 0 1 1 ${this.place(to, y)}`;
    this.path += `M${this.place(x - radius, y)}${half(x + radius)}${half(x - radius)}Z`;
  }

  fill() {
    this.append("path", { d: this.path, fill: this.fillStyle });
  }

  stroke() {
    this.append("path", { d: this.path, fill: "none", ...this.strokeAttributes() });
  }

  fillRect(x, y, width, height) {
    this.beginPath();
    this.rect(x, y, width, height);
    this.fill();
  }

  clip() {
    this.clips += 1;
    const id = `clip${this.clips}`;
    this.append("clipPath", { id }, svgElement("path", { d: this.path }));
    this.parent = this.append("g", { "clip-path": `url(#${id})` });
  }

  fillText(text, x, y, mostWidth = Number.POSITIVE_INFINITY) {
    this.appendText(text, x, y, mostWidth, { fill: this.fillStyle });
  }

  strokeText(text, x, y) {
    const stroke = { fill: "none", ...this.strokeAttributes() };
    this.appendText(text, x, y, Number.POSITIVE_INFINITY, stroke);
  }

  measureText(text) {
    measuring.font = this.font;
    return measuring.measureText(text);
  }

  // What the drawing is as a file.
  toString() {
    return new XMLSerializer().serializeToString(this.root);
  }

  strokeAttributes() {
    return { stroke: this.strokeStyle, "stroke-width": rounded(this.lineWidth) };
  }

  appendText(text, x, y, mostWidth, paint) {
    const [, weight = "normal", size, family] = FONT.exec(this.font);
    const squeezed = this.measureText(text).width > mostWidth;
    const squeeze = { textLength: rounded(mostWidth), lengthAdjust: "spacingAndGlyphs" };
    const attributes = {
      transform: `matrix(${this.matrix.map((part) => part.toFixed(4)).join(" ")})`,
      x: rounded(x),
      y: rounded(y),
      "font-family": family,
      "font-size": size,
      "font-weight": weight,
      "text-anchor": ANCHORS[this.textAlign],
      ...(squeezed ? squeeze : {}),
      ...paint,
    };
    this.append("text", attributes, text.replace(NOT_XML, "\u{FFFD}"));
  }

  append(tag, attributes, ...children) {
    const opacity = this.globalAlpha < 1 ? { opacity: rounded(this.globalAlpha) } : {};
    const made = svgElement(tag, { ...attributes, ...opacity }, ...children);
    this.parent.append(made);
    return made;
  }
}
