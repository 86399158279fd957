// Ticks of an axis, and what is written at them.

const LONGEST_LEVEL = 12; // characters

// Round numbers within [low, high], at most `most` steps apart, but at least two of them: one
// tick alone gives no scale.
function niceTicks(low, high, most) {
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const steps = [10, 5, 2, 1, 0.5, 0.2, 0.1].map((multiple) => multiple * power);
  const within = (size) => Math.floor(high / size) - Math.ceil(low / size) + 1;
  const wanted = steps.findLast((size) => (high - low) / size <= most);
  const step = steps.find((size) => size <= wanted && within(size) >= 2) ?? wanted;
  const first = Math.ceil(low / step);
  const count = Math.floor((high - low) / step) + 1;
  const candidates = Array.from({ length: count }, (_, k) => (first + k) * step);
  const largest = Math.max(Math.abs(low), Math.abs(high));
  return {
    ticks: candidates.filter((tick) => tick <= high),
    text: (tick) => tickText(tick, step, largest),
  };
}

// As many digits as distinguish a tick from the next; a power of ten where that is shorter.
function tickText(tick, step, largest) {
  const digits = Math.min(15, Math.max(1, Math.ceil(Math.log10(largest / step)) + 1));
  const rounded = Number(tick.toPrecision(digits));
  if (tick !== 0 && (largest >= 1e9 || largest < 1e-5)) {
    return rounded.toExponential();
  }
  return rounded.toLocaleString("en", { maximumFractionDigits: 12 });
}

// Ticks of an axis of numbers, or of one of categories.
export function axisTicks(axis, [low, high], most) {
  if (!axis.levels) {
    return niceTicks(low, high, most);
  }
  return {
    ticks: [...axis.levels.keys()].filter((code) => code > low && code < high),
    text: (code) => axis.levels[code].slice(0, LONGEST_LEVEL),
  };
}
