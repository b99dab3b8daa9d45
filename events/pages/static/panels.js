// The small charts: drawn when they come near the window, and the others when the browser is idle.

import { byId } from "./elements.js";
import { highestPeriod } from "./bands.js";
import { bandRows, drawChart, mark, periodAt, scaleOf } from "./charts.js";
import { actors, ask, described, specifications } from "./page.js";

const DRAWN_AHEAD = "600px";
const waiting = new Set();

async function drawPanel(button) {
  if (!waiting.delete(button)) return;
  const actor = actors[Number(button.dataset.actor)];
  const frame = button.querySelector(".panel-band");
  const view = await drawChart(frame, specifications.small, { counts: bandRows(actor) }, scaleOf(actor));
  button.title = described(actor, highestPeriod(actor));
  button.addEventListener("pointermove", (event) => {
    const i = periodAt(view, event);
    mark(view, i);
    tip(i < 0 ? "" : described(actor, i), event);
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
      ask("actor", Number(button.dataset.actor));
      byId("chart").scrollIntoView();
      byId("band").focus({ preventScroll: true });
    });
  }
  const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200));
  whenIdle(() => drawWaiting());
}
