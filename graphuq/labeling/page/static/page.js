// Label one item after the other, by keys or by buttons.

import { isMeant, keysOf } from "./keys.js";
import { nodeAt, showMap } from "./map.js";
import { $, classMark, dark, dress, fill, number, part, percent, plural, say, showItem, showOpinion } from "./parts.js";
import { Refused, read, tell, waiting, watch } from "./talk.js";
import { accuracyInWords, forecastInWords, showConfusion, showFinish, showHistory, showProgress, showSuspects, stopInWords } from "./views.js";

// Probabilities that a person's label is right, for "not sure", by the keys 1, 2, 3.
const SURE = [["A guess", 0.5], ["Rather sure", 0.7], ["Nearly sure", 0.9]];
const POLL = 2000;

// A guess between two classes says nothing.
const sures = () => SURE.filter(([, share]) => share > 1 / Math.max(state.classes.length, 2));

// The token has become a cookie: it need not stay in the address.
history.replaceState(null, "", "/");

const state = { classes: [], keys: [], question: null, progress: null, finish: { state: "idle", message: "", report: false },
  busy: false, unsure: null, view: "label" };
// of this tab only: cookies and storage are shared with other servers of this machine
const who = () => sessionStorage.getItem("graphuq-who") || document.body.dataset.who;
$("who").value = who();

// ---- the item asked

function showQuestion() {
  const asked = state.question;
  state.unsure = null;
  $("opinion").hidden = true;
  $("badge").hidden = !asked?.apart;
  if (!asked) {
    $("item-name").textContent = "All items are labeled or skipped";
    fill($("item"), part("p", {}, "Look at the suspects, or finish."));
    $("reason").textContent = "";
    fill($("neighbors"));
  } else {
    $("item-name").textContent = `Item ${asked.name}`;
    fill($("item"), showItem(asked.item, asked.node, asked.name));
    $("reason").textContent = asked.reason;
    fill($("neighbors"), ...asked.neighbors.map((near) => part("li", { class: near.item.kind },
      near.item.kind === "picture" ? showItem(near.item, near.node, near.name, true) : null,
      part("div", { class: "about" }, classMark(near.label, state.classes), part("br"), `item ${near.name}`,
        near.item.kind === "picture" ? null : showItem(near.item, near.node, near.name, true)))));
    if (!asked.neighbors.length) fill($("neighbors"), part("li", { class: "quiet" }, "None is labeled yet."));
  }
  showChoices();
}

function showChoices() {
  const choosing = state.unsure !== null && state.unsure !== "";
  $("unsure").setAttribute("aria-pressed", String(state.unsure !== null));
  $("prompt").hidden = state.unsure === null;
  $("prompt").textContent = choosing ? `${state.unsure}: how sure are you? Escape goes back.`
    : "Not sure: which class is likeliest? Escape goes back.";
  $("classes").classList.toggle("sure", choosing);
  $("classes").classList.toggle("short", !choosing && state.classes.every((name) => name.length <= 3));
  $("classes").setAttribute("aria-label", choosing ? "How sure" : "Classes");
  const choices = choosing ? sures().map(([name, share], k) => [`${name}, ${percent(share)}`, String(k + 1), () => answer(state.unsure, share)])
    : state.classes.map((name, k) => [name, state.keys[k], () => choose(name)]);
  fill($("classes"), ...choices.map(([name, key, act], k) => {
    const button = part("button", { type: "button", onclick: act, disabled: !state.question },
      key ? part("kbd", {}, key) : null, ` ${name}`);
    if (key) button.setAttribute("aria-keyshortcuts", key);
    return choosing ? button : dress(button, k);
  }));
  if (!state.classes.length) fill($("classes"), part("p", {}, "There is no class yet. Name the first one below."));
  for (const id of ["skip", "unsure", "reveal"]) $(id).disabled = !state.question;
  $("enlarge").hidden = state.question?.item.kind !== "picture";
}

function choose(name) {
  if (state.unsure === null) return answer(name, 1);
  state.unsure = name;
  showChoices();
  return say(`${name}: how sure are you?`);
}

function toggleUnsure() {
  state.unsure = state.unsure === null ? "" : null;
  showChoices();
  say(state.unsure === null ? "Sure again" : "Not sure: choose the likeliest class");
}

// ---- what is told to the server; returns why it was refused, or null

