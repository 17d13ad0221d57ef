"use strict";
/* The page: clusters of the chosen cut, the tree or the pairs of classes, and the details of one split. */

const isTree = data.cuts.length > 0;
const state = { cut: data.firstCut, split: 0, clusterOf: new Map(), clusterOfLeaf: new Map() };
const groupWord = isTree ? "cluster" : "class";
const groupTitle = (k) => (isTree ? `Cluster ${k}` : data.classes[k]);
const isInner = (k) => data.splits[k].left !== undefined;
/** Return whether a split is beyond those that the test shows. */
const isSuggested = (k) => data.nShown !== null && isInner(k) && data.splits[k].order >= data.nShown - 1;
const SUGGESTED = "suggested, not shown by the test";
const isShownInner = (k) => isInner(k) && !state.clusterOf.has(k);

// ------------------------------------------------------------------------------------------------ cut

/** Return the leaves of the tree below a node. */
function findLeaves(node) {
  const found = [];
  const waiting = [node];
  while (waiting.length) {
    const k = waiting.pop();
    if (isInner(k)) waiting.push(data.splits[k].right, data.splits[k].left);
    else found.push(k);
  }
  return found;
}

/** Return the clusters below a node in the chosen cut. */
function findClusters(node) {
  return [...new Set(findLeaves(node).map((leaf) => state.clusterOfLeaf.get(leaf)))].sort((a, b) => a - b);
}

/** Choose a cut; the page contains all cuts of the tree, so nothing is fitted again. */
function chooseCut(cut) {
  const { frontier, numbers } = data.cuts[cut];
  state.cut = cut;
  state.clusterOf = new Map(frontier.map(([node, k]) => [node, numbers[k]]));
  state.clusterOfLeaf = new Map();
  for (const [node, cluster] of state.clusterOf) {
    for (const leaf of findLeaves(node)) state.clusterOfLeaf.set(leaf, cluster);
  }
  // The selected node may lie inside a cluster now.
  let node = state.split;
  for (let k = node; k >= 0; k = data.splits[k].parent) if (state.clusterOf.has(k)) node = k;
  state.split = node;
}

/** Return the groups of the chosen cut by number; a cluster keeps its number and colour when others are joined. */
function groupsNow() {
  if (!isTree) return new Map(data.groups.map((group, k) => [k, group]));
  const { groups, numbers } = data.cuts[state.cut];
  return new Map(groups.map((g, k) => [numbers[k], data.groups[g]]).sort((a, b) => a[0] - b[0]));
}

/** Count the leaves of a cluster of the chosen cut. */
const countLeaves = (cluster) => [...state.clusterOf.values()].filter((other) => other === cluster).length;

/** List the clusters of the result that a cluster of the chosen cut unites. */
function findUnited(cluster) {
  const { frontier, numbers } = data.cuts[data.firstCut];
  const united = frontier.filter(([node]) => findLeaves(node).some((leaf) => state.clusterOfLeaf.get(leaf) === cluster));
  return [...new Set(united.map(([, k]) => numbers[k]))].sort((a, b) => a - b);
}

const formatClusters = (numbers) => `cluster${numbers.length > 1 ? "s" : ""} ${formatList(numbers)}`;
const clusterOfRow = (row) => (isTree ? state.clusterOfLeaf.get(data.sample.parts[row]) : data.sample.parts[row]);

function showCut() {
  const n = data.cuts[state.cut].groups.length;
  byId("slider").value = String(n);
  byId("chosen").textContent = String(n);
  byId("fewer").disabled = state.cut === 0;
  byId("more").disabled = state.cut === data.cuts.length - 1;
  byId("cut-mark").hidden = !isBeyondShown(n);
  byId("cut-words").textContent = data.nShown === null ? describeCut(n) : describeSuggestion(n);
  byId("slider").setAttribute("aria-valuetext", nameCut(n));
}

const isBeyondShown = (n) => data.nShown !== null && n > data.nShown;
const nameCut = (n) => formatPlural(n, "cluster") + (isBeyondShown(n) ? `, ${SUGGESTED}` : "");

