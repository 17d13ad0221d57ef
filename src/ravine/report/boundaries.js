"use strict";
/* Boundaries between the clusters of the chosen cut, for trees whose leaves are joined. */

const ACROSS = { line: "lowest density", axis: "coordinate across the boundary" };

/** List the boundaries of the chosen cut, each with its two clusters, the weakest first. */
function listBoundaries() {
  const { groups, numbers } = data.cuts[state.cut];
  const clusterOfGroup = new Map(groups.map((g, k) => [g, numbers[k]]));
  return data.boundaries
    .map((boundary, i) => ({ ...boundary, i, clusters: boundary.groups.map((g) => clusterOfGroup.get(g)) }))
    .filter(({ clusters }) => clusters.every((k) => k !== undefined));
}

function drawBoundary(boundary) {
  const { clusters, drawn, at } = boundary;
  const clusterOf = (i) => clusters[i < drawn[0] ? 0 : 1];
  const rows = at.map((_, i) => i);
  const picture = drawDensity({ ...boundary, rows }, clusters.map(colourClass), (i) => colourClass(clusterOf(i)), (i) => {
    byId("status").textContent = `a row of cluster ${clusterOf(i)}, coordinate ${formatNumber(at[i])}`;
  }, ACROSS);
  picture.setAttribute("aria-label", `Density of ${formatRows(boundary.near[0] + boundary.near[1])} near the boundary, across it. The left and right arrow keys move through the rows.`);
  return picture;
}

function describeBoundary({ clusters, near, at, z }) {
  const total = near[0] + near[1];
  const dots = at.length === total ? "Dots are rows near the boundary" : `Dots are ${formatCount(at.length)} of ${formatRows(total)} near the boundary`;
  const verdict = z.startsWith("z") ? `The evidence for a valley is ${z}.` : z === "no valley" ? "There is no valley between these clusters." : "Too few rows are near the boundary to measure a valley.";
  return `${verdict} ${dots}: ${formatCount(near[0])} of cluster ${clusters[0]} and ${formatCount(near[1])} of cluster ${clusters[1]}; their height has no meaning. The coordinate says how much farther the other cluster is than it would be without a valley; 0 is the lowest density.`;
}

function makeBoundary(boundary) {
  const { clusters, near, z } = boundary;
  const chips = clusters.map((k) => make("span", `chip ${colourClass(k)}`, k));
  const words = make("span", "words", "Clusters ", chips[0], " and ", chips[1], make("small", "", near[0] + near[1] ? `${formatRows(near[0] + near[1])} near it` : "few rows near it"));
  const head = make("summary", "", drawSparkline(boundary.curve, clusters.map(colourClass)), words, make("strong", "z", z));
  const box = make("details", "panel", head);
  box.id = `boundary-${boundary.i}`;
  box.addEventListener("toggle", () => {
    if (!box.open || box.childElementCount > 1) return;
    if (boundary.curve) box.append(drawBoundary(boundary));
    box.append(make("p", "quiet", boundary.curve ? describeBoundary(boundary) : "Too few rows are near the boundary to draw a density."));
  });
  return box;
}

/** Show the boundaries of the chosen cut; those that were open stay open, and a single one is. */
function showBoundaries() {
  if (!data.joined) return;
  const found = listBoundaries();
  const open = new Set([...byId("boundary-list").querySelectorAll("details[open]")].map((box) => box.id));
  byId("boundaries").hidden = byId("nav-boundaries").hidden = groupsNow().size < 2;
  byId("boundaries-words").textContent = found.length
    ? "A cluster is a union of cells, so a boundary may bend. Each curve is the density of the rows near a boundary, along a coordinate across it; z is the evidence for the valley. Open a boundary for its picture."
    : "No row has nearest neighbours in another cluster: the clusters are far apart.";
  byId("boundary-list").replaceChildren(...found.map((boundary) => {
    const box = makeBoundary(boundary);
    box.open = open.has(box.id) || (found.length === 1 && !open.size);
    return make("li", "", box);
  }));
}
