// Changes that concern several parts of the page: another actor, period or document, or another address.

import { byId } from "./elements.js";
import { isState, readAddress, remember } from "./address.js";
import { drawBand, point } from "./bands.js";
import { drawList, drawScopes, focusFirst } from "./listing.js";
import { choice, evidence } from "./page.js";
import { closeReader, openDocument, redrawText } from "./reader.js";

function chooseActor(c) {
  choice.actor = c;
  choice.period = -1;
  if (choice.other === c) choice.other = -1;
  choice.scope = "actor"; // the list follows
  if (choice.row >= 0 && evidence.actor[choice.row] !== c) closeReader();
  drawBand();
  drawScopes();
  drawList();
  remember();
}

function chooseOther(c) {
  choice.other = c === choice.actor ? -1 : c;
  drawBand();
  remember();
}

function choosePeriod(i) {
  choice.period = i;
  choice.scope = "period";
  choice.order = "high";
  const open = choice.row;
  if (open >= 0 && (evidence.actor[open] !== choice.actor || evidence.period[open] !== i)) closeReader();
  point(i);
  drawScopes();
  drawList();
  remember();
  byId("documents").scrollIntoView();
  focusFirst();
}

// Draw everything as the address says, and return when the chart is drawn.
export async function restore() {
  const row = isState() ? readAddress() : -1;
  byId("find").value = choice.words;
  drawScopes();
  const drawn = drawBand();
  await drawList();
  if (row >= 0) await openDocument(row, false);
  else closeReader();
  await drawn;
  if (row >= 0) byId("reader").scrollIntoView();
}

export function listenToChoices() {
  addEventListener("ask-actor", ({ detail }) => chooseActor(detail));
  addEventListener("ask-other", ({ detail }) => chooseOther(detail));
  addEventListener("ask-period", ({ detail }) => choosePeriod(detail));
  addEventListener("ask-document", ({ detail }) => openDocument(detail));
  addEventListener("ask-search", redrawText);
  addEventListener("popstate", () => isState() && restore());
}
