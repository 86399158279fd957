// Compute or draw again only what has changed.
//
// `inputs` picks from the state the named values that `compute` depends on.  `compute` gets these
// values and nothing else, so it cannot depend on a part of the state that `inputs` leaves out.
export function memoize(inputs, compute) {
  let last = null;
  let value;
  return (state) => {
    const now = inputs(state);
    const names = Object.keys(now);
    if (last === null || names.some((name) => !Object.is(now[name], last[name]))) {
      value = compute(now);
      last = now;
    }
    return value;
  };
}
