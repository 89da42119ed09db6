// A curve as SVG.

const W = 420, H = 220, LEFT = 48, RIGHT = 12, TOP = 10, BOTTOM = 30;
const NAMESPACE = "http://www.w3.org/2000/svg";

function shape(tag, properties, text) {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Draw points (x, y); `show` writes values of y, and a goal is a dashed line.
export function draw(place, points, { low, high, show, goal, said }) {
  const chart = shape("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart", role: "img", "aria-label": said });
  const last = points.length ? points[points.length - 1][0] : 1, first = points.length ? points[0][0] : 0;
  const x = (n) => LEFT + (W - LEFT - RIGHT) * (last > first ? (n - first) / (last - first) : 0.5);
  const y = (value) => H - BOTTOM - (H - TOP - BOTTOM) * (value - low) / (high - low || 1);
  for (const value of [low, (low + high) / 2, high]) {
    chart.append(shape("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: y(value), y2: y(value) }),
      shape("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, show(value)));
  }
  if (goal !== undefined && goal >= low && goal <= high) {
    chart.append(shape("line", { class: "goal", x1: LEFT, x2: W - RIGHT, y1: y(goal), y2: y(goal) }));
  }
  for (const n of new Set([first, last])) {
    chart.append(shape("text", { x: x(n), y: H - 10, "text-anchor": n === last && last > first ? "end" : "middle" },
      `${n}`));
  }
  if (points.length) {
    chart.append(shape("polyline", { class: "line", points: points.map(([n, value]) => `${x(n)},${y(value)}`).join(" ") }));
    const [n, value] = points[points.length - 1];
    chart.append(shape("circle", { cx: x(n), cy: y(value), r: 3.5, fill: "currentColor" }));
  }
  place.replaceChildren(chart);
}
