"use strict";
/* Pictures: the density of a split with rows of the sample, its small version for the tree, and bars. */

/** Trace a density between two points, in the coordinates of the functions x and y. */
function traceOutline(curve, from, to, x, y) {
  const last = curve.y.length - 1;
  const step = (curve.high - curve.low) / last;
  const points = [];
  for (let i = 0; i <= last; i += 1) {
    const at = curve.low + i * step;
    if (at >= from && at <= to) points.push([at, curve.y[i]]);
  }
  const interpolate = (at) => {
    const place = Math.min(Math.max((at - curve.low) / step, 0), last);
    const i = Math.min(Math.floor(place), last - 1);
    return curve.y[i] + (place - i) * (curve.y[i + 1] - curve.y[i]);
  };
  if (from > curve.low) points.unshift([from, interpolate(from)]);
  if (to < curve.high) points.push([to, interpolate(to)]);
  return points.map(([at, height]) => `${x(at).toFixed(1)} ${y(height).toFixed(1)}`);
}

/** Draw the small density of a node of the tree. */
function drawSparkline(curve, colours) {
  const picture = draw("svg", { class: "spark", viewBox: "0 0 64 28", "aria-hidden": "true" });
  if (!curve) return picture;
  const x = (at) => (64 * (at - curve.low)) / (curve.high - curve.low);
  const y = (height) => 27 - (24 * height) / 1e4;
  [[curve.low, 0], [0, curve.high]].forEach(([from, to], side) => {
    const line = traceOutline(curve, from, to, x, y);
    picture.append(draw("path", { class: `area ${colours[side]}`, d: `M${x(from)} 27L${line.join("L")}L${x(to)} 27Z` }));
  });
  picture.append(draw("path", { class: "curve", d: `M${traceOutline(curve, curve.low, curve.high, x, y).join("L")}` }));
  picture.append(draw("line", { class: "plane", x1: x(0), x2: x(0), y1: 2, y2: 28 }));
  return picture;
}

/** Choose a few round numbers between two numbers. */
function chooseTicks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1);
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = ten * ([1, 2, 5].find((factor) => factor * ten >= rough) || 10);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}

/**
 * Draw the density of a split, as wide as there is room, with its rows of the sample below. When a row is pointed at,
 * `onPoint` receives its position in split.rows. `words` names the vertical line and the axis.
 */
const HYPERPLANE = { line: "hyperplane", axis: "signed distance from the hyperplane" };
let nPictures = 0;

