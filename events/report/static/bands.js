// The charts: a large one of the chosen country, and a small one of each country.

import { byId, element, plain, whole } from "../../pages/static/elements.js";
import { choosePeriod, drawList, drawScopes } from "./listing.js";
import { choice, counts, countries, described, periods, range, specifications } from "./page.js";

const DRAWN_AHEAD = "600px";

function bandRows(country) {
  return periods.map(([, start, end], i) => ({
    i,
    middle: (start + end) / 2,
    mean: country.mean[i],
    lower: country.lower[i],
    upper: country.upper[i],
    one_best: country.oneBest[i],
  }));
}

// The scale ends at 1 or above, so that a mean of .01 does not look like a war.
function scaleOf(country) {
  const highest = Math.max(1, ...country.mean, ...country.upper, ...country.oneBest);
  return { top: 1.05 * highest, bottom: Math.min(0, ...country.lower) };
}

export async function drawChart(frame, specification, rows, { top, bottom }) {
  const signals = { cursor: -1, first: periods[0][1], last: periods[periods.length - 1][2], top, bottom };
  const withData = {
    ...specification,
    data: specification.data.map((set) => (set.name === "counts" ? { ...set, values: rows } : set)),
    signals: specification.signals.map((set) => (set.name in signals ? { ...set, value: signals[set.name] } : set)),
  };
  // ast: expressions are interpreted, so that no script is made from text.
  const options = { mode: "vega", ast: true, renderer: "svg", actions: false, tooltip: false, hover: false, defaultStyle: false };
  const { view } = await vegaEmbed(frame, withData, options);
  frame.querySelector("svg")?.setAttribute("focusable", "false");
  return view;
}

// The period under the pointer, or -1.
function periodAt(view, event) {
  const left = view.container().getBoundingClientRect().left + view.padding().left + view.origin()[0];
  const time = +view.scale("x").invert(event.clientX - left);
  return periods.findIndex(([, start, end]) => time >= start && time < end);
}

function mark(view, i) {
  if (view && view.signal("cursor") !== i) view.signal("cursor", i).runAsync();
}

// --- the large chart ---

export const bandFrame = byId("band");
const drawing = element("div", { class: "drawing", "aria-hidden": "true" });
let bandView = null;
let pointed = 0; // the period that arrow keys change

function show(i) {
  const country = countries[choice.country];
  mark(bandView, i);
  byId("readout").textContent = i < 0 ? "\u00a0" : described(country, i);
}

export function point(i) {
  pointed = Math.max(0, Math.min(periods.length - 1, i));
  bandFrame.setAttribute("aria-valuenow", pointed);
  bandFrame.setAttribute("aria-valuetext", described(countries[choice.country], pointed));
  show(pointed);
}

export async function drawBand() {
  const country = countries[choice.country];
  byId("chart-country").textContent = country.name;
  byId("country").value = choice.country;
  bandFrame.setAttribute("aria-label", `${country.name}, period`);
  point(choice.period >= 0 ? choice.period : highestPeriod(country));
  if (byId("band-table-frame").open) drawTable();
  if (bandView) {
    const { top, bottom } = scaleOf(country);
    await bandView.data("counts", bandRows(country)).signal("top", top).signal("bottom", bottom).runAsync();
    return;
  }
  bandView = await drawChart(drawing, specifications.large, bandRows(country), scaleOf(country));
  point(pointed);
}

function highestPeriod(country) {
  return country.mean.indexOf(Math.max(...country.mean));
}

export function drawTable() {
  const country = countries[choice.country];
  const titles = ["Period", "Documents", "Mean", "Monte Carlo error", "Sd", `${100 * counts.level}% interval`, "One best"];
  const head = element("tr", {}, ...titles.map((text) => element("th", { scope: "col" }, text)));
  const rows = periods.map(([label, , , n], i) => {
    const button = element("button", { type: "button", class: "link" }, label);
    button.addEventListener("click", () => choosePeriod(i));
    const cells = [whole(n), plain(country.mean[i]), String(country.error[i]), plain(country.sd[i]), range(country, i), whole(country.oneBest[i])];
    return element("tr", {}, element("th", { scope: "row" }, button), ...cells.map((text) => element("td", {}, text)));
  });
  const caption = element("caption", {}, `Documents with an event: ${country.name}. A period lists its documents.`);
  byId("band-table").replaceChildren(
    element("table", {}, caption, element("thead", {}, head), element("tbody", {}, ...rows)),
  );
}

function chooseCountry(c) {
  choice.country = c;
  choice.period = -1;
  if (choice.scope === "period") choice.scope = "country";
  drawBand();
  drawScopes();
  drawList();
}

export function listenToBand() {
  bandFrame.append(drawing);
  byId("band-table-frame").addEventListener("toggle", drawTable);
  byId("country").addEventListener("change", (event) => chooseCountry(Number(event.target.value)));
  drawing.addEventListener("pointermove", (event) => {
    const i = bandView ? periodAt(bandView, event) : -1;
    if (i >= 0) show(i);
    drawing.classList.toggle("over", i >= 0);
  });
  drawing.addEventListener("pointerleave", () => show(pointed));
  drawing.addEventListener("click", (event) => {
    const i = bandView ? periodAt(bandView, event) : -1;
    if (i >= 0) choosePeriod(i);
  });
  bandFrame.addEventListener("keydown", (event) => {
    const to = {
      ArrowLeft: pointed - 1, ArrowDown: pointed - 1, ArrowRight: pointed + 1, ArrowUp: pointed + 1,
      PageUp: pointed + 4, PageDown: pointed - 4, Home: 0, End: periods.length - 1,
    }[event.key];
    if (to !== undefined) point(to);
    else if (event.key === "Enter" || event.key === " ") choosePeriod(pointed);
    else return;
    event.preventDefault();
  });
}

// --- the small ones: drawn when they come near the window, and the others when the browser is idle ---

const waiting = new Set();

async function drawPanel(button) {
  if (!waiting.delete(button)) return;
  const country = countries[Number(button.dataset.country)];
  const frame = button.querySelector(".panel-band");
  const view = await drawChart(frame, specifications.small, bandRows(country), scaleOf(country));
  button.title = described(country, highestPeriod(country));
  button.addEventListener("pointermove", (event) => {
    const i = periodAt(view, event);
    mark(view, i);
    tip(i < 0 ? "" : described(country, i), event);
  });
  button.addEventListener("pointerleave", () => {
    mark(view, -1);
    tip("");
  });
}

function tip(text, event) {
  const box = byId("tip");
  box.hidden = !text;
  box.textContent = text;
  if (!text) return;
  const left = Math.min(event.clientX + 12, document.documentElement.clientWidth - box.offsetWidth - 8);
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${event.clientY + 18}px`;
}

async function drawWaiting() {
  for (const button of [...waiting]) await drawPanel(button);
  performance.mark("panels-drawn");
  document.documentElement.dataset.panels = "drawn";
}

export function listenToPanels() {
  const near = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      near.unobserve(entry.target);
      drawPanel(entry.target);
    }),
    { rootMargin: DRAWN_AHEAD },
  );
  for (const button of document.querySelectorAll(".panel")) {
    waiting.add(button);
    near.observe(button);
    button.addEventListener("click", () => {
      chooseCountry(Number(button.dataset.country));
      byId("chart").scrollIntoView();
      bandFrame.focus({ preventScroll: true });
    });
  }
  const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200));
  whenIdle(() => drawWaiting());
}
