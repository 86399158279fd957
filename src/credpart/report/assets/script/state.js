// The one state of the page.  All that is shown is a function of it.

export function initialState(data, browser) {
  const [xAxis, yAxis] = data.firstAxes;
  return {
    data,
    // The page as a whole.
    theme: null, // "light" or "dark" if the reader has chosen, else null
    ...browser, // `prefersDark`, `isPrintMedium`, and `size` of the picture in pixels
    printing: false,
    // The picture of the objects.
    xAxis, // index into `data.axes`
    yAxis,
    colouring: "set", // key of `COLOURINGS`
    showsEllipses: true,
    view: null, // visible ranges { x, y } of the axes; null shows all objects
    press: null, // where the pointer went down
    drag: null, // rectangle { from, to } under the pointer
    pointed: null, // object under the pointer, or reached by the keyboard
    showsTip: false,
    announced: null, // object that a screen reader is told about
    // The pair.
    chosen: [null, null], // objects A and B
    pairError: "",
    // The table.
    sort: { column: "belief", descending: false },
    search: "",
    filter: "all", // one of `filtersOf(data)`, or the index of a set as text
    activeRow: null, // position that the arrow keys have reached
    firstRow: 0, // position of the first row that is in the page
  };
}

export function createStore(initial, render) {
  let state = initial;
  return {
    get state() {
      return state;
    },
    update(changes) {
      state = { ...state, ...changes };
      render(state);
    },
  };
}
