// Numbers as text.

export const threeDecimals = (value) => value.toFixed(3);

export const withThousands = (value) => value.toLocaleString("en");

// Four significant digits, but all digits before the decimal point.
export function shortNumber(value) {
  if (!Number.isFinite(value)) {
    return "missing";
  }
  const size = Math.abs(value);
  return String(size < 1000 || size >= 1e12 ? Number(value.toPrecision(4)) : Math.round(value));
}