function describeCut(n) {
  const all = data.cuts[data.cuts.length - 1].groups.length;
  return n === all
    ? `Move the slider to see fewer clusters: ${data.joined ? "they are joined across the weakest boundaries" : "later splits are undone"}. Nothing is fitted again.`
    : `The result has ${all} clusters. A cluster keeps its number and colour when others are joined; joined ones have those of the largest.`;
}

function describeSuggestion(n) {
  const shown = data.nShown;
  const numbers = `${data.suggestion}.`;
  if (n > shown) return `${numbers} ${formatPlural(n - shown, "split")} of this view ${n - shown === 1 ? "is" : "are"} only suggested, dashed in the tree.`;
  if (n === shown) return `${numbers} Move the slider to the right for the suggested splits${n > 1 ? ", to the left to undo splits" : ""}; nothing is fitted again.`;
  return `${numbers} ${n - 1} of ${formatPlural(shown - 1, "split")} that the test shows ${n === 2 ? "is" : "are"} made.`;
}

// ------------------------------------------------------------------------------------------------ groups

/** Make bars of the features that set a group apart. */
function makeEffectBars(group, most, largest) {
  const list = make("div", "bars");
  for (const [feature, effect, inside, outside, , sign, p] of group.apart.slice(0, most)) {
    const name = make("span", "name", isolateFeature(feature));
    name.title = data.features[feature];
    const value = make("span", "value", formatMean(feature, inside), " ", make("small", "", `others ${formatMean(feature, outside)}`));
    const size = effect === null ? "constant inside and outside" : `${formatSigned(effect)} sd`;
    value.title = size;
    const drawn = drawBar(effect === null ? sign * largest : effect, largest);
    const spoken = make("span", "unseen", `, ${size}, `);
    const bar = make("span", "", drawn, spoken);
    if (p !== null) bar.append(make("small", "pvalue", p));
    list.append(name, bar, value);
  }
  return list;
}

function describeLabels(group) {
  if (!group.labels || !group.labelled) return null;
  const line = make("p", "quiet", `${data.labelName}: `);
  group.labels.forEach(([label, n], i) => line.append(i ? ", " : "", isolate(data.labels[label]), ` (${formatCount(n)})`));
  const rest = group.labelled - group.labels.reduce((sum, [, n]) => sum + n, 0);
  if (rest > 0) line.append(` and others (${formatCount(rest)})`);
  return line;
}

function showGroups() {
  const numbered = [...groupsNow()];
  const groups = numbered.map(([, group]) => group);
  const largest = Math.max(1, ...groups.flatMap((group) => group.apart.map((row) => Math.abs(row[1] || 0))));
  byId("groups-title").textContent = groups.length > 1 ? `What sets each ${groupWord} apart` : "The cluster";
  byId("cards").replaceChildren(...numbered.map(([k, group]) => {
    const card = make("li", `panel card ${colourClass(k)}`);
    card.id = `card-${k}`;
    card.append(make("h3", "", make("span", `chip ${colourClass(k)}`, isolate(groupTitle(k))), make("small", "", `${formatRows(group.size)} · ${formatShare(group.size)}`)));
    if (group.apart.length) card.append(makeEffectBars(group, 5, largest));
    else card.append(make("p", "quiet", groups.length === 1 ? "All rows belong to this cluster: there is nothing to compare it with." : "No feature differs from the other rows."));
    if (isTree) {
      const leaves = countLeaves(k);
      const united = findUnited(k);
      if (united.length > 1) card.append(make("p", "quiet", `Joins the ${formatClusters(united)} of the result.`));
      else if (data.joined && leaves > 1) card.append(make("p", "quiet", `A union of ${leaves} joined cells.`));
      const known = describeLabels(group);
      if (known) card.append(known);
      const node = [...state.clusterOf].find(([, cluster]) => cluster === k)[0];
      if (data.splits.length > 1) card.append(makeLink("Show in the tree", () => select(node, true, true)));
    } else if (group.labelled) card.append(make("p", "quiet", `${formatCount(group.labelled)} of these rows had a label.`));
    return card;
  }));
  byId("key-words").textContent = groups.length < 2 ? "" :
    `Each feature has its mean${isShare.size ? " (or share of rows)" : ""} in the ${groupWord}, that of all other rows, and a bar for the difference in ` +
    `pooled standard deviations (filled: higher, hollow: lower; the longest bar is ${formatNumber(Number(largest.toPrecision(2)))}).` +
    (groups.some((group) => group.apart.some((row) => row[6] !== null)) ? " P is from rows that had no part in finding clusters, corrected for all features and clusters." : "");
  const agreement = isTree ? data.cuts[state.cut].agreement : null;
  byId("agreement").hidden = agreement === null || agreement === undefined;
  byId("agreement").textContent = agreement === null || agreement === undefined ? "" :
    `Agreement with the known labels “${data.labelName}”, which were not used: adjusted Rand index ${agreement.toFixed(2)} (1 is full agreement, 0 is chance).`;
}