function drawDensity(split, colours, colourOfRow, onPoint, words = HYPERPLANE) {
  nPictures += 1;
  const hatch = `hatch-${nPictures}`;
  const picture = draw("svg", { class: "plot", tabindex: "0", role: "img" });
  const order = (split.at || []).map((_, i) => i).sort((i, j) => split.at[i] - split.at[j]);
  let circles = [];
  let now = -1;
  let place = null;

  function paint() {
    const width = Math.max(picture.clientWidth || 600, 200);
    const curve = split.curve;
    const height = 270;
    const bottom = 178;
    const x = (at) => 8 + ((width - 16) * (at - curve.low)) / (curve.high - curve.low);
    const y = (value) => bottom - (156 * value) / 1e4;
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.replaceChildren(
      draw("defs", {}, draw("pattern", { id: hatch, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        draw("line", { class: "hatched", x1: 0, x2: 0, y1: 0, y2: 8 }))),
    );
    [[curve.low, 0], [0, curve.high]].forEach(([from, to], side) => {
      const shape = `M${x(from)} ${bottom}L${traceOutline(curve, from, to, x, y).join("L")}L${x(to)} ${bottom}Z`;
      picture.append(draw("path", { class: `area ${colours[side]}`, d: shape }));
      if (side) picture.append(draw("path", { fill: `url(#${hatch})`, d: shape }));
    });
    picture.append(draw("path", { class: "curve", d: `M${traceOutline(curve, curve.low, curve.high, x, y).join("L")}` }));
    picture.append(draw("line", { class: "axis", x1: 0, x2: width, y1: bottom, y2: bottom }));
    for (const at of chooseTicks(curve.low, curve.high, Math.floor(width / 90))) {
      const label = draw("text", { x: x(at), y: height - 24, "text-anchor": "middle" });
      label.textContent = formatNumber(at);
      picture.append(draw("line", { class: "axis", x1: x(at), x2: x(at), y1: bottom, y2: bottom + 5 }), label);
    }
    const axis = draw("text", { x: width / 2, y: height - 5, "text-anchor": "middle" });
    axis.textContent = words.axis;
    picture.append(axis);
    circles = (split.at || []).map((at, i) => {
      const row = split.rows[i];
      const inside = Math.min(Math.max(at, curve.low), curve.high);
      // A fixed scatter without meaning, the same in every drawing.
      const up = bottom + 12 + ((row * 0.618034) % 1) * 44;
      const known = data.kind === "classifier" && data.sample.labels.length && data.sample.labels[row] >= 0;
      const attributes = { class: `point ${colourOfRow(row)}${known ? " labelled" : ""}`, cx: x(inside).toFixed(1), cy: up.toFixed(1), r: known ? 4.5 : 3 };
      return draw("circle", attributes);
    });
    picture.append(...circles);
    picture.append(draw("line", { class: "plane", x1: x(0), x2: x(0), y1: 8, y2: bottom + 56 }));
    const plane = draw("text", { x: x(0) + (x(0) > width - 90 ? -6 : 6), y: 16, "text-anchor": x(0) > width - 90 ? "end" : "start" });
    plane.textContent = words.line;
    picture.append(plane);
    place = x;
    if (now >= 0) mark(now);
  }

  function mark(i) {
    if (circles[now]) circles[now].classList.remove("near");
    now = i;
    circles[i].classList.add("near");
    picture.append(circles[i]);
  }

  function handlePointer(event) {
    if (!order.length) return;
    const box = picture.getBoundingClientRect();
    const px = event.clientX - box.left;
    const py = event.clientY - box.top;
    let best = -1;
    let least = Infinity;
    for (const i of order) {
      const dx = place(Math.min(Math.max(split.at[i], split.curve.low), split.curve.high)) - px;
      const dy = py > 178 ? Number(circles[i].getAttribute("cy")) - py : 0;
      if (dx * dx + dy * dy < least) [best, least] = [i, dx * dx + dy * dy];
    }
    if (best !== now) { mark(best); onPoint(best); }
  }

  function handleKey(event) {
    const move = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
    if (move === undefined || !order.length) return;
    event.preventDefault();
    const nearest = order.findIndex((i) => split.at[i] > 0);
    const from = now < 0 ? (nearest < 0 ? order.length - 1 : nearest) : order.indexOf(now) + move;
    const to = order[Math.min(Math.max(from, 0), order.length - 1)];
    mark(to);
    onPoint(to);
  }

  picture.addEventListener("pointermove", handlePointer);
  picture.addEventListener("pointerdown", handlePointer);
  picture.addEventListener("keydown", handleKey);
  new ResizeObserver(paint).observe(picture);
  requestAnimationFrame(paint);
  return picture;
}

/** Draw a bar to the right or, hollow, to the left of a middle line; its length is relative to the largest. */
function drawBar(value, largest) {
  const picture = draw("svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" });
  const length = Math.max(1, 47 * Math.min(Math.abs(value) / (largest || 1), 1));
  picture.append(draw("rect", { class: `bar-fill${value < 0 ? " minus" : ""}`, x: value < 0 ? 50 - length : 50, y: 2.5, width: length, height: 9 }));
  picture.append(draw("line", { class: "bar-line", x1: 50, x2: 50, y1: 0, y2: 14 }));
  return picture;
}
