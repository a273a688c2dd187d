// Keys and small comforts. Everything here has a link or a form that works without it.
"use strict";

(() => {
  const smooth = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (element) => element.getClientRects().length > 0;

  // Which of several elements comes after the current one; from either end when there is none.
  const step = (elements, current, by) => {
    const place = elements.indexOf(current);
    if (place < 0) return elements[by > 0 ? 0 : elements.length - 1];
    return elements[Math.min(Math.max(place + by, 0), elements.length - 1)];
  };

  const moveRow = (by) => {
    const rows = all("[data-row]").filter(shown);
    const row = step(rows, document.activeElement.closest("[data-row]"), by);
    const link = row && row.querySelector("a");
    if (link) {
      link.focus({ preventScroll: true });
      row.scrollIntoView({ block: "nearest" });
    }
  };

  const pickRow = () => {
    const row = document.activeElement.closest("[data-row]");
    const box = row && row.querySelector(".pick input");
    if (box) box.click();
  };

  const jump = (by) => {
    const changes = all("[data-change]");
    const now = changes.find((change) => change.classList.contains("at"));
    const change = step(changes, now, by);
    if (!change) return;
    if (now) now.classList.remove("at");
    change.classList.add("at");
    change.focus({ preventScroll: true });
    change.scrollIntoView({ block: "center", behavior: smooth });
  };

  const fold = () => {
    const folds = all("details.same");
    const open = folds.some((part) => !part.open);
    folds.forEach((part) => { part.open = open; });
  };

  const help = () => {
    const dialog = document.querySelector("dialog.help");
    if (!dialog.open) dialog.showModal();
  };

  const go = (number) => {
    const link = all("header nav a")[number - 1];
    if (link) link.click();
  };

  // A key is that of the control which names it, else one of these.
  const keys = {
    j: () => moveRow(1),
    k: () => moveRow(-1),
    n: () => jump(1),
    p: () => jump(-1),
    f: fold,
    x: pickRow,
    "?": help,
  };

  const press = (event) => {
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing) {
      if (event.key === "Escape") typing.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    // Enter belongs to the control that has the focus; only from none of them it takes the suggestion.
    if (key === "Enter" && event.target.closest("a, button, summary")) return;
    const control = all(`[aria-keyshortcuts~="${CSS.escape(key)}"]`).find(shown);
    if (control && control.matches("input")) control.select();
    else if (control) control.click();
    else if (keys[key]) keys[key]();
    else if (/^[1-9]$/.test(key)) go(Number(key));
    else return;
    event.preventDefault();
  };

  const click = (event) => {
    const jumper = event.target.closest("[data-jump]");
    if (jumper) jump(Number(jumper.dataset.jump));
    if (event.target.closest("[data-help]")) help();
    all("details.menu[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  };

  // What only works with script is hidden until there is one.
  const reveal = () => all("[data-help], .jump").forEach((element) => { element.hidden = false; });

  const toast = (shownNow) => {
    const box = document.querySelector(".toast");
    box.textContent = box.dataset.failed;
    box.hidden = !shownNow;
  };

  // A session that has ended answers with the log-in page: show it as a page, not inside this one.
  const whole = (event) => {
    const { xhr, requestConfig } = event.detail;
    const asked = new URL(requestConfig.path, location.href).pathname;
    const landed = xhr.responseURL && new URL(xhr.responseURL).pathname;
    // A form that leads back to this page is no such case.
    if (landed && landed !== asked && landed !== location.pathname) {
      event.detail.shouldSwap = false;
      location.assign(xhr.responseURL);
    }
  };

  // A form that takes a while is sent once, however often its button is pressed.
  const once = (event) => {
    if (!event.target.matches("form[data-once]")) return;
    event.target.querySelectorAll("button").forEach((button) => { button.disabled = true; });
    document.body.classList.add("loading");
  };
  const again = (event) => {
    if (!event.persisted) return;
    all("form[data-once] button").forEach((button) => { button.disabled = false; });
    document.body.classList.remove("loading");
  };

  // What asks again by itself shows no sign of loading.
  const loading = (event) => {
    toast(false);
    if (!event.detail.elt.matches("[data-poll]")) document.body.classList.add("loading");
  };

  // Selects all rows of a list, or none.
  const pick = (event) => {
    if (!event.target.matches("[data-pick-all]")) return;
    event.target.form.querySelectorAll(".pick input").forEach((box) => { box.checked = event.target.checked; });
  };

  document.addEventListener("keydown", press);
  document.addEventListener("change", pick);
  document.addEventListener("click", click);
  document.addEventListener("htmx:beforeSwap", whole);
  document.addEventListener("submit", once);
  window.addEventListener("pageshow", again);
  document.addEventListener("htmx:beforeRequest", loading);
  document.addEventListener("htmx:afterRequest", () => document.body.classList.remove("loading"));
  document.addEventListener("htmx:afterSettle", reveal);
  document.addEventListener("htmx:responseError", () => toast(true));
  document.addEventListener("htmx:sendError", () => toast(true));
  reveal();
})();
