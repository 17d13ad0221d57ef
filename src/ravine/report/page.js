"use strict";
/* The page: the clusters of the chosen cut, the tree (or the pairs of classes) and what is known of one split. */

const isTree = data.cuts.length > 0;
const state = { cut: data.cuts.length - 1, split: 0, clusterOf: new Map(), clusterOfLeaf: new Map() };
const word = isTree ? "cluster" : "class";
const words = isTree ? "clusters" : "classes";
const title = (k) => (isTree ? `Cluster ${k}` : data.classes[k]);
const inner = (k) => data.splits[k].left !== undefined;
const shownInner = (k) => inner(k) && !state.clusterOf.has(k);

// ------------------------------------------------------------------------------------------------ cut

/** The leaves of the tree below a node. */
function leavesBelow(node) {
  const found = [];
  const waiting = [node];
  while (waiting.length) {
    const k = waiting.pop();
    if (inner(k)) waiting.push(data.splits[k].right, data.splits[k].left);
    else found.push(k);
  }
  return found;
}

/** The clusters below a node, in the chosen cut. */
function clustersBelow(node) {
  return [...new Set(leavesBelow(node).map((leaf) => state.clusterOfLeaf.get(leaf)))].sort((a, b) => a - b);
}

/** Choose a number of clusters: nothing is fitted, the page knows every cut. */
function choose(cut) {
  state.cut = cut;
  state.clusterOf = new Map(data.cuts[cut].frontier);
  state.clusterOfLeaf = new Map();
  for (const [node, cluster] of state.clusterOf) {
    for (const leaf of leavesBelow(node)) state.clusterOfLeaf.set(leaf, cluster);
  }
  // What was selected may be inside a cluster now.
  let node = state.split;
  for (let k = node; k >= 0; k = data.splits[k].parent) if (state.clusterOf.has(k)) node = k;
  state.split = node;
}

const groupsNow = () => (isTree ? data.cuts[state.cut].groups : data.groups.map((_, k) => k));
const clusterOfRow = (row) => (isTree ? state.clusterOfLeaf.get(data.sample.parts[row]) : data.sample.parts[row]);

function showCut() {
  const n = data.cuts[state.cut].groups.length;
  byId("slider").value = String(n);
  byId("chosen").textContent = String(n);
  byId("fewer").disabled = state.cut === 0;
  byId("more").disabled = state.cut === data.cuts.length - 1;
  const all = data.cuts[data.cuts.length - 1].groups.length;
  byId("cut-words").textContent = n === all
    ? "Move it to see fewer clusters: later splits are undone, nothing is computed again."
    : `The first ${n - 1 === 1 ? "split" : `${n - 1} splits`} of ${all - 1}: ${n === 1 ? "none is made, " : ""}the result has ${all} clusters.`;
  byId("slider").setAttribute("aria-valuetext", `${n} cluster${n === 1 ? "" : "s"}`);
}

// ------------------------------------------------------------------------------------------------ groups

/** The features that set a group apart, as bars. */
function apart(group, most, largest) {
  const list = make("div", "bars");
  for (const [feature, effect, inside, outside, , sign] of group.apart.slice(0, most)) {
    const name = make("span", "name", name_(data.features[feature]));
    name.title = data.features[feature];
    const value = make("span", "value", number(inside), " ", make("small", "", `others ${number(outside)}`));
    const size = effect === null ? "constant inside and outside" : `${signed(effect)} sd`;
    value.title = size;
    const drawn = bar(effect === null ? sign * largest : effect, largest);
    const words_ = make("span", "unseen", `, ${size}, `);
    list.append(name, make("span", "", drawn, words_), value);
  }
  return list;
}

function labelWords(group) {
  if (!group.labels || !group.labelled) return null;
  const line = make("p", "quiet", `${data.labelName}: `);
  group.labels.forEach(([label, n], i) => line.append(i ? ", " : "", name_(data.labels[label]), ` (${count(n)})`));
  const rest = group.labelled - group.labels.reduce((sum, [, n]) => sum + n, 0);
  if (rest > 0) line.append(` and others (${count(rest)})`);
  return line;
}

