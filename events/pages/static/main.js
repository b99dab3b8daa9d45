// Start: draw the large chart and the list first, then the small charts.

import { startAudited } from "./audited.js";
import { drawTable, listenToBand } from "./bands.js";
import { startDesk } from "./desk.js";
import { listenToChoices, restore } from "./choices.js";
import { listenToList } from "./listing.js";
import { startOthers } from "./others.js";
import { actors } from "./page.js";
import { listenToPanels } from "./panels.js";
import { listenToReader } from "./reader.js";

const closedDetails = [];
const hasEvents = actors.length > 0;

addEventListener("beforeprint", () => {
  if (hasEvents) drawTable();
  for (const part of document.querySelectorAll("details:not([open], .other-list *)")) {
    part.open = true;
    closedDetails.push(part);
  }
});
addEventListener("afterprint", () => closedDetails.splice(0).forEach((part) => (part.open = false)));

async function startCounts() {
  listenToBand();
  listenToList();
  listenToReader();
  listenToChoices();
  await restore();
  performance.mark("band-drawn");
  document.documentElement.dataset.band = "drawn";
  listenToPanels();
}

startDesk();
(hasEvents ? startCounts() : Promise.resolve()).then(startAudited);
startOthers();
