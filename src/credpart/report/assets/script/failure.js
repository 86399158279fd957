// Tells the reader of the page that its script has failed.
//
// This module has a script element of its own in the head of the page.  It is there before the
// data and the main script, so it also reports a file that was cut off.  It keeps to the syntax
// of 2015, so it also reports a main script that an old browser cannot parse.

const CONSEQUENCE =
  "The picture of the objects, the chosen pair and the table do not work on this page, or may " +
  "be incomplete. The text and the other pictures do not depend on them.";
const NOT_STARTED =
  "The script of the page did not start: the file was changed or not copied completely. " +
  "Copy it or make it again.";
const UNREADABLE = "This browser cannot read the script of the page. Use a newer browser.";

function showFailure(reason) {
  if (document.getElementById("failure")) {
    return; // Later failures are mostly consequences of the first one.
  }
  const message = document.createElement("p");
  message.id = "failure";
  message.className = "card failure";
  message.setAttribute("role", "alert");
  message.textContent = `${CONSEQUENCE} Reason: ${reason}`;
  const place = document.querySelector("main") || document.body;
  place.insertBefore(message, place.firstChild);
}

function reasonOf(error) {
  if (error instanceof SyntaxError) {
    return UNREADABLE;
  }
  return error instanceof Error ? error.message : String(error);
}

window.addEventListener("error", (event) => {
  // A notice without an error, such as that of a delayed resize observer, is no failure.
  if (event.error) {
    showFailure(reasonOf(event.error));
  }
});
window.addEventListener("unhandledrejection", (event) => showFailure(reasonOf(event.reason)));
document.addEventListener("DOMContentLoaded", () => {
  if (!document.documentElement.dataset.started) {
    showFailure(NOT_STARTED);
  }
});
