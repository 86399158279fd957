// Elements of the page.  Text enters the page as text only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  return complete(document.createElement(tag), attributes, children);
}

export function svgElement(tag, attributes = {}, ...children) {
  return complete(document.createElementNS(SVG, tag), attributes, children);
}

function complete(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const note = (text) => element("p", { class: "note" }, text);

// Say a sentence to a screen reader; it is not seen.
export function tell(sentence) {
  byId("told").textContent = sentence;
}
