"use strict";
/* Details of the selected split or cluster. */

function makeFact(name, value) {
  return make("div", "", make("dt", "", name), make("dd", "", value));
}

function showDetail() {
  const k = state.split;
  const split = data.splits[k];
  const cluster = isTree && state.clusterOf.has(k);
  const parts = [];
  if (!split) return;
  if (!isTree) parts.push(make("h3", "", isolate(data.classes[split.first]), " or ", isolate(data.classes[split.second])));
  else parts.push(make("h3", cluster ? `chip ${sideColour(k)}` : "", nameOf(k)));
  const facts = make("dl", "facts", makeFact("rows", `${formatCount(split.size)} (${formatShare(split.size)})`));
  if (split.weights && !cluster) {
    if (split.depth !== null) facts.append(makeFact("relative depth", formatDepth(split.depth)));
    if (split.p !== null) facts.append(makeFact("test of the valley", split.p));
  } else if (split.p !== null && split.p !== undefined && (!split.weights || isSuggested(k))) facts.append(makeFact("test of a further split", split.p));
  if (isTree) facts.append(makeFact("node in the model", k));
  parts.push(facts);
  if (isTree && !cluster && isSuggested(k)) parts.push(make("p", "mark", SUGGESTED));
  if (cluster) parts.push(...makeClusterParts(k, split));
  if (split.weights && (!cluster || isInner(k))) parts.push(...makeSplitParts(k, split, cluster));
  else parts.push(...makeRowParts(split, split.rows.slice(0, 6), -1, "Some of its rows"));
  byId("detail").replaceChildren(...parts);
}

/** Show the features that set a cluster apart and the splits that lead to it. */
function makeClusterParts(k, split) {
  const cluster = state.clusterOf.get(k);
  const group = groupsNow().get(cluster);
  const parts = [];
  const pieces = countLeaves(cluster);
  if (pieces > 1) parts.push(make("p", "quiet", `This is one of ${pieces} leaves that were ${data.joined ? "joined" : "merged"} into one cluster; the features are those of the whole cluster.`));
  if (group.apart.length) {
    const largest = Math.max(...group.apart.map((row) => Math.abs(row[1] || 0)), 1);
    const bars = makeEffectBars(group, 12, largest);
    bars.classList.add("wide");
    parts.push(make("h4", "", "Features that set it apart"), bars);
  }
  const path = [];
  for (let child = k, node = split.parent; node >= 0; child = node, node = data.splits[node].parent) {
    const side = data.splits[node].left === child ? "left" : "right";
    path.unshift(make("li", "", makeLink(`Split ${data.splits[node].order + 1}`, () => select(node, true, false)), `: ${side} side${isSuggested(node) ? ` (${SUGGESTED})` : ""}`));
  }
  if (path.length) parts.push(make("h4", "", "Splits that lead here"), make("ol", "path", ...path));
  return parts;
}

function makeSplitParts(k, split, cluster) {
  const parts = [];
  if (cluster) {
    parts.push(make("h4", "", "Next split"), make("p", "quiet", `Split ${split.order + 1} divides this cluster in the full tree; it is not made with ${formatPlural(groupsNow().size, "cluster")}.`));
    if (isSuggested(k)) parts.push(make("p", "mark", SUGGESTED));
  } else if (split.depth > 0) {
    parts.push(make("p", "", `At the lower of the two adjacent peaks, the density is ${formatFactor(split.depth)} that at the hyperplane.`));
  } else if (split.depth === 0) {
    parts.push(make("p", "", isTree ? `The hyperplane does not lie between two peaks of the density${data.joined ? ": it only cuts cells" : ""}.` : "The hyperplane follows the labels: it does not lie between two peaks of the density."));
  }
  const sides = make("div", "sides");
  [["◀ ", ""], ["", " ▶"]].forEach(([before, after], side) => {
    const box = make("div", "", make("strong", "", `${before}${formatRows(split.sides[side])}${after}`), make("br", ""));
    if (!isTree) box.append(isolate(data.classes[side ? split.second : split.first]));
    else if (!cluster) {
      const node = side ? split.right : split.left;
      box.append(makeLink(nameOf(node), () => select(node, true, false)));
      if (isShownInner(node)) box.append(` (${formatClusters(findClusters(node))})`);
    }
    sides.append(box);
  });
  parts.push(sides);
  const rowsBox = make("div", "");
  const nearest = split.at ? split.at.map((_, i) => i).sort((a, b) => Math.abs(split.at[a]) - Math.abs(split.at[b])) : [];
  const showRows = (i, heading) => {
    const around = i < 0 ? nearest.slice(0, 6) :
      split.at.map((_, j) => j).sort((a, b) => Math.abs(split.at[a] - split.at[i]) - Math.abs(split.at[b] - split.at[i])).slice(0, 6).sort((a, b) => split.at[a] - split.at[b]);
    rowsBox.replaceChildren(...makeRowParts(split, around.map((j) => split.rows[j]), i < 0 ? -1 : split.rows[i], heading, around.map((j) => split.at[j])));
  };
  if (split.curve) {
    const picture = drawDensity(split, sideColours(k), (row) => colourClass(clusterOfRow(row)), (i) => {
      showRows(i, "Rows at the pointer");
      byId("status").textContent = `${data.keyName} ${data.sample.keys[split.rows[i]]}, distance ${formatNumber(split.at[i])}`;
    });
    picture.setAttribute("aria-label", `Density of ${formatRows(split.size)} along the normal of the hyperplane: ${split.sides[0]} to its left and ${split.sides[1]} to its right. The left and right arrow keys move through the rows of the sample.`);
    parts.push(picture, make("p", "quiet", describeCurve(split)));
  } else parts.push(make("p", "quiet", "All rows of these classes are equal: there is nothing to draw."));
  parts.push(...makeDirectionParts(split));
  showRows(-1, "Rows nearest to the hyperplane");
  parts.push(rowsBox);
  return parts;
}

