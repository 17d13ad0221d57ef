"use strict";
/* Map of the rows of the sample, with the list of clusters beside it. */

/** Outlines of the marks about a point, one for each class m0, m1, ...; every cluster has a colour and a mark. */
const MARKS = [
  (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  (x, y, r) => `M${x - 0.9 * r} ${y - 0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}Z`,
  (x, y, r) => `M${x} ${y - 1.25 * r}l${1.25 * r} ${1.25 * r}l${-1.25 * r} ${1.25 * r}l${-1.25 * r} ${-1.25 * r}Z`,
  (x, y, r) => `M${x} ${y - 1.2 * r}l${1.15 * r} ${2 * r}h${-2.3 * r}Z`,
  (x, y, r) => `M${x - 0.45 * r} ${y - 1.2 * r}h${0.9 * r}v${0.75 * r}h${0.75 * r}v${0.9 * r}h${-0.75 * r}v${0.75 * r}h${-0.9 * r}v${-0.75 * r}h${-0.75 * r}v${-0.9 * r}h${0.75 * r}Z`,
];
/** Share of the rows beyond each end that may set the range of an axis, and their largest distance from the others. */
const FAR = { share: 0.005, margin: 0.5 };
/** Rows at which a name may stand, and the distance at which marks and names are close. */
const NAMES = { candidates: 60, room: 24 };
const map = { places: [], pinned: null, now: -1 };

/** Return the range of an axis: rows far from all others are drawn at the edge. */
function findRange(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const few = Math.floor(FAR.share * sorted.length);
  const [low, high] = [sorted[few], sorted[sorted.length - 1 - few]];
  const margin = FAR.margin * (high - low);
  const ends = [Math.max(sorted[0], low - margin), Math.min(sorted[sorted.length - 1], high + margin)];
  return ends[1] > ends[0] ? ends : [ends[0] - 1, ends[1] + 1];
}

/** Return the positions of the rows in the sample that each cluster of the chosen cut contains. */
function listMembers() {
  const members = new Map([...groupsNow().keys()].map((k) => [k, []]));
  data.sample.parts.forEach((_, row) => members.get(clusterOfRow(row)).push(row));
  return members;
}

/** Let the pointer, and the arrow keys from left to right, move through the rows of the map. */
function setUpMap() {
  const picture = byId("picture");
  const order = data.map.at[0].map((_, i) => i).sort((i, j) => data.map.at[0][i] - data.map.at[0][j]);
  const show = (row) => {
    if (row === map.now) return;
    map.now = row;
    markRow();
    const k = clusterOfRow(row);
    const box = picture.getBoundingClientRect();
    const [x, y] = map.places[row];
    byId("tip").replaceChildren(make("strong", "", `${data.keyName} ${data.sample.keys[row]}: ${groupTitle(k)}`), make("div", "", describeRow(row, 5)));
    placeTip({ left: box.left + x - 6, right: box.left + x + 6, top: box.top + y - 6, bottom: box.top + y + 6 });
    byId("status").textContent = byId("tip").textContent;
    highlight(k);
  };
  const leave = () => { byId("tip").hidden = true; map.now = -1; markRow(); highlight(null); };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const distance = ([x, y]) => (box.left + x - event.clientX) ** 2 + (box.top + y - event.clientY) ** 2;
    const nearest = order.reduce((best, row) => (best < 0 || distance(map.places[row]) < distance(map.places[best]) ? row : best), -1);
    if (nearest >= 0 && distance(map.places[nearest]) < 900) show(nearest);
    else leave();
  });
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("click", () => { if (map.now >= 0) pin(clusterOfRow(map.now)); });
  picture.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Enter" && map.now >= 0) pin(clusterOfRow(map.now));
    if (move === undefined) return;
    event.preventDefault();
    const to = map.now < 0 ? 0 : order.indexOf(map.now) + move;
    show(order[Math.min(Math.max(to, 0), order.length - 1)]);
  });
  new ResizeObserver(paintMap).observe(picture);
}

