// The views beside the item asked: progress, suspects, confusion, history, finish.

import { draw as drawCurve } from "./charts.js";
import { $, classMark, fill, number, part, percent, plural } from "./parts.js";
import { read } from "./talk.js";

const NEEDED = "the model needs labels of two classes, and the random sample does not count";

const notYet = (progress) => (progress?.busy ? "not known yet" : `not known yet (${NEEDED})`);

export function accuracyInWords(progress) {
  if (progress.expected_accuracy === null) {
    if (progress.n_labeled === progress.n_items) return "no item is without a label";
    return notYet(progress);
  }
  const [low, high] = progress.interval ?? [];
  return percent(progress.expected_accuracy, 1) + (progress.interval ? ` (${percent(low, 1)} to ${percent(high, 1)})` : "");
}

export function forecastInWords(progress) {
  const found = progress.forecast;
  if (!found) return "not known yet";
  if (found.answers === 0) return `${percent(found.goal, 1)} is expected already`;
  const range = found.low === found.high ? "" : `, probably ${number(found.low)} to ${number(found.high)}`;
  return `about ${plural(found.answers, "more answer")} to ${percent(found.goal, 1)}${range}`;
}

// A goal in full: 99.999% is not 100.0%.
const exact = (share) => `${+(100 * share).toFixed(4)}%`;

// Whether to stop, or what would show whether to.
export function stopInWords(stop) {
  const { goal, probability, reached, waiting, sample } = stop;
  if (reached) return `${exact(goal)} is reached with a probability of ${percent(probability, 1)}: you can stop`;
  if (waiting) return `still to answer in the random sample: ${plural(waiting, "item")}, which show whether ${exact(goal)} is reached`;
  const sure = `${exact(goal)} is reached with a probability of ${(Math.floor(1000 * probability) / 10).toFixed(1)}%`;
  return sample ? `${sure}. A random sample of ${plural(sample, "item")} may show that it is reached` : sure;
}

function sampleInWords({ right, total, drawn, current, interval }) {
  const old = current < total ? `; ${total - current} drawn too long ago for the expected accuracy: more may be drawn` : "";
  const rest = total < drawn ? `; the other ${drawn - total} of the ${drawn} drawn have no certain label` : "";
  return `${right} of ${total} (${interval.map((end) => percent(end, 1)).join(" to ")})${old}${rest}`;
}

// Show the newest value in a field, unless somebody has typed another.
function keepUp(field, value) {
  if (document.activeElement === field || (field.dataset.shown ?? field.defaultValue) !== field.value) return;
  field.value = field.dataset.shown = value;
}

export async function showProgress(progress, goal, risk) {
  const rows = [
    ["Answers", `${number(progress.n_answers)}, labeled ${number(progress.n_labeled)} of ${plural(progress.n_items, "item")}`],
    ["Decided", `${number(progress.decided)} of ${number(progress.n_items)}, with a probability of at least ${percent(progress.threshold, 1)}`],
    [progress.measured?.current ? "Expected accuracy, with the sample" : "Expected accuracy", accuracyInWords(progress)],
    ["Forecast", forecastInWords(progress)],
    ["Goal", progress.stop ? stopInWords(progress.stop) : notYet(progress)],
    ...(progress.measured ? [["Right on the random sample", sampleInWords(progress.measured)]] : []),
  ];
  fill($("numbers"), ...rows.flatMap(([name, value]) => [part("dt", {}, name), part("dd", {}, value)]));
  for (const [id, value] of [["threshold", progress.threshold], ["goal", goal], ["risk", risk]]) keepUp($(id), +(100 * value).toFixed(4));
  if (progress.stop?.sample) keepUp($("size"), progress.stop.sample);
  const { curve } = await read("/api/curve");
  const right = curve.map(([n, , share]) => [n, share]), floor = Math.min(0.5, ...right.map(([, share]) => share));
  drawCurve($("curve-accuracy"), right, { low: floor, high: 1, show: (value) => percent(value),
    goal, said: `Expected accuracy: ${accuracyInWords(progress)}` });
  drawCurve($("curve-decided"), curve.map(([n, decided]) => [n, decided]), { low: 0, high: progress.n_items,
    show: number, said: `${progress.decided} of ${progress.n_items} items are decided` });
}

function table(names, rows, numeric = []) {
  return part("table", {}, part("thead", {}, part("tr", {}, ...names.map((name) => part("th", { scope: "col" }, name)))),
    part("tbody", {}, ...rows.map((cells) => part("tr", {}, ...cells.map((cell, k) =>
      part("td", { class: numeric.includes(k) ? "number" : "" }, cell))))));
}

function opener(node, name, open) {
  return part("button", { type: "button", onclick: () => open(node) }, name);
}

export async function showSuspects(classes, open) {
  const { suspects } = await read("/api/suspects");
  const none = part("p", {}, suspects.length ? "No label is suspect. These are the most doubtful labels." : "Nothing is known of mistakes among the labels.");
  const found = suspects.some((one) => one.suspect) ? [] : [none];
  if (suspects.length) {
    found.push(table(["item", "label", "likelier", "mistake", "suspect"], suspects.map((one) => [
      opener(one.node, one.name, open), classMark(one.label, classes), classMark(one.likelier, classes),
      one.mistake === null ? "people do not agree" : percent(one.mistake), one.suspect ? "yes" : "no"]), [3]));
  }
  fill($("suspects"), ...found);
}

export async function showHistory(classes, open) {
  const { answers } = await read("/api/history");
  fill($("history"), answers.length ? table(["item", "label", "sure", "who", "when"], answers.map((found) => [
    opener(found.node, found.name, open),
    found.label === null ? (found.confidence === null ? "taken back" : "skipped") : classMark(found.label, classes),
    found.label === null ? "" : percent(found.confidence), found.who, found.when.slice(0, 16).replace("T", " ")]))
    : part("p", {}, "There are no answers yet."));
}

export async function showConfusion(progress) {
  const { classes, expected } = await read("/api/confusion");
  if (!expected) { fill($("confusion"), part("p", {}, `The confusion is ${notYet(progress)}.`)); return; }
  const most = Math.max(...expected.flat(), 1);
  fill($("confusion"), part("table", {}, part("thead", {}, part("tr", {}, part("th", { scope: "col" }, "predicted"),
    ...classes.map((name) => part("th", { scope: "col" }, classMark(name, classes))))),
  part("tbody", {}, ...expected.map((row, k) => part("tr", {}, part("th", { scope: "row" }, classMark(classes[k], classes)),
    ...row.map((value, other) => {
      const cell = part("td", { class: "number shade" }, value >= 10 ? number(value) : value.toFixed(1));
      cell.style.background = `rgb(${k === other ? "0 98 63" : "168 0 28"} / ${0.6 * Math.sqrt(value / most)})`;
      return cell;
    }))))));
}

const FINISH = { idle: "", running: "Sampling. This page says when it is done.", done: "", failed: "It failed. " };

export function showFinish(finish) {
  $("finish").disabled = finish.state === "running";
  $("report").hidden = !finish.report;
  const text = FINISH[finish.state] + finish.message;
  if ($("finish-state").textContent !== text) $("finish-state").textContent = text;
}