function describeCurve(split) {
  const { own, out, bandwidth } = split.curve;
  const dots = split.rows.length === split.size ? "Dots are rows" : `Dots are ${formatCount(split.rows.length)} of the rows`;
  let text = `${dots}; their height has no meaning. Point at one, or use the arrow keys, to read its values. The bandwidth of the curve is ${formatNumber(bandwidth)}`;
  text += own ? "." : ", chosen for the drawing.";
  const far = out[0] + out[1];
  if (far) text += ` ${formatRows(far)} lie${far === 1 ? "s" : ""} outside the picture.`;
  return text;
}

function makeDirectionParts(split) {
  const largest = Math.max(...split.weights.map(([, weight]) => Math.abs(weight)));
  const list = make("div", "bars wide");
  for (const [feature, weight] of split.weights) {
    const name = make("span", "name", isolateFeature(feature));
    name.title = data.features[feature];
    list.append(name, make("span", "", drawBar(weight, largest)), make("span", "value", formatSigned(weight)));
  }
  const parts = [make("h4", "", "Direction"), make("p", "quiet", "Weights of the features in the normal of the hyperplane, in the units of the fit: a larger value moves a row to the right (filled bar) or to the left (hollow bar)."), list];
  const [n, norm] = split.others;
  if (n) parts.push(make("p", "quiet", `${formatPlural(n, "more feature")} with smaller weights (norm ${formatNumber(norm)}; the norm of all weights is 1).`));
  return parts;
}

/** Make a table of rows of the sample; the features with the largest weights come first. */
function makeRowParts(split, rows, now, heading, at) {
  if (!rows.length) return [];
  const weight = new Map((split.weights || []).map(([feature, w]) => [feature, Math.abs(w)]));
  const columns = data.sample.columns.map((feature, c) => [feature, c]).sort((a, b) => (weight.get(b[0]) || 0) - (weight.get(a[0]) || 0)).slice(0, 6);
  const head = make("tr", "", make("th", "", data.keyName), make("th", "", groupWord));
  if (data.sample.labels.length) head.append(make("th", "", "known ", isolate(data.labelName)));
  if (at) head.append(make("th", "", "distance"));
  head.append(...columns.map(([feature]) => make("th", "", isolateFeature(feature))));
  for (const cell of head.children) cell.scope = "col";
  const body = rows.map((row, i) => {
    const own = clusterOfRow(row);
    const line = make("tr", row === now ? "now" : "", make("th", "", isolate(data.sample.keys[row])),
      make("td", "", make("span", `chip ${colourClass(own)}`, isolate(isTree ? own : data.classes[own]))));
    const label = data.sample.labels[row];
    if (data.sample.labels.length) line.append(make("td", "", label < 0 ? "–" : isolate(data.labels[label])));
    if (at) line.append(make("td", "", formatNumber(at[i])));
    line.firstChild.scope = "row";
    line.append(...columns.map(([feature, c]) => make("td", "", formatValue(feature, data.sample.values[row][c]))));
    return line;
  });
  const table = make("table", "rows", make("thead", "", head), make("tbody", "", ...body));
  const box = make("div", "scroll", table);
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", heading);
  return [make("h4", "", heading), box];
}