// ------------------------------------------------------------------------------------------------ tree

/** Name a node as a cluster of this cut or as a split. */
function nameOf(node) {
  return state.clusterOf.has(node) ? `Cluster ${state.clusterOf.get(node)}` : `Split ${data.splits[node].order + 1}`;
}

const sideColour = (node) => (state.clusterOf.has(node) ? colourClass(state.clusterOf.get(node)) : "none");

function sideColours(k) {
  const split = data.splits[k];
  if (!isTree) return [colourClass(split.first), colourClass(split.second)];
  return isShownInner(k) ? [sideColour(split.left), sideColour(split.right)] : [sideColour(k), sideColour(k)];
}

function makeItem(k) {
  const split = data.splits[k];
  const node = make("li", "");
  if (isTree && isShownInner(k) && isSuggested(k)) node.className = "suggested";
  node.id = `split-${k}`;
  node.setAttribute("role", "treeitem");
  node.setAttribute("aria-level", String(split.level));
  node.tabIndex = -1;
  const line = make("div", "item");
  const text = make("span", "words");
  if (!isTree) {
    line.append(drawSparkline(split.curve, sideColours(k)));
    text.append(isolate(data.classes[split.first]), " | ", isolate(data.classes[split.second]), make("small", "", formatRows(split.size)));
  } else if (isShownInner(k)) {
    node.setAttribute("aria-expanded", "true");
    line.append(drawSparkline(split.curve, sideColours(k)));
    text.append(nameOf(k), make("small", "", [formatRows(split.size), ...(split.depth === null ? [] : [`depth ${formatDepth(split.depth)}`]), ...(split.p === null ? [] : [split.p])].join(" · ")));
    if (isSuggested(k)) text.append(make("small", "mark", SUGGESTED));
  } else {
    const size = make("i", "");
    size.style.setProperty("width", `${(100 * split.size) / data.n}%`);
    line.append(make("span", `swatch ${sideColour(k)}`, size));
    text.append(make("span", `chip ${sideColour(k)}`, nameOf(k)), make("small", "", `${formatRows(split.size)} · ${formatShare(split.size)}`));
  }
  line.append(text);
  node.append(line);
  node.setAttribute("aria-label", text.textContent.replace("rows", "rows,"));
  if (isTree && isShownInner(k)) {
    const below = make("ul", split.level > 9 ? "deep" : "", makeItem(split.left), makeItem(split.right));
    below.setAttribute("role", "group");
    node.append(below);
  }
  line.addEventListener("click", () => select(k, true, window.matchMedia("(max-width: 52rem)").matches));
  line.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && showTip(k, line));
  line.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
  return node;
}

