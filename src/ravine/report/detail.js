"use strict";
/* What is known of the selected split or cluster. */

function fact(name, value) {
  return make("div", "", make("dt", "", name), make("dd", "", value));
}

function showDetail() {
  const k = state.split;
  const split = data.splits[k];
  const cluster = isTree && state.clusterOf.has(k);
  const parts = [];
  if (!split) return;
  if (!isTree) parts.push(make("h3", "", name_(data.classes[split.first]), " or ", name_(data.classes[split.second])));
  else parts.push(make("h3", cluster ? `chip ${sideColour(k)}` : "", nameOf(k)));
  const facts = make("dl", "facts", fact("rows", `${count(split.size)} (${share(split.size)})`));
  if (split.weights && !cluster) {
    if (split.depth !== null) facts.append(fact("relative depth", depthWords(split.depth)));
    if (split.p !== null) facts.append(fact("test of the valley", pWords(split.p)));
  } else if (split.p !== null && split.p !== undefined && !split.weights) facts.append(fact("test of a further split", pWords(split.p)));
  if (isTree) facts.append(fact("node in the model", k));
  parts.push(facts);
  if (cluster) parts.push(...clusterParts(k, split));
  if (split.weights && (!cluster || inner(k))) parts.push(...splitParts(k, split, cluster));
  else parts.push(...rowParts(split, split.rows.slice(0, 6), -1, "Some rows"));
  byId("detail").replaceChildren(...parts);
}

/** Of a cluster: what sets it apart and how a row comes here. */
function clusterParts(k, split) {
  const cluster = state.clusterOf.get(k);
  const group = data.groups[groupsNow()[cluster]];
  const parts = [];
  const pieces = data.cuts[state.cut].frontier.filter(([, other]) => other === cluster).length;
  if (pieces > 1) parts.push(make("p", "quiet", `This is one of ${pieces} parts of the cluster, which were merged; the features are those of the whole cluster.`));
  if (group.apart.length) {
    const largest = Math.max(...group.apart.map((row) => Math.abs(row[1] || 0)), 1);
    const bars = apart(group, 12, largest);
    bars.classList.add("wide");
    parts.push(make("h4", "", "What sets it apart"), bars);
  }
  const path = [];
  for (let child = k, node = split.parent; node >= 0; child = node, node = data.splits[node].parent) {
    const side = data.splits[node].left === child ? "left" : "right";
    path.unshift(make("li", "", link(`Split ${data.splits[node].order + 1}`, () => select(node, true, false)), `: ${side} side of the cut`));
  }
  if (path.length) parts.push(make("h4", "", "How a row comes here"), make("ol", "path", ...path));
  return parts;
}

function splitParts(k, split, cluster) {
  const parts = [];
  if (cluster) {
    parts.push(make("h4", "", "Its next split"), make("p", "quiet", `Split ${split.order + 1} would divide it; it is not made with ${groupsNow().length} cluster${groupsNow().length === 1 ? "" : "s"}.`));
  } else if (split.depth > 0) {
    parts.push(make("p", "", `The lower of the two peaks beside the cut is ${times(split.depth)} as dense as the cut itself.`));
  } else if (split.depth === 0) {
    parts.push(make("p", "", isTree ? "The cut does not lie between two peaks of the density." : "The cut follows the labels: it does not lie between two peaks of the density."));
  }
  const sides = make("div", "sides");
  [["◀ ", ""], ["", " ▶"]].forEach(([before, after], side) => {
    const box = make("div", "", make("strong", "", `${before}${rows_(split.sides[side])}${after}`), make("br", ""));
    if (!isTree) box.append(name_(data.classes[side ? split.second : split.first]));
    else if (!cluster) {
      const node = side ? split.right : split.left;
      box.append(link(nameOf(node), () => select(node, true, false)));
      if (shownInner(node)) box.append(` (clusters ${listed(clustersBelow(node))})`);
    }
    sides.append(box);
  });
  parts.push(sides);
  const rowsBox = make("div", "");
  const nearest = split.at ? split.at.map((_, i) => i).sort((a, b) => Math.abs(split.at[a]) - Math.abs(split.at[b])) : [];
  const showRows = (i, heading) => {
    const around = i < 0 ? nearest.slice(0, 6) :
      split.at.map((_, j) => j).sort((a, b) => Math.abs(split.at[a] - split.at[i]) - Math.abs(split.at[b] - split.at[i])).slice(0, 6).sort((a, b) => split.at[a] - split.at[b]);
    rowsBox.replaceChildren(...rowParts(split, around.map((j) => split.rows[j]), i < 0 ? -1 : split.rows[i], heading, around.map((j) => split.at[j])));
  };
  if (split.curve) {
    const picture = plot(split, colours(k), (row) => colour(clusterOfRow(row)), (i) => {
      showRows(i, "Rows where you point");
      byId("status").textContent = `${data.keyName} ${data.sample.keys[split.rows[i]]}, distance ${number(split.at[i])}`;
    });
    picture.setAttribute("aria-label", `Density of ${rows_(split.size)} along the direction of the split: ${split.sides[0]} left and ${split.sides[1]} right of the cut. Left and right arrow keys go through rows of the sample.`);
    parts.push(picture, make("p", "quiet", curveWords(split)));
  } else parts.push(make("p", "quiet", "All rows of these classes are equal: there is nothing to draw."));
  parts.push(...directionParts(split));
  showRows(-1, "Rows nearest to the cut");
  parts.push(rowsBox);
  return parts;
}

