// Start: draw the large chart and the list first, then the small charts.

import { startAudited } from "./audited.js";
import { drawBand, drawTable, listenToBand, listenToPanels } from "./bands.js";
import { drawList, drawScopes, listenToList } from "./listing.js";
import { startOthers } from "./others.js";
import { listenToReader } from "./reader.js";

const closedDetails = [];

addEventListener("beforeprint", () => {
  drawTable();
  for (const part of document.querySelectorAll("details:not([open])")) {
    part.open = true;
    closedDetails.push(part);
  }
});
addEventListener("afterprint", () => closedDetails.splice(0).forEach((part) => (part.open = false)));

listenToBand();
listenToList();
listenToReader();
drawScopes();
drawList();
drawBand().then(() => {
  performance.mark("band-drawn");
  document.documentElement.dataset.band = "drawn";
  listenToPanels();
  return startAudited();
});
startOthers();