function showTree() {
  byId("tree").replaceChildren(...(isTree ? [makeItem(0)] : data.splits.map((_, k) => makeItem(k))));
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

/** Move through the tree with the arrow keys; left and right go to the parent and to a child. */
function handleTreeKey(event) {
  const items = [...byId("tree").querySelectorAll("[role=treeitem]")];
  const here = items.findIndex((node) => node.id === `split-${state.split}`);
  const split = data.splits[state.split];
  const to = {
    ArrowDown: () => items[here + 1], ArrowUp: () => items[here - 1], Home: () => items[0], End: () => items[items.length - 1],
    ArrowLeft: () => byId(`split-${split.parent}`), ArrowRight: () => (isTree && isShownInner(state.split) ? byId(`split-${split.left}`) : null),
    Enter: () => items[here], " ": () => items[here],
  }[event.key];
  if (!to) return;
  event.preventDefault();
  const node = to();
  if (node) { select(Number(node.id.slice(6)), true, false); showTip(state.split, node.firstElementChild); }
}

/** Show a few rows of a node beside it. */
function showTip(k, beside) {
  const box = byId("tip");
  const split = data.splits[k];
  const some = split.rows.slice(0, 5);
  if (!some.length) return;
  box.replaceChildren(make("strong", "", `Some of its ${formatRows(split.size)}`), ...some.map((row) => {
    return make("div", "", `${data.keyName} ${data.sample.keys[row]}: ${describeRow(row, 2)}`);
  }));
  placeTip(beside.getBoundingClientRect());
}

/** List the first values of a row. */
const describeRow = (row, most) => data.sample.columns.slice(0, most)
  .map((feature, c) => `${data.features[feature]} ${formatValue(feature, data.sample.values[row][c])}`).join(", ");

/** Show the tip beside a rectangle, inside the window. */
function placeTip(at) {
  const box = byId("tip");
  box.hidden = false;
  const right = at.right + 8 + box.offsetWidth < window.innerWidth;
  box.style.setProperty("left", `${right ? at.right + 8 : Math.max(8, window.innerWidth - box.offsetWidth - 8)}px`);
  box.style.setProperty("top", `${Math.max(8, Math.min(right ? at.top : at.bottom + 6, window.innerHeight - box.offsetHeight - 8))}px`);
}

// ------------------------------------------------------------------------------------------------ start

function refresh() {
  if (isTree) { chooseCut(state.cut); showCut(); }
  showMap();
  showGroups();
  showBoundaries();
  showTree();
  showDetail();
}

function goToCut(cut) {
  state.cut = Math.min(Math.max(cut, 0), data.cuts.length - 1);
  refresh();
  byId("status").textContent = nameCut(groupsNow().size);
}

function setUpTheme() {
  const names = { "": "Theme: auto", light: "Theme: light", dark: "Theme: dark" };
  const button = byId("theme");
  const now = document.documentElement.dataset.theme || "";
  button.textContent = names[now];
  button.onclick = () => {
    document.documentElement.dataset.theme = { "": "dark", dark: "light", light: "" }[now];
    setUpTheme();
  };
  button.hidden = false;
}

function start() {
  setUpTheme();
  for (const part of document.querySelectorAll(".live")) part.hidden = false;
  const made = data.splits.filter((split) => split.weights).length;
  byId("nav-groups").textContent = isTree ? "Clusters" : "Classes";
  setUpMap();
  byId("splits-title").textContent = { tree: "Tree of splits", hyperplane: "Split", classifier: "Hyperplanes between classes" }[data.kind];
  byId("splits-words").textContent = made === 0 ? "No split was found." :
    (data.joined ? "Hyperplanes cut the rows into cells, the leaves of this tree. Leaves of one cluster are joined, and a split need not follow a valley. " : "") +
    `Select a ${isTree ? "split or a cluster" : "pair of classes"} for details, with the pointer or the arrow keys. Each curve is the density of the rows along the normal of a hyperplane; the vertical line is the hyperplane.`;
  if (data.kind === "tree" && data.cuts.length > 1) {
    byId("cut").hidden = false;
    const counts = data.cuts.map((cut) => cut.groups.length);
    Object.assign(byId("slider"), { min: "1", max: String(counts[counts.length - 1]) });
    byId("slider").addEventListener("input", (event) => goToCut(counts.findIndex((n) => n >= Number(event.target.value))));
    byId("fewer").addEventListener("click", () => goToCut(state.cut - 1));
    byId("more").addEventListener("click", () => goToCut(state.cut + 1));
  }
  byId("tree").addEventListener("keydown", handleTreeKey);
  byId("tree").addEventListener("focusout", () => { byId("tip").hidden = true; });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") byId("tip").hidden = true; });
  window.addEventListener("beforeprint", () => { for (const box of document.querySelectorAll("#method-box, #about details")) box.open = true; });
  document.addEventListener("scroll", () => { byId("tip").hidden = true; }, { passive: true });
  refresh();
}

start();
