// Pieces of the page. Texts are set as text, never as HTML, so that nothing in them is executed.

// Ten colors that are safe for color blindness, those of the report, by index of the class; the second
// of each pair is lighter, for dark pages.
const COLORS = [
  ["#332288", "#8f7ff0"], ["#cc6677", "#e08391"], ["#117733", "#4fbf73"], ["#b59f3a", "#ddcc77"],
  ["#4d9fc7", "#88ccee"], ["#882255", "#d0689d"], ["#44aa99", "#63cbb9"], ["#808026", "#b9b94f"],
  ["#aa4499", "#d07cc2"], ["#ee7733", "#ff9a5e"],
];
// More classes have the same colors again, with a mark: a dot on the map is then of that shape.
const MARKS = ["", "■", "▲", "◆"];
export const dark = matchMedia("(prefers-color-scheme: dark)");

export function colorOf(index) {
  return index < 0 ? (dark.matches ? "#8a8f98" : "#9aa0a8") : COLORS[index % COLORS.length][dark.matches ? 1 : 0];
}

export const shapeOf = (index) => Math.floor(Math.max(index, 0) / COLORS.length) % MARKS.length;

// Give an element the color and the mark of a class.
export function dress(made, index) {
  made.style.borderLeftColor = colorOf(index);
  if (shapeOf(index)) made.dataset.mark = MARKS[shapeOf(index)];
  return made;
}

export const $ = (id) => document.getElementById(id);

// An element with properties, and children that are elements or texts.
export function part(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function fill(place, ...children) {
  place.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}%`;
export const number = (value) => Math.round(value).toLocaleString("en-US");
export const plural = (n, one) => `${number(n)} ${one}${n === 1 ? "" : "s"}`;

// The name of a class behind its color and mark.
export function classMark(name, classes) {
  return dress(part("span", { class: "class" }, name), classes.indexOf(name));
}

export function say(text) {
  $("said").textContent = text;
}

// What the page shows of an item; `name` describes a picture to those who do not see it.
export function showItem(item, node, name, small = false) {
  if (item.kind === "picture") {
    return part("img", { class: item.tiny ? "tiny" : "", src: `/picture/${node}`, alt: `Picture of item ${name}` });
  }
  if (item.kind === "text") return part("div", small ? {} : { class: "text", tabIndex: 0 }, item.text);
  if (item.kind !== "row") return small ? null : part("p", { class: "quiet" }, "Only the name of this item is known.");
  if (small) {
    return part("div", {}, ...item.cells.flatMap((cell, k) => [
      k ? part("br") : null, `${cell.column}: `, part("strong", {}, cell.value || "–")]));
  }
  return rowTable(item.cells);
}

const FIRST_CELLS = 8;

function rowTable(cells) {
  const rows = (some) => some.map((cell) => part("tr", {},
    part("th", { scope: "row" }, cell.column), part("td", {}, cell.value || "–"),
    part("td", { class: "quiet" }, cell.around || "–"),
    part("td", {}, part("meter", { min: 0, max: 3, value: Math.min(cell.difference, 3),
      title: `${cell.difference.toFixed(1)} standard deviations`,
      "aria-label": `differs by ${cell.difference.toFixed(1)} standard deviations` }))));
  const table = (some) => part("table", {},
    part("thead", {}, part("tr", {}, ...["column", "this item", "neighbors", "difference"].map(
      (name) => part("th", { scope: "col" }, name)))), part("tbody", {}, ...rows(some)));
  const rest = cells.slice(FIRST_CELLS);
  return part("div", {}, table(cells.slice(0, FIRST_CELLS)),
    rest.length ? part("details", {}, part("summary", {}, `${plural(rest.length, "more column")}`), table(rest)) : null);
}

// Probabilities of classes as bars, likeliest first.
export function showOpinion(opinion, classes) {
  if (!opinion) return [part("p", { class: "quiet" }, "The model has no opinion yet: it needs labels of two classes, and a moment to learn.")];
  return [part("h3", {}, "What the model thinks"), ...opinion.classes.slice(0, 6).map((name, k) => part("div", { class: "share" },
    classMark(name, classes), part("meter", { min: 0, max: 1, value: opinion.probability[k], "aria-label": name }),
    part("span", {}, percent(opinion.probability[k]))))];
}
