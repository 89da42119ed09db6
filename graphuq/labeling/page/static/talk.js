// Speak to the server. What is told has an id, so that it is done once, however often it must be sent.

const LIMIT = 10000;  // milliseconds until a request is given up
const PAUSES = [500, 1000, 2000, 4000, 8000];

// Answers wait in the browser until the server has kept them, even if the page is closed or the server is
// started again meanwhile. Servers of other files of answers may have had the same address.
const ANSWERS = ["/api/answer", "/api/skip"];
const SESSION = document.body.dataset.session, WAITS = `graphuq-waits ${SESSION} `;

let lost;  // undefined before the first answer, null while connected, else why not
const watchers = [];
export function watch(watcher) { watchers.push(watcher); }

function setLost(reason) {
  if (reason === lost) return;
  lost = reason;
  for (const watcher of watchers) watcher(lost);
}

// Waking up, or a network that is back, ends a pause.
let wake = null;
for (const [target, name] of [[window, "online"], [window, "focus"], [document, "visibilitychange"]]) {
  target.addEventListener(name, () => wake?.());
}
function pause(milliseconds) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    wake = () => { clearTimeout(timer); resolve(); };
  });
}

export class Refused extends Error {
  constructor(message, status) { super(message); this.status = status; }
}

// The server has another token, or another session.
const isUnknown = (error) => error instanceof Refused && [403, 409].includes(error.status);
const whyLost = (error) => (isUnknown(error) ? error.message : error instanceof Refused ? null : "No connection");

async function once(path, body, raw) {
  const headers = { "graphuq-session": SESSION, ...(body === null ? {} : { "content-type": "application/json" }) };
  const response = await fetch(path, { method: body === null ? "GET" : "POST", body, headers,
    signal: AbortSignal.timeout(LIMIT), credentials: "same-origin", cache: "no-store" });
  if (response.ok) return raw ? response.arrayBuffer() : response.json();
  if (response.status === 403) throw new Refused("The session was started again: open the new address that the terminal shows", 403);
  if (response.status === 503) throw new Error("too many requests");
  let message = `the server answered ${response.status}`;
  try { message = (await response.json()).error; } catch { /* no JSON: the number says enough */ }
  throw new Refused(message, response.status);
}

// Read something, without a second attempt: the next poll is one.
export async function read(path, raw = false) {
  try {
    const found = await once(path, null, raw);
    setLost(null);
    return found;
  } catch (error) {
    setLost(whyLost(error));
    throw error;
  }
}

// Tell something, and try until the server has answered; only a refusal ends it. A server that was started again
// does not know what the former one did, so that nothing but answers, which may come twice, is sent to it.
export async function tell(path, values = {}) {
  const told = { id: newId(), ...values }, waits = ANSWERS.includes(path);
  if (waits) localStorage.setItem(WAITS + told.id, JSON.stringify([path, told]));
  for (let attempt = 0; ; attempt += 1) {
    try {
      const found = await once(path, JSON.stringify(told), false);
      setLost(null);
      localStorage.removeItem(WAITS + told.id);
      return found;
    } catch (error) {
      if (error instanceof Refused && !(waits && isUnknown(error))) {
        setLost(whyLost(error));
        localStorage.removeItem(WAITS + told.id);
        throw error;
      }
      setLost(`${whyLost(error)}. Your answer waits and is sent again`);
      await pause(PAUSES[Math.min(attempt, PAUSES.length - 1)]);
    }
  }
}

// The answers that wait, as `tell` takes them: with their ids, so that each is kept once.
export function waiting() {
  return Object.keys(localStorage).filter((key) => key.startsWith(WAITS)).map((key) => JSON.parse(localStorage[key]));
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