function showGroups() {
  const groups = groupsNow().map((g) => data.groups[g]);
  const largest = Math.max(1, ...groups.flatMap((group) => group.apart.map((row) => Math.abs(row[1] || 0))));
  byId("groups-title").textContent = isTree ? "Clusters" : "Classes";
  byId("shares").replaceChildren(...groups.map((group, k) => {
    const part = make("button", colour(k));
    if (group.size > (isTree ? 0.05 : 0.15) * data.n) part.append(make("span", "", name_(isTree ? k : data.classes[k])));
    part.type = "button";
    part.style.setProperty("flex", `${Math.max(group.size, 1)} 1 0`);
    part.title = `${title(k)}: ${rows_(group.size)}`;
    part.setAttribute("aria-label", `${title(k)}: ${rows_(group.size)}, ${share(group.size)}`);
    part.addEventListener("click", () => byId(`card-${k}`).scrollIntoView({ block: "center" }));
    return part;
  }));
  byId("cards").replaceChildren(...groups.map((group, k) => {
    const card = make("li", `panel card ${colour(k)}`);
    card.id = `card-${k}`;
    card.append(make("h3", "", make("span", "", name_(title(k))), make("small", "", `${rows_(group.size)} · ${share(group.size)}`)));
    if (group.apart.length) card.append(apart(group, 5, largest));
    else card.append(make("p", "quiet", groups.length === 1 ? "All rows: there is nothing to compare with." : "No feature differs."));
    if (isTree) {
      const known = labelWords(group);
      if (known) card.append(known);
      const node = data.cuts[state.cut].frontier.find(([, cluster]) => cluster === k)[0];
      if (data.splits.length > 1) card.append(link("Where it is in the tree", () => select(node, true, true)));
    } else if (group.labelled) card.append(make("p", "quiet", `${count(group.labelled)} of them had a label.`));
    return card;
  }));
  byId("key-words").textContent = groups.length < 2 ? "" :
    `The features that set each ${word} apart most: its mean, the mean of all other rows, and a bar for their difference in ` +
    `pooled standard deviations (filled: higher, hollow: lower; the longest is ${number(Number(largest.toPrecision(2)))}).`;
  const agreement = isTree ? data.cuts[state.cut].agreement : null;
  byId("agreement").hidden = agreement === null || agreement === undefined;
  byId("agreement").textContent = agreement === null || agreement === undefined ? "" :
    `Compared with the known column “${data.labelName}”, which was not used: adjusted Rand index ${agreement.toFixed(2)} (1 is full agreement, 0 is chance).`;
}

// ------------------------------------------------------------------------------------------------ tree

/** A node that is a cluster in this cut, or a child that is split further. */
function nameOf(node) {
  return state.clusterOf.has(node) ? `Cluster ${state.clusterOf.get(node)}` : `Split ${data.splits[node].order + 1}`;
}

const sideColour = (node) => (state.clusterOf.has(node) ? colour(state.clusterOf.get(node)) : "none");

function colours(k) {
  const split = data.splits[k];
  if (!isTree) return [colour(split.first), colour(split.second)];
  return shownInner(k) ? [sideColour(split.left), sideColour(split.right)] : [sideColour(k), sideColour(k)];
}

function item(k) {
  const split = data.splits[k];
  const node = make("li", "");
  node.id = `split-${k}`;
  node.setAttribute("role", "treeitem");
  node.setAttribute("aria-level", String(split.level));
  node.tabIndex = -1;
  const line = make("div", "item");
  const text = make("span", "words");
  if (!isTree) {
    line.append(spark(split.curve, colours(k)));
    text.append(name_(data.classes[split.first]), " | ", name_(data.classes[split.second]), make("small", "", rows_(split.size)));
  } else if (shownInner(k)) {
    node.setAttribute("aria-expanded", "true");
    line.append(spark(split.curve, colours(k)));
    text.append(nameOf(k), make("small", "", [rows_(split.size), ...(split.depth === null ? [] : [`depth ${depthWords(split.depth)}`]), ...(split.p === null ? [] : [pWords(split.p)])].join(" · ")));
  } else {
    const size = make("i", "");
    size.style.setProperty("width", `${(100 * split.size) / data.n}%`);
    line.append(make("span", `swatch ${sideColour(k)}`, size));
    text.append(make("span", `chip ${sideColour(k)}`, nameOf(k)), make("small", "", `${rows_(split.size)} · ${share(split.size)}`));
  }
  line.append(text);
  node.append(line);
  node.setAttribute("aria-label", text.textContent.replace("rows", "rows,"));
  if (isTree && shownInner(k)) {
    const below = make("ul", split.level > 9 ? "deep" : "", item(split.left), item(split.right));
    below.setAttribute("role", "group");
    node.append(below);
  }
  line.addEventListener("click", () => select(k, true, window.matchMedia("(max-width: 52rem)").matches));
  line.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && tip(k, line));
  line.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
  return node;
}

function showTree() {
  byId("tree").replaceChildren(...(isTree ? [item(0)] : data.splits.map((_, k) => item(k))));
  markSelected();
}

