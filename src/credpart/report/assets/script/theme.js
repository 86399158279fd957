// Light and dark.

const DARK = "(prefers-color-scheme: dark)";
const PRINT = "print";
const BRIGHTNESS = [0.3, 0.59, 0.11]; // how much red, green and blue contribute
const DARK_COLOUR = 0.3; // brightness below which a colour is hardly seen on a dark page
const BLACK = 40; // the largest part of a colour that counts as black
const STRONG = 235; // the largest part of a dark colour on a dark page
const LUMINANCE = [0.2126, 0.7152, 0.0722]; // of red, green and blue, relative, as WCAG has it
const LEAST_LUMINANCE = 0.141; // with less, the contrast to a dark page is below 3

const LIGHT_COLOURS = {
  background: "#ffffff",
  text: "#1b1f24",
  secondary: "#565e68",
  faint: "#8b95a1",
  grid: "#d5d9de",
};
const DARK_COLOURS = {
  background: "#1b1f24",
  text: "#eceff2",
  secondary: "#a9b2bd",
  faint: "#737d88",
  grid: "#3a4149",
};

// What the browser says about the medium.
export const systemState = () => ({
  prefersDark: matchMedia(DARK).matches,
  isPrintMedium: matchMedia(PRINT).matches,
});

export function onSystemChange(listener) {
  for (const query of [DARK, PRINT]) {
    matchMedia(query).addEventListener("change", listener);
  }
}

// Paper is white whatever the theme.
export function isDark({ printing, isPrintMedium, theme, prefersDark }) {
  if (printing || isPrintMedium) {
    return false;
  }
  return theme === null ? prefersDark : theme === "dark";
}

export const themeColours = (dark) => (dark ? DARK_COLOURS : LIGHT_COLOURS);

// The parts red, green and blue of "#rrggbb".
const partsOf = (hex) => [1, 3, 5].map((start) => Number.parseInt(hex.slice(start, start + 2), 16));

const toHex = (parts) =>
  `#${parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;

// A colour of the data on the background of the theme, as `on_dark` of charts.py has it: on a dark
// one, dark colours are as strong as they can be, and a little lighter; black is light grey.
export function adapted(hex, dark) {
  const parts = partsOf(hex);
  const change = dark ? changeOnDark(parts) : null;
  if (change === null) {
    return hex;
  }
  const [factor, share] = change;
  return toHex(parts.map((part) => factor * part + share * (255 - factor * part)));
}

// By how much the parts of a colour are multiplied on a dark page, and then mixed with white; null
// if it is seen there as it is.
function changeOnDark(parts) {
  const largest = Math.max(...parts);
  if (weighted(parts, BRIGHTNESS) < DARK_COLOUR) {
    return largest < BLACK ? [1, 0.85] : [STRONG / largest, 0.2];
  }
  const luminance = weighted(parts, LUMINANCE, linear);
  return luminance < LEAST_LUMINANCE ? [1.15, 0.1] : null;
}

const weighted = (parts, weights, scale = (share) => share) =>
  parts.reduce((sum, part, k) => sum + weights[k] * scale(part / 255), 0);

const linear = (share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);

export function meanColour(colours) {
  const all = colours.map(partsOf);
  return toHex([0, 1, 2].map((k) => all.reduce((sum, parts) => sum + parts[k], 0) / all.length));
}

export function interpolatedColour(from, to, share) {
  const end = partsOf(to);
  return toHex(partsOf(from).map((part, k) => part + share * (end[k] - part)));
}
