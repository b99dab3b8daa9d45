// The beginning: draw what is seen first, then the rest.

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
});