async function act(path, values = {}) {
  if (state.busy) return;  // one answer at a time: none is taken that cannot be kept
  state.busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    const found = await tell(path, { who: who(), ...values });
    $("problem").hidden = true;
    take(found);
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    complain(error.status === 507 ? `The answer was not kept: ${error.message}` : error.message);
    return error;
  } finally {
    state.busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

function complain(text) {
  $("problem").textContent = text;
  $("problem").hidden = false;
}

function take(found) {
  if (found.state) takeState(found.state);
  if (found.last) showLast(found.last);
  if ("question" in found) {
    state.question = found.question;
    showQuestion();
    if (state.view !== "label") openView("label");
    $("item-name").focus({ preventScroll: true });
    $("item-name").scrollIntoView({ block: "nearest" });
    const asked = found.question;
    say(`${$("last").textContent} ${asked ? `Next: item ${asked.name}. ${asked.item.kind === "text" ? asked.item.text.slice(0, 300) : ""}` : "All items are answered."}`);
  }
}

function showLast(last) {
  const said = { skip: `Skipped item ${last.name}.`, undo: `Taken back: item ${last.name}.`,
    nothing: "There is no answer of yours to take back." };
  if (last.done in said) $("last").textContent = said[last.done];
  if (last.done !== "answer") return;
  const found = last.opinion, sure = last.confidence < 1 ? ` (${percent(last.confidence)} sure)` : "";
  const k = found ? found.classes.indexOf(last.label) : -1;
  fill($("last"), `Item ${last.name}: you said `, classMark(last.label, state.classes), `${sure}.`,
    found ? ` The model thought ${found.classes[0]} with ${percent(found.probability[0])}` : null,
    found ? (k > 0 ? `, ${last.label} with ${percent(found.probability[k])}.` : ".") : null);
}

// with the name of the item, for the answers that wait
const here = () => ({ node: state.question.node, name: state.question.name });
const answer = (label, confidence) => state.question && act("/api/answer", { ...here(), label, confidence });
const skip = () => state.question && act("/api/skip", here());
const undo = () => act("/api/undo");
const open = (node) => act("/api/look", { node });

async function reveal() {
  if (!state.question) return;
  if (!$("opinion").hidden) { $("opinion").hidden = true; return; }
  const { node } = state.question;
  const { opinion } = await tell("/api/opinion", { node });
  if (state.question?.node !== node) return;
  fill($("opinion"), ...showOpinion(opinion, state.classes));
  $("opinion").hidden = false;
  $("opinion").scrollIntoView({ block: "nearest" });
  say(opinion ? `The model thinks ${opinion.classes[0]} with ${percent(opinion.probability[0])}` : "The model has no opinion yet");
}

// ---- what the server says every two seconds

function takeState(found) {
  const changed = found.classes.join("\n") !== state.classes.join("\n");
  Object.assign(state, { classes: found.classes, progress: found.progress, goal: found.goal,
    risk: found.risk, finish: found.finish });
  if (changed) { state.keys = keysOf(state.classes); showChoices(); }
  const { progress } = state;
  // labels that the file already had are among the labeled, and not among the answers
  $("brief").textContent = `${plural(progress.n_answers, "answer")}. Labeled: ${number(progress.n_labeled)} of ${number(progress.n_items)}. `
    + `Decided: ${number(progress.decided)} of ${number(progress.n_items)}. `
    + `Expected accuracy: ${accuracyInWords(progress)}. ${progress.stop?.reached ? `Goal: ${stopInWords(progress.stop)}` : `Forecast: ${forecastInWords(progress)}`}.`
    + (progress.busy ? " The model is learning." : "");
  showFinish(state.finish);
  if (progress.error && progress.error !== state.error) complain(progress.error);
  state.error = progress.error;
}

async function poll() {
  try {
    takeState(await read("/api/state"));
    if (!document.hidden && state.view === "progress") await showProgress(state.progress, state.goal, state.risk);
    if (!document.hidden && state.view === "label" && !state.question && !state.busy) {
      const found = await tell("/api/ask", { who: who() });  // others may have left items
      if (found.question) take(found);
    }
  } catch { /* the line at the top says it */ }
  setTimeout(poll, POLL);
}

watch((reason) => {
  $("connection").textContent = reason === null ? "connected" : reason;
  $("connection").classList.toggle("lost", reason !== null);
});

// ---- views

function openView(name) {
  state.view = name;
  for (const button of document.querySelectorAll("nav button")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== `view-${name}`;
  refreshView();
}

async function refreshView() {
  const show = {
    progress: () => state.progress && showProgress(state.progress, state.goal, state.risk),
    map: () => showMap(state.classes),
    suspects: () => showSuspects(state.classes, open),
    confusion: () => showConfusion(state.progress),
    history: () => showHistory(state.classes, open),
  }[state.view];
  try { await show?.(); } catch (error) { if (error instanceof Refused) complain(error.message); }
}

for (const button of document.querySelectorAll("nav button")) {
  button.addEventListener("click", () => {
    openView(button.dataset.view);
    $("main").querySelector("section:not([hidden]) h2").focus({ preventScroll: true });
  });
}

// ---- buttons, forms and keys

// The picture as large as the window; a click or a key goes back, but keys of the browser enlarge it further.
function zoom() {
  const picture = $("item").querySelector("img");
  if (!picture) return;
  fill($("zoom"), part("img", { class: picture.className, src: picture.src, alt: picture.alt }));
  $("zoom").showModal();
}
$("item").addEventListener("click", (event) => { if (event.target instanceof HTMLImageElement) zoom(); });
$("zoom").addEventListener("click", () => $("zoom").close());
$("zoom").addEventListener("keydown", (event) => {
  event.stopPropagation();
  if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Shift") return;
  event.preventDefault();  // it is no answer, also where a button has the focus
  if (!event.repeat) $("zoom").close();
});

const COMMANDS = { s: skip, n: toggleUnsure, u: undo, m: reveal, z: zoom, "?": showKeys };
for (const [id, command] of [["skip", skip], ["unsure", toggleUnsure], ["undo", undo], ["reveal", reveal], ["enlarge", zoom], ["help", showKeys]]) {
  $(id).addEventListener("click", command);
}

function showKeys() {
  const rows = [...state.classes.map((name, k) => [state.keys[k], name]).filter(([key]) => key), ["s", "skip this item"],
    ["n", "not sure: give a class and how sure you are"], ["u", "undo your last answer"],
    ["m", "what the model thinks, before you answer"], ["z", "the picture as large as the window"], ["Escape", "go back"], ["?", "these keys"]];
  fill($("key-list"), ...rows.flatMap(([key, meaning]) => [part("dt", {}, part("kbd", {}, key)), part("dd", {}, meaning)]));
  $("keys").showModal();
}
$("close-keys").addEventListener("click", () => $("keys").close());

addEventListener("keydown", (event) => {
  if (!isMeant(event)) return;
  if (event.key === "Escape" && state.unsure) { state.unsure = ""; showChoices(); return; }  // back to the class
  if (event.key === "Escape" && state.unsure === "") { toggleUnsure(); return; }
  if (event.key === "?") { event.preventDefault(); showKeys(); return; }
  if (state.view !== "label") return;
  const key = event.key.toLowerCase(), choosing = state.unsure !== null && state.unsure !== "";
  const at = choosing ? (sures()[+key - 1] ? +key - 1 : -1) : state.keys.indexOf(key);
  if (at >= 0) {
    event.preventDefault();
    if (choosing) answer(state.unsure, sures()[at][1]); else choose(state.classes[at]);
  } else if (COMMANDS[key]) {
    event.preventDefault();
    COMMANDS[key]();
  }
});

function onSubmit(id, work) {
  $(id).addEventListener("submit", (event) => { event.preventDefault(); work(); });
}
onSubmit("new-class", async () => {
  await act("/api/class", { name: $("class-name").value });
  if ($("problem").hidden) $("class-name").value = "";
  $("item-name").focus({ preventScroll: true });
});
onSubmit("aim", () => {
  for (const id of ["threshold", "goal", "risk"]) $(id).dataset.shown = $(id).value;
  return act("/api/aim", { threshold: $("threshold").value / 100, goal: $("goal").value / 100,
    risk: $("risk").value / 100 });
});
onSubmit("sample", () => {
  $("size").dataset.shown = $("size").value;
  return act("/api/sample", { size: +$("size").value });
});
onSubmit("find", () => act("/api/find", { name: $("name").value }));
onSubmit("person", async () => {
  const before = who();
  sessionStorage.setItem("graphuq-who", $("who").value.trim());
  await act("/api/ask");
  if ($("problem").hidden) say("Name set");
  else sessionStorage.setItem("graphuq-who", before);  // a name that is refused
});
$("finish").addEventListener("click", () => act("/api/finish"));
$("map").addEventListener("click", (event) => { const node = nodeAt(event); if (node !== null) open(node); });
dark.addEventListener("change", () => { showQuestion(); refreshView(); });

// ---- begin

const refused = [];
for (const [path, values] of waiting()) {
  const error = await act(path, values);
  if (error) refused.push(`Item ${values.name}, ${values.label ?? "skipped"}: ${error.message}.`);
}
if (!state.question) await act("/api/ask");
if (refused.length) complain(`Answers that waited were not kept. ${refused.join(" ")}`);
poll();
