// The answers: yes, no and unsure; or the actors of the event; or the events.

import { byId, element } from "./elements.js";
import { sheet } from "./sheet.js";

const bySet = sheet.kind !== "yes-no"; // of actors or events
const DIGITS = 9;
const states = ["no", "yes", "unsure"];
const draft = { states: sheet.actors.map(() => 0), isOther: false };

const wholeAnswers = bySet
  ? [["none", "None of them", "n"], ["unsure", "Unsure", "u"]]
  : [["yes", "Yes", "y"], ["no", "No", "n"], ["unsure", "Unsure", "u"]];

function keyed(text, key) {
  return [text, " ", element("kbd", { "aria-hidden": "true" }, key.toUpperCase())];
}

// --- actors ---

const shownActors = () => [...byId("label-actors").querySelectorAll("button:not([hidden])")];

function draftLabel() {
  const named = sheet.actors.flatMap(([code], a) => (draft.states[a] ? [code + (draft.states[a] === 2 ? "?" : "")] : []));
  return [...named, ...(draft.isOther ? ["other"] : [])].join(";");
}

function drawDraft() {
  const buttons = [...byId("label-actors").querySelectorAll("button")];
  sheet.actors.forEach(([, name], a) => {
    const state = draft.states[a];
    buttons[a].setAttribute("aria-pressed", ["false", "true", "mixed"][state]);
    buttons[a].querySelector(".state").textContent = state ? states[state] : "";
    buttons[a].setAttribute("aria-label", `${name}: ${states[state]}`);
  });
  byId("label-other").setAttribute("aria-pressed", String(draft.isOther));
  byId("done").setAttribute("aria-disabled", String(draftLabel() === ""));
  numberActors();
}

// The first nine actors shown have digits as their keys.
function numberActors() {
  for (const button of byId("label-actors").querySelectorAll("kbd")) button.textContent = "";
  shownActors().slice(0, DIGITS).forEach((button, i) => (button.querySelector("kbd").textContent = String(i + 1)));
}

function filterActors() {
  const wanted = byId("filter").value.trim().toLowerCase();
  [...byId("label-actors").querySelectorAll("button")].forEach((button, a) => {
    button.hidden = !sheet.actors[a].some((text) => text.toLowerCase().includes(wanted));
  });
  numberActors();
}

function readDraft(label) {
  const parts = new Set(label.split(";"));
  draft.states = sheet.actors.map(([code]) => (parts.has(code) ? 1 : parts.has(`${code}?`) ? 2 : 0));
  draft.isOther = parts.has("other");
  byId("filter").value = "";
  filterActors();
  drawDraft();
}

function turn(a) {
  draft.states[a] = (draft.states[a] + 1) % states.length;
  drawDraft();
}

function turnOther() {
  draft.isOther = !draft.isOther;
  drawDraft();
}

function listenToActors(give) {
  const buttons = sheet.actors.map(([code, name], a) => {
    const title = element("span", { class: "actor" }, name, name === code ? "" : ` (${code})`);
    const button = element("button", { type: "button", class: "choice" }, element("kbd", { "aria-hidden": "true" }), title, element("span", { class: "state" }));
    button.addEventListener("click", () => turn(a));
    return button;
  });
  byId("label-actors").append(...buttons);
  byId("actor-answers").hidden = false;
  byId("filter-line").hidden = sheet.actors.length <= DIGITS;
  byId("filter").addEventListener("input", filterActors);
  byId("filter").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    if (event.key === "Enter") shownActors()[0]?.click();
    byId("filter").value = "";
    filterActors();
    byId("heading")?.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  byId("label-other").hidden = sheet.kind !== "actors";
  byId("label-other").addEventListener("click", turnOther);
  byId("done").addEventListener("click", () => draftLabel() && give(draftLabel()));
}

// --- both ---

export function listenToAnswers(give) {
  const buttons = wholeAnswers.map(([label, text, key]) => {
    const button = element("button", { type: "button", class: "answer", "data-label": label }, ...keyed(text, key));
    button.addEventListener("click", () => give(label));
    return button;
  });
  byId("answers").prepend(...buttons);
  if (bySet) listenToActors(give);
}

export function drawAnswers(label) {
  for (const button of byId("answers").querySelectorAll("button.answer[data-label]")) {
    button.setAttribute("aria-pressed", String(button.dataset.label === label));
  }
  if (bySet) readDraft(label);
}

// Whether a key is an answer, which is then given.
export function answerKey(key, give) {
  const found = wholeAnswers.find(([, , own]) => own === key);
  if (found) give(found[0]);
  else if (bySet && key >= "1" && key <= String(DIGITS)) shownActors()[Number(key) - 1]?.click();
  else if (sheet.kind === "actors" && key === "o") turnOther();
  else if (bySet && key === "/" && !byId("filter-line").hidden) byId("filter").focus();
  else if (bySet && key === "enter" && draftLabel()) give(draftLabel());
  else return false;
  return true;
}
