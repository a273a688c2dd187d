// The review desk: the queue keeps its place, and the next item is on the screen before the answer is.
"use strict";

(() => {
  const find = (selector) => document.querySelector(selector);
  const current = () => find("#queue [aria-current='true'][id]");

  // Where the open item's row stood on the screen, so that a fresh queue does not move it.
  let scrolled = 0;
  let stood = null;

  const remember = () => {
    const row = current();
    scrolled = find(".queue") ? find(".queue").scrollTop : 0;
    stood = row && { id: row.id, top: row.getBoundingClientRect().top };
  };

  const restore = () => {
    const queue = find(".queue");
    const row = current();
    if (!queue) return;
    queue.scrollTop = scrolled;
    if (!row) return;
    if (stood && stood.id === row.id) queue.scrollTop += row.getBoundingClientRect().top - stood.top;
    else row.scrollIntoView({ block: "nearest" });
  };

  // The next item's comparison, fetched while the person still reads this one.
  let ahead = null;

  const prefetch = () => {
    const link = find("#desk [data-ahead]");
    const path = link && link.dataset.ahead;
    if (!path || (ahead && ahead.path === path)) return;
    ahead = { path, html: "" };
    fetch(path, { credentials: "same-origin", headers: { "HX-Request": "true" } })
      .then((answer) => (answer.ok && !answer.redirected ? answer.text() : ""))
      .then((html) => { if (ahead && ahead.path === path) ahead.html = html; })
      .catch(() => { ahead = null; });
  };

  // Shown at once after a verdict; the answer brings the whole desk, and what went wrong if something did.
  const showAhead = (event) => {
    const button = event.detail.elt.matches("[data-decide]") && event.detail.requestConfig.triggeringEvent.submitter;
    const link = find("#desk [data-ahead]");
    const pair = find("#pair");
    if (!button || !("settles" in button.dataset) || !link || !pair) return;
    if (!ahead || ahead.path !== link.dataset.ahead || !ahead.html) return;
    pair.innerHTML = ahead.html;
    pair.inert = true;
    window.scrollTo(0, 0);
  };

  // The key for searching finds its field only where it is shown.
  const unfold = (event) => {
    const filter = find(".narrow");
    if (event.key === "/" && filter && !event.target.closest("input, textarea, select")) filter.open = true;
  };

  const wait = window.requestIdleCallback || ((run) => setTimeout(run, 200));
  document.addEventListener("keydown", unfold, { capture: true });
  document.addEventListener("htmx:beforeSwap", remember);
  // Before the new rows are painted, and again once their attributes are the new ones: between the two a row would jump.
  document.addEventListener("htmx:afterSwap", restore);
  document.addEventListener("htmx:afterSettle", () => { restore(); wait(prefetch); });
  document.addEventListener("htmx:beforeRequest", showAhead);
  restore();
  wait(prefetch);
})();
