// The state of the page is in its address, after #: Back works, and a link shows what its sender saw.

import { byId } from "./elements.js";
import { actors, choice, documents, evidence, periods } from "./page.js";

const SCOPES = ["all", "actor", "period"];
const ORDERS = () => [...byId("order").options].map(({ value }) => value);

function addressOf() {
  const fields = new URLSearchParams();
  const set = (name, value, usual) => value !== usual && fields.set(name, value);
  set("actor", actors[choice.actor].code, actors[0].code);
  set("beside", choice.other < 0 ? "" : actors[choice.other].code, "");
  set("period", choice.period < 0 ? "" : periods[choice.period].label, "");
  set("show", choice.scope, "all");
  set("order", choice.order, "half");
  set("find", choice.words, "");
  if (choice.row >= 0) {
    fields.set("document", documents.id[evidence.document[choice.row]]);
    set("of", actors[evidence.actor[choice.row]].code, actors[choice.actor].code);
  }
  return `#${fields}`;
}

// Keep the state; `isNew` adds a step to which Back returns.
export function remember(isNew = true) {
  const address = addressOf();
  if (address === (location.hash || "#")) return;
  history[isNew ? "pushState" : "replaceState"](null, "", address);
}

// Read the state from the address; what it names and this page has not is left out. The row of the document, or -1.
export function readAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const actorOf = (code) => actors.findIndex((actor) => actor.code === code);
  choice.actor = Math.max(0, actorOf(fields.get("actor")));
  choice.other = actorOf(fields.get("beside"));
  choice.period = periods.findIndex(({ label }) => label === fields.get("period"));
  choice.scope = SCOPES.includes(fields.get("show")) ? fields.get("show") : "all";
  if (choice.scope === "period" && choice.period < 0) choice.scope = "actor";
  choice.order = ORDERS().includes(fields.get("order")) ? fields.get("order") : "half";
  choice.words = fields.get("find") ?? "";
  const d = documents.id.indexOf(fields.get("document"));
  const actor = fields.has("of") ? actorOf(fields.get("of")) : choice.actor;
  const rows = evidence.document.flatMap((each, row) => (each === d ? [row] : []));
  rows.sort((a, b) => evidence.probability[b] - evidence.probability[a]);
  return rows.find((row) => evidence.actor[row] === actor) ?? rows[0] ?? -1;
}

// Whether the address is a state, not the name of a part of the page.
export const isState = () => location.hash.length < 2 || location.hash.includes("=");
