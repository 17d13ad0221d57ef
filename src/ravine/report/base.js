"use strict";
/* Helpers for elements, numbers and colours. Text of the user is only ever inserted as the text of a node. */

const SVG = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

/** Create an element with classes and children; strings and numbers become text. */
function make(name, classes, ...children) {
  const element = document.createElement(name);
  if (classes) element.className = classes;
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** Create an element of a drawing with attributes. */
function draw(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Create a button that looks like a link. */
function makeLink(text, act) {
  const button = make("button", "link", text);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

/** Isolate text of the user, so that its writing direction does not affect the text around it. */
const isolate = (text) => make("bdi", "", text);

/** Isolate the name of a feature, with possible line breaks after separators. */
function isolateFeature(feature) {
  const pieces = data.features[feature].match(/[^_/.-]+[_/.-]*|[_/.-]+/g) || [];
  return make("bdi", "", ...pieces.flatMap((piece) => [piece, make("wbr", "")]));
}

/** Format a whole number with a narrow space between thousands. */
const formatCount = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const formatPlural = (n, singular) => `${formatCount(n)} ${singular}${n === 1 ? "" : "s"}`;
const formatRows = (n) => formatPlural(n, "row");

/** Format a number for reading. */
function formatNumber(x) {
  if (x === null || x === undefined) return "–";
  let text = String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e9) text = formatCount(x);
  else if (text.length > 9) text = String(Number(x.toPrecision(6)));
  return text.replace(/^-/, "−").replace("e-", "e−").replace("e+", "e");
}

const formatSigned = (x) => (x > 0 ? "+" : "") + formatNumber(x);

function formatPercent(share) {
  const percent = 100 * share;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent.toFixed(percent === 0 || percent === 100 || (percent >= 10 && percent <= 99) ? 0 : 1)} %`;
}

const formatShare = (n) => formatPercent(n / data.n);
const isShare = new Set(data.shares);

/** Format the mean of a feature: a share in per cent if the feature is 0 or 1. */
const formatMean = (feature, x) => (isShare.has(feature) && x !== null ? formatPercent(x) : formatNumber(x));

/** Format the value of a row. */
const formatValue = (feature, x) => (isShare.has(feature) ? (x > 0.5 ? "yes" : "no") : formatNumber(x));

/** Return the classes that give a cluster its colour and its mark: 60 pairs, and of these no two neighbours look alike. */
const colourClass = (cluster) => (cluster < 0 ? "none" : `k${cluster % 12} m${cluster % 5}`);

/** Format the density of the lower peak relative to that at the hyperplane. */
function formatFactor(depth) {
  const factor = 1 + depth;
  if (factor >= 1e6) return "over a million times";
  return `${factor >= 100 ? formatCount(Math.round(factor)) : factor.toPrecision(2)} times`;
}

function formatDepth(depth) {
  if (depth === null || depth === undefined) return "–";
  if (depth >= 1e6) return "over a million";
  return depth >= 100 ? formatCount(Math.round(depth)) : depth >= 10 ? depth.toFixed(1) : depth.toFixed(2);
}

/** List increasing whole numbers: "0 to 4, 7 and 9". */
function formatList(numbers) {
  const runs = [];
  for (const n of numbers) {
    const last = runs[runs.length - 1];
    if (last && last[1] === n - 1) last[1] = n;
    else runs.push([n, n]);
  }
  const parts = runs.flatMap(([a, b]) => (b > a + 1 ? [`${a} to ${b}`] : b > a ? [String(a), String(b)] : [String(a)]));
  if (parts.length > 8) parts.splice(7, parts.length, `${parts.length - 7} more groups`);
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`;
}
