// The map of all items, on a canvas; a click opens the nearest.

import { $, classMark, colorOf, dark, fill, part, shapeOf } from "./parts.js";
import { read } from "./talk.js";

const MARGIN = 14, NEAR = 22;
// Corners of the shapes after the circle, in the order of their marks.
const CORNERS = [[], [[-1, -1], [1, -1], [1, 1], [-1, 1]], [[0, -1.3], [1.2, 0.9], [-1.2, 0.9]],
  [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]]];
let places = null, classOf = null, epistemic = null, labeled = null;

export async function showMap(classes) {
  const canvas = $("map");
  if (!places) {
    canvas.setAttribute("aria-busy", "true");
    places = new Float32Array(await read("/api/positions", true));
    canvas.removeAttribute("aria-busy");
  }
  const states = await read("/api/colors", true), n = places.length / 2;
  classOf = new Int16Array(states, 0, n);
  epistemic = new Uint8Array(states, 2 * n, n);
  labeled = new Uint8Array(states, 3 * n, n);
  const counts = classes.map(() => 0);
  for (const k of classOf) if (k >= 0) counts[k] += 1;
  fill($("legend"), ...classes.map((name, k) => part("span", {}, classMark(name, classes), ` ${counts[k]}`)));
  canvas.setAttribute("aria-label", `Map of ${n} items: ${classes.map((name, k) => `${counts[k]} ${name}`).join(", ")}`);
  draw();
}

function screen(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  return { width, height, x: (node) => MARGIN + (width - 2 * MARGIN) * places[2 * node],
    y: (node) => height - MARGIN - (height - 2 * MARGIN) * places[2 * node + 1] };
}

function outline(pen, x, y, r, shape) {
  pen.beginPath();
  if (!shape) pen.arc(x, y, r, 0, 7);
  for (const [right, down] of CORNERS[shape]) pen.lineTo(x + r * right, y + r * down);
  pen.closePath();
}

function draw() {
  const canvas = $("map");
  if (!places || !canvas.offsetWidth) return;
  const { width, height, x, y } = screen(canvas), scale = devicePixelRatio || 1, pen = canvas.getContext("2d");
  canvas.width = width * scale;
  canvas.height = height * scale;
  pen.scale(scale, scale);
  const n = classOf.length, r = Math.max(1.2, Math.min(5, 0.35 * Math.sqrt(width * height / n)));
  for (let node = 0; node < n; node += 1) {
    pen.globalAlpha = classOf[node] < 0 ? 0.6 : 1 - 0.78 * epistemic[node] / 255;
    pen.fillStyle = colorOf(classOf[node]);
    outline(pen, x(node), y(node), r, shapeOf(classOf[node]));
    pen.fill();
  }
  pen.globalAlpha = 1;
  pen.lineWidth = 1.8;
  pen.strokeStyle = getComputedStyle(document.body).color;
  for (let node = 0; node < n; node += 1) {
    if (!labeled[node]) continue;
    pen.fillStyle = colorOf(classOf[node]);
    outline(pen, x(node), y(node), r + 2, shapeOf(classOf[node]));
    pen.fill();
    pen.stroke();
  }
}

// The node under a click, or null.
export function nodeAt(event) {
  const canvas = $("map");
  if (!places) return null;
  const { x, y } = screen(canvas), box = canvas.getBoundingClientRect();
  const left = event.clientX - box.left, top = event.clientY - box.top;
  let best = null, least = NEAR * NEAR;
  for (let node = 0; node < classOf.length; node += 1) {
    const distance = (x(node) - left) ** 2 + (y(node) - top) ** 2;
    if (distance < least) { best = node; least = distance; }
  }
  return best;
}

addEventListener("resize", draw);
dark.addEventListener("change", draw);
