"use strict";
/* Small helpers: elements, numbers, colours. Text of the user only ever becomes the text of a node. */

const SVG = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

/** An element with classes and children; strings and numbers become text. */
function make(name, classes, ...children) {
  const element = document.createElement(name);
  if (classes) element.className = classes;
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** An element of a drawing with attributes. */
function draw(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A button that looks like a link. */
function link(words, act) {
  const button = make("button", "link", words);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

/** Text of the user, set apart so that its direction of writing does not change what is around it. */
const name_ = (text) => make("bdi", "", text);

/** A whole number, its thousands set apart by a narrow space. */
const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const rows_ = (n) => `${count(n)} row${n === 1 ? "" : "s"}`;

/** A number that is read, not calculated with. */
function number(x) {
  if (x === null || x === undefined) return "–";
  let text = String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e9) text = count(x);
  else if (text.length > 9) text = String(Number(x.toPrecision(6)));
  return text.replace(/^-/, "−").replace("e-", "e−").replace("e+", "e");
}

const signed = (x) => (x > 0 ? "+" : "") + number(x);

function share(n) {
  const percent = (100 * n) / data.n;
  return percent > 0 && percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
}

/** The class that gives a cluster its colour; its number always stands beside it. */
const colour = (cluster) => (cluster < 0 ? "none" : `k${cluster % 12}`);

/** How many times as dense as the cut the lower of the two peaks is. */
function times(depth) {
  const factor = 1 + depth;
  if (factor >= 1e6) return "over a million times";
  return `${factor >= 100 ? count(Math.round(factor)) : factor.toPrecision(2)} times`;
}

/** The relative depth, short. */
function depthWords(depth) {
  if (depth === null || depth === undefined) return "–";
  if (depth >= 1e6) return "over a million";
  return depth >= 100 ? count(Math.round(depth)) : depth >= 10 ? depth.toFixed(1) : depth.toFixed(2);
}

const pWords = (p) => (p < 0.0001 ? "P < 0.0001" : `P = ${Number(p.toPrecision(2))}`);

/** Increasing whole numbers in words: "0 to 4, 7 and 9". */
function listed(numbers) {
  const runs = [];
  for (const n of numbers) {
    const last = runs[runs.length - 1];
    if (last && last[1] === n - 1) last[1] = n;
    else runs.push([n, n]);
  }
  const words = runs.flatMap(([a, b]) => (b > a + 1 ? [`${a} to ${b}`] : b > a ? [String(a), String(b)] : [String(a)]));
  if (words.length > 8) words.splice(7, words.length, `${words.length - 7} more groups`);
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}
