// The keyboard's shortcuts: each part of the page registers its own, and `?` lists them.

import { signal } from "@preact/signals";

/** A shortcut that works everywhere but where text is written, unless it holds Ctrl. */
export interface Shortcut {
  /** The key as `KeyboardEvent.key` has it, with `mod+` for Ctrl (Command on a Mac) and `shift+` before it. */
  keys: string;
  /** What it does, for the list. */
  says: string;
  /** The part of the page, by which the list is grouped. */
  part: "Page" | "Scenario" | "Playback" | "Experiments";
  run: () => void;
  /** Also in fields, where it has a meaning of its own otherwise. */
  inFields?: boolean;
}

export const shortcuts = signal<readonly Shortcut[]>([]);

/** Registers shortcuts; the returned function takes them back. */
export function register(...added: Shortcut[]): () => void {
  shortcuts.value = [...shortcuts.peek(), ...added];
  return () => {
    shortcuts.value = shortcuts.peek().filter((one) => !added.includes(one));
  };
}

const MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

/** The keys as people write them. */
export function written(keys: string): string {
  const parts = keys.split("+").map((key) => {
    if (key === "mod") return MAC ? "⌘" : "Ctrl";
    if (key === "shift") return MAC ? "⇧" : "Shift";
    const arrows: Record<string, string> = {
      ArrowLeft: "←",
      ArrowRight: "→",
      ArrowUp: "↑",
      ArrowDown: "↓",
      " ": "Space",
    };
    return arrows[key] ?? (key.length === 1 ? key.toUpperCase() : key);
  });
  return parts.join(MAC ? "" : "+");
}

function pressed(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shifted = event.shiftKey && (event.key.length > 1 || /[a-z]/i.test(event.key));
  return `${event.ctrlKey || event.metaKey ? "mod+" : ""}${shifted ? "shift+" : ""}${key}`;
}

const WRITES = /^(text|search|number|url|email|password)$/;

/** Whether keys are characters there. */
function writes(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  return target instanceof HTMLInputElement && WRITES.test(target.type);
}

/** Whether a key moves or presses what has the focus. */
function uses(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLSelectElement) return true;
  if (target instanceof HTMLInputElement && target.type === "range") return /^Arrow|^Page|^Home$|^End$/.test(key);
  if (target.getAttribute("role") === "tab") return /^Arrow/.test(key) || key === " ";
  return (key === " " || key === "Enter") && !!target.closest("button, a, summary, input, select");
}

/** Listens to the keyboard. */
export function listen(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey) return;
    const keys = pressed(event);
    const found = shortcuts.peek().findLast((one) => one.keys.toLowerCase() === keys.toLowerCase());
    if (!found || document.querySelector("dialog[open]")) return;
    // The text's editor is in a shadow tree, whose events come from its host.
    const target = event.composedPath()[0] ?? event.target;
    if (!found.inFields && (writes(target) || uses(target, event.key))) return;
    event.preventDefault();
    found.run();
  });
}
