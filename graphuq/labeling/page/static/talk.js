// Speak to the server. What is told has an id, so that it is done once, however often it must be sent.

const LIMIT = 10000;  // milliseconds until a request is given up
const PAUSES = [500, 1000, 2000, 4000, 8000];

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

async function once(path, body, raw) {
  const options = { signal: AbortSignal.timeout(LIMIT), credentials: "same-origin", cache: "no-store" };
  if (body !== null) Object.assign(options, { method: "POST", headers: { "content-type": "application/json" }, body });
  const response = await fetch(path, options);
  if (response.ok) return raw ? response.arrayBuffer() : response.json();
  let message = `the server answered ${response.status}`;
  if (response.status === 403) message = "The session was started again: open the new address that the terminal shows.";
  else { try { message = (await response.json()).error; } catch { /* no JSON: the number says enough */ } }
  throw new Refused(message, response.status);
}

// Read something, without a second attempt: the next poll is one.
export async function read(path, raw = false) {
  try {
    const found = await once(path, null, raw);
    setLost(null);
    return found;
  } catch (error) {
    setLost(error instanceof Refused && error.status !== 403 && error.status !== 503 ? null
      : error instanceof Refused ? error.message : "No connection");
    throw error;
  }
}

// Tell something, and try until the server has answered; only a refusal ends it.
export async function tell(path, values = {}) {
  const body = JSON.stringify({ id: newId(), ...values });
  for (let attempt = 0; ; attempt += 1) {
    try {
      const found = await once(path, body, false);
      setLost(null);
      return found;
    } catch (error) {
      if (error instanceof Refused && error.status !== 503) {
        if (error.status === 403) setLost(error.message); else setLost(null);
        throw error;
      }
      setLost("No connection: your answer waits and is sent again");
      await pause(PAUSES[Math.min(attempt, PAUSES.length - 1)]);
    }
  }
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
