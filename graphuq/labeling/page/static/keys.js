// Which key gives which class.

const COMMANDS = "snumz";
const LETTERS = "abcdefghijklopqrtvwxy";
const DIGITS = "1234567890";

// A class whose name is one digit or letter has that key, if it is free and no command; else the next
// free digit or letter. Keys depend on the classes before only, so that a new class changes none.
export function keysOf(classes) {
  const taken = new Set([""]);
  return classes.map((name) => {
    const own = name.toLowerCase();
    const isKey = /^[a-z0-9]$/.test(own) && !COMMANDS.includes(own) && !taken.has(own);
    const key = isKey ? own : [...DIGITS + LETTERS].find((other) => !taken.has(other)) ?? "";
    taken.add(key);
    return key;
  });
}

// Whether a key press is meant for the page: not for a field, and not a shortcut of the browser.
export function isMeant(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return false;
  return !(event.target instanceof HTMLInputElement) && !document.querySelector("dialog[open]");
}