function paintMap() {
  const picture = byId("picture");
  const width = Math.max(picture.clientWidth, 200);
  const height = picture.clientHeight;
  const edge = data.map.hasUnits ? { left: 46, bottom: 24 } : { left: 8, bottom: 8 };
  const [xs, ys] = data.map.axes[1].length ? data.map.at : [data.map.at[0], data.map.at[0].map((_, i) => (i * 0.618034) % 1)];
  const ranges = [findRange(xs), findRange(ys)];
  const place = (value, [low, high], from, to) => from + ((to - from) * (Math.min(Math.max(value, low), high) - low)) / (high - low);
  const x = (value) => place(value, ranges[0], edge.left + 8, width - 16);
  const y = (value) => place(value, ranges[1], height - edge.bottom - 8, 16);
  map.places = xs.map((value, i) => [x(value), y(ys[i])]);
  map.nFar = xs.filter((value, i) => value < ranges[0][0] || value > ranges[0][1] || ys[i] < ranges[1][0] || ys[i] > ranges[1][1]).length;
  const size = xs.length > 1500 ? 2.6 : xs.length > 400 ? 3.2 : 4;
  const parts = data.map.hasUnits ? drawMapAxes(ranges, x, y, width, height, edge) : [];
  const members = [...listMembers()].sort((a, b) => b[1].length - a[1].length);
  for (const [k, rows] of members) {
    const marks = rows.map((row) => draw("path", { d: MARKS[k % MARKS.length](...map.places[row], size) }));
    parts.push(draw("g", { class: `marks ${colourClass(k)}`, "data-cluster": k }, ...marks));
  }
  const known = data.kind === "classifier" ? data.sample.labels.flatMap((label, row) => (label < 0 ? [] : [row])) : [];
  for (const row of known) {
    const k = clusterOfRow(row);
    parts.push(draw("path", { class: `marks labelled ${colourClass(k)}`, "data-cluster": k, d: MARKS[k % MARKS.length](...map.places[row], 1.7 * size) }));
  }
  parts.push(draw("path", { class: "near", d: "" }), ...(members.length > 1 ? placeNames(members) : []));
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.replaceChildren(...parts);
  picture.setAttribute("aria-label", `Map of ${formatRows(data.sample.keys.length)} in ${formatPlural(members.length, groupWord)}. The left and right arrow keys move through the rows.`);
  describeMap();
  markRow();
  highlight(null);
}

function drawMapAxes(ranges, x, y, width, height, edge) {
  const parts = [];
  const write = (text, attributes) => { const label = draw("text", attributes); label.textContent = text; parts.push(label); };
  for (const at of chooseTicks(...ranges[0], Math.floor(width / 90))) {
    parts.push(draw("line", { class: "axis", x1: x(at), x2: x(at), y1: 8, y2: height - edge.bottom }));
    write(formatNumber(at), { x: x(at), y: height - 8, "text-anchor": "middle" });
  }
  for (const at of data.map.axes[1].length ? chooseTicks(...ranges[1], Math.floor(height / 60)) : []) {
    parts.push(draw("line", { class: "axis", x1: edge.left, x2: width - 8, y1: y(at), y2: y(at) }));
    write(formatNumber(at), { x: edge.left - 4, y: y(at) + 4, "text-anchor": "end" });
  }
  return parts;
}

/** Write the name of each cluster at one of its rows: where its rows are dense, away from other clusters and names. */
function placeNames(members) {
  const taken = [];
  return members.filter(([, rows]) => rows.length).map(([k, rows]) => {
    const median = [0, 1].map((axis) => rows.map((row) => map.places[row][axis]).sort((a, b) => a - b)[rows.length >> 1]);
    const own = new Set(rows);
    const candidates = rows.filter((_, i) => i % Math.ceil(rows.length / NAMES.candidates) === 0).map((row) => map.places[row]);
    const costs = candidates.map(([x, y]) => {
      const isNear = ([u, v]) => Math.abs(x - u) < NAMES.room && Math.abs(y - v) < NAMES.room;
      const balance = map.places.reduce((sum, at, row) => sum + (isNear(at) ? (own.has(row) ? 1 : -2) : 0), 0) / rows.length;
      return Math.hypot(x - median[0], y - median[1]) / 400 + (taken.some(isNear) ? 2 : 0) - balance;
    });
    const [x, y] = candidates[costs.indexOf(Math.min(...costs))];
    taken.push([x, y]);
    const name = draw("text", { class: "name", x, y: y + 5, "text-anchor": "middle", "data-cluster": k });
    name.textContent = isTree ? k : data.classes[k].slice(0, 16);
    return name;
  });
}

