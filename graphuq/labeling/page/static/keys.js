// Which key gives which class.

const COMMANDS = "snum";
const LETTERS = "abcdefghijklopqrtvwxyz";
const DIGITS = "1234567890";

// A class whose name is one digit or letter has that key, if all classes are so; else classes have
// digits in their order, then letters that are no commands.
export function keysOf(classes) {
  const own = classes.map((name) => name.toLowerCase());
  if (own.every((name) => /^[a-z0-9]$/.test(name) && !COMMANDS.includes(name)) && new Set(own).size === own.length) {
    return own;
  }
  return classes.map((_, k) => (DIGITS + LETTERS)[k] ?? "");
}

// Whether a key press is meant for the page: not for a field, and not a shortcut of the browser.
export function isMeant(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return false;
  return !(event.target instanceof HTMLInputElement) && !document.querySelector("dialog[open]");
}