function markSelected() {
  for (const node of byId("tree").querySelectorAll("[role=treeitem]")) {
    const here = node.id === `split-${state.split}`;
    node.setAttribute("aria-selected", String(here));
    node.tabIndex = here ? 0 : -1;
  }
}

function select(k, focus, scroll) {
  state.split = k;
  markSelected();
  showDetail();
  if (focus) byId(`split-${k}`).focus({ preventScroll: scroll });
  if (scroll) byId("detail").scrollIntoView({ block: "start" });
}

/** Arrow keys move through the tree as it is seen; left and right go up and down in it. */
function keyed(event) {
  const items = [...byId("tree").querySelectorAll("[role=treeitem]")];
  const here = items.findIndex((node) => node.id === `split-${state.split}`);
  const split = data.splits[state.split];
  const to = {
    ArrowDown: () => items[here + 1], ArrowUp: () => items[here - 1], Home: () => items[0], End: () => items[items.length - 1],
    ArrowLeft: () => byId(`split-${split.parent}`), ArrowRight: () => (isTree && shownInner(state.split) ? byId(`split-${split.left}`) : null),
    Enter: () => items[here], " ": () => items[here],
  }[event.key];
  if (!to) return;
  event.preventDefault();
  const node = to();
  if (node) { select(Number(node.id.slice(6)), true, false); tip(state.split, node.firstElementChild); }
}

/** A few rows of a node, beside it. */
function tip(k, beside) {
  const box = byId("tip");
  const split = data.splits[k];
  const some = split.rows.slice(0, 5);
  if (!some.length) return;
  const columns = data.sample.columns.slice(0, 2);
  box.replaceChildren(make("strong", "", `Some of its ${rows_(split.size)}`), ...some.map((row) => {
    const values = columns.map((feature, c) => `${data.features[feature]} ${number(data.sample.values[row][c])}`);
    return make("div", "", `${data.keyName} ${data.sample.keys[row]}: ${values.join(", ")}`);
  }));
  box.hidden = false;
  const at = beside.getBoundingClientRect();
  const right = at.right + 8 + box.offsetWidth < window.innerWidth;
  box.style.setProperty("left", `${right ? at.right + 8 : Math.max(8, window.innerWidth - box.offsetWidth - 8)}px`);
  box.style.setProperty("top", `${Math.max(8, Math.min(right ? at.top : at.bottom + 6, window.innerHeight - box.offsetHeight - 8))}px`);
}

// ------------------------------------------------------------------------------------------------ start

function refresh() {
  if (isTree) { choose(state.cut); showCut(); }
  showGroups();
  showTree();
  showDetail();
}

function toCut(cut) {
  state.cut = Math.min(Math.max(cut, 0), data.cuts.length - 1);
  refresh();
  const n = groupsNow().length;
  byId("status").textContent = `${n} cluster${n === 1 ? "" : "s"}`;
}

function theme() {
  const names = { "": "Theme: auto", light: "Theme: light", dark: "Theme: dark" };
  const button = byId("theme");
  const now = document.documentElement.dataset.theme || "";
  button.textContent = names[now];
  button.onclick = () => {
    document.documentElement.dataset.theme = { "": "dark", dark: "light", light: "" }[now];
    theme();
  };
  button.hidden = false;
}

function start() {
  theme();
  byId("live").hidden = false;
  const made = data.splits.filter((split) => split.weights).length;
  byId("nav-groups").textContent = isTree ? "Clusters" : "Classes";
  byId("splits-title").textContent = { tree: "The tree of splits", hyperplane: "The split", classifier: "The cuts between classes" }[data.kind];
  byId("splits-words").textContent = made === 0 ? "No split was found." :
    `Choose a ${isTree ? "split or a cluster" : "pair of classes"} to look into it (arrow keys work, too). Curves show how densely the rows lie along the direction of a split; the line is its cut.`;
  if (data.kind === "tree" && data.cuts.length > 1) {
    byId("cut").hidden = false;
    const counts = data.cuts.map((cut) => cut.groups.length);
    Object.assign(byId("slider"), { min: "1", max: String(counts[counts.length - 1]) });
    byId("slider").addEventListener("input", (event) => toCut(counts.findIndex((n) => n >= Number(event.target.value))));
    byId("fewer").addEventListener("click", () => toCut(state.cut - 1));
    byId("more").addEventListener("click", () => toCut(state.cut + 1));
  }
  byId("tree").addEventListener("keydown", keyed);
  byId("tree").addEventListener("focusout", () => { byId("tip").hidden = true; });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") byId("tip").hidden = true; });
  document.addEventListener("scroll", () => { byId("tip").hidden = true; }, { passive: true });
  refresh();
}

start();
