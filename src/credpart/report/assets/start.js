// Light and dark, printing, and the start.

function redraw() {
  document.getElementById("theme-name").textContent = isDark() ? "Light" : "Dark";
  data.printing ? drawNow() : drawScatter();
  showChosen();
}

function startTheme() {
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const print = (printing) => () => {
    data.printing = printing;
    redraw();
  };
  window.addEventListener("beforeprint", print(true));
  window.addEventListener("afterprint", print(false));
}

unpack().then(() => {
  startScatter();
  startChosen();
  startTable();
  startTheme();
  redraw();
  requestAnimationFrame(() => { document.documentElement.dataset.ready = "yes"; });
});
