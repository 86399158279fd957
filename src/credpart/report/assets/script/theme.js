// Light and dark.

const DARK = "(prefers-color-scheme: dark)";
const PRINT = "print";
const BRIGHTNESS = [0.3, 0.59, 0.11]; // how much red, green and blue contribute

const LIGHT_COLOURS = {
  background: "#ffffff",
  text: "#1b1f24",
  secondary: "#565e68",
  grid: "#d5d9de",
};
const DARK_COLOURS = {
  background: "#1b1f24",
  text: "#eceff2",
  secondary: "#a9b2bd",
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

// A colour of the data on the background of the theme: dark colours are lighter on a dark one.
export function adapted(hex, dark) {
  if (!dark) {
    return hex;
  }
  const parts = partsOf(hex);
  const brightness = parts.reduce((sum, part, k) => sum + BRIGHTNESS[k] * part, 0) / 255;
  const share = lighteningOf(brightness);
  return toHex(parts.map((part) => part + share * (255 - part)));
}

function lighteningOf(brightness) {
  if (brightness < 0.1) {
    return 0.85;
  }
  return brightness < 0.3 ? 0.4 : 0;
}

export function meanColour(colours) {
  const all = colours.map(partsOf);
  return toHex([0, 1, 2].map((k) => all.reduce((sum, parts) => sum + parts[k], 0) / all.length));
}

export function interpolatedColour(from, to, share) {
  const end = partsOf(to);
  return toHex(partsOf(from).map((part, k) => part + share * (end[k] - part)));
}