function curveWords(split) {
  const { own, out, bandwidth } = split.curve;
  const dots = split.rows.length === split.size ? "Dots are rows" : `Dots are ${count(split.rows.length)} of the rows`;
  let text = `${dots}; their height means nothing. Point at one, or use the arrow keys, to read it. The curve has the bandwidth ${number(bandwidth)}`;
  text += own ? "." : ", chosen for the drawing.";
  if (out[0] + out[1]) text += ` ${rows_(out[0] + out[1])} lie${out[0] + out[1] === 1 ? "s" : ""} further out.`;
  return text;
}

function directionParts(split) {
  const largest = Math.max(...split.weights.map(([, weight]) => Math.abs(weight)));
  const list = make("div", "bars wide");
  for (const [feature, weight] of split.weights) {
    const name = make("span", "name", name_(data.features[feature]));
    name.title = data.features[feature];
    list.append(name, make("span", "", bar(weight, largest)), make("span", "value", signed(weight)));
  }
  const parts = [make("h4", "", "Its direction"), make("p", "quiet", "How much each feature, as the method saw it, moves a row: to the right if it is filled, to the left if it is hollow."), list];
  const [n, norm] = split.others;
  if (n) parts.push(make("p", "quiet", `${count(n)} more feature${n === 1 ? "" : "s"} with smaller weights (together ${number(norm)}, of 1).`));
  return parts;
}

/** Rows of the sample as a table: the features that weigh most here come first. */
function rowParts(split, rows, now, heading, at) {
  if (!rows.length) return [];
  const weight = new Map((split.weights || []).map(([feature, w]) => [feature, Math.abs(w)]));
  const columns = data.sample.columns.map((feature, c) => [feature, c]).sort((a, b) => (weight.get(b[0]) || 0) - (weight.get(a[0]) || 0)).slice(0, 6);
  const head = make("tr", "", make("th", "", data.keyName), make("th", "", word));
  if (data.sample.labels.length) head.append(make("th", "", name_(data.labelName)));
  if (at) head.append(make("th", "", "distance"));
  head.append(...columns.map(([feature]) => make("th", "", name_(data.features[feature]))));
  for (const cell of head.children) cell.scope = "col";
  const body = rows.map((row, i) => {
    const own = clusterOfRow(row);
    const line = make("tr", row === now ? "now" : "", make("td", "", name_(data.sample.keys[row])),
      make("td", "", make("span", `chip ${colour(own)}`, name_(isTree ? own : data.classes[own]))));
    const label = data.sample.labels[row];
    if (data.sample.labels.length) line.append(make("td", "", label < 0 ? "–" : name_(data.labels[label])));
    if (at) line.append(make("td", "", number(at[i])));
    line.append(...columns.map(([, c]) => make("td", "", number(data.sample.values[row][c]))));
    return line;
  });
  const table = make("table", "rows", make("thead", "", head), make("tbody", "", ...body));
  const box = make("div", "scroll", table);
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", heading);
  return [make("h4", "", heading), box];
}