/** Say what the two axes are, and how far two dimensions show the clusters. */
function describeMap() {
  const name = ([feature, r], i, list) => [i ? ", " : "", i && (r > 0) === (list[i - 1][1] > 0) ? "" : r > 0 ? "higher " : "lower ", isolateFeature(feature)];
  const lines = data.map.axes.flatMap((axis, k) => (axis.length ? [make("span", "axis-words", `${k ? "↑" : "→"} `, ...axis.flatMap(name))] : []));
  const n = data.sample.keys.length;
  let text = `A mark is a row${n < data.n ? `; ${formatCount(n)} of ${formatCount(data.n)} are drawn` : ""}.`;
  const own = data.map.own[isTree ? state.cut : 0];
  const groups = isTree ? "clusters" : "classes";
  const shown = ["the two in which the rows spread most", `the one that separates the ${groups} best and that in which the rows spread most`, `the two that separate the ${groups} best`];
  if (!data.map.hasUnits) text += ` Of ${formatCount(data.nFeatures)} dimensions, the map shows ${shown[data.map.nSeparating]}.`;
  if (groupsNow().size > 1 && own !== undefined) text += ` Here, ${formatPercent(own)} of the rows are next to a row of their own ${groupWord}${own < 0.9 ? "; the others are apart in other directions" : ""}.`;
  if (data.map.hasUnits && !data.map.axes[1].length) text += " Its height has no meaning.";
  if (map.nFar) text += ` ${formatRows(map.nFar)} far outside ${map.nFar === 1 ? "is" : "are"} drawn at the edge.`;
  if (data.kind === "classifier" && data.sample.labels.some((label) => label >= 0)) text += " Large marks are rows with a label.";
  byId("map-words").replaceChildren(...lines, make("span", "", text));
}

function markRow() {
  const near = byId("picture").querySelector(".near");
  if (!near) return;
  const k = map.now < 0 ? 0 : clusterOfRow(map.now);
  near.setAttribute("class", `near ${colourClass(k)}`);
  near.setAttribute("d", map.now < 0 ? "" : MARKS[k % MARKS.length](...map.places[map.now], 6));
}

/** Fade all clusters but one; without one, that which was chosen by a click. */
function highlight(k) {
  const chosen = k === null ? map.pinned : k;
  for (const part of [...byId("picture").querySelectorAll("[data-cluster]"), ...byId("legend").querySelectorAll("[data-cluster]")]) {
    part.classList.toggle("faded", chosen !== null && Number(part.dataset.cluster) !== chosen);
    if (part.hasAttribute("aria-pressed")) part.setAttribute("aria-pressed", String(Number(part.dataset.cluster) === map.pinned));
  }
}

/** Highlight a cluster until it is chosen again, and scroll the list to it. */
function pin(k) {
  map.pinned = map.pinned === k ? null : k;
  const entry = byId("legend").querySelector(`[data-cluster="${k}"]`).parentElement;
  byId("legend").scrollTop = entry.offsetTop - byId("legend").offsetTop;
  highlight(null);
}

/** Show the map and the list of the chosen cut. */
function showMap() {
  const groups = [...groupsNow()];
  if (!groupsNow().has(map.pinned)) map.pinned = null;
  byId("legend").replaceChildren(...groups.map(([k, group]) => {
    const entry = make("button", "panel");
    const size = make("i", colourClass(k));
    size.style.setProperty("width", `${(100 * group.size) / data.n}%`);
    entry.type = "button";
    entry.dataset.cluster = k;
    entry.setAttribute("aria-pressed", "false");
    const features = group.apart.slice(0, 2).flatMap(([feature, , inside, outside], i) => [
      i ? " · " : "", isolateFeature(feature), ` ${formatMean(feature, inside)} `, make("small", "", `(others ${formatMean(feature, outside)})`)]);
    entry.append(make("span", `chip ${colourClass(k)}`, isolate(groupTitle(k))), make("small", "count", `${formatRows(group.size)} · ${formatShare(group.size)}`));
    if (features.length) entry.append(make("span", "features", ...features));
    entry.append(size);
    entry.addEventListener("pointerenter", () => highlight(k));
    entry.addEventListener("pointerleave", () => highlight(null));
    entry.addEventListener("focus", () => highlight(k));
    entry.addEventListener("blur", () => highlight(null));
    entry.addEventListener("click", () => pin(k));
    return make("li", "", entry);
  }));
  if (byId("picture").clientWidth) paintMap();
}
