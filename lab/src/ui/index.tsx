// The small pieces that all panels are made of.

import { useSignal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

/** Joins the names of classes that hold. */
export const names = (...all: (string | false | null | undefined)[]): string => all.filter(Boolean).join(" ");

interface ButtonProps {
  children?: ComponentChildren;
  /** What it does, for those who hear or hover it, if its text does not say so. */
  label?: string;
  /** The keys that do the same, for the tip. */
  keys?: string;
  onClick?: (event: MouseEvent) => void;
  disabled?: boolean;
  pressed?: boolean;
  /** The one thing to do here. */
  primary?: boolean;
  /** Without a frame. */
  plain?: boolean;
  class?: string;
  id?: string;
}

export function Button(p: ButtonProps) {
  const tip = [p.label, p.keys && `(${p.keys})`].filter(Boolean).join(" ");
  return (
    <button
      type="button"
      id={p.id}
      class={names("button", p.primary && "primary", p.plain && "plain", p.class)}
      aria-label={p.label}
      aria-pressed={p.pressed}
      title={tip || undefined}
      // Not `disabled`, which would take the focus from who has just pressed it.
      aria-disabled={p.disabled || undefined}
      onClick={p.disabled ? undefined : p.onClick}
    >
      {p.children}
    </button>
  );
}

interface TabsProps<T extends string> {
  /** What they choose among. */
  label: string;
  tabs: readonly (readonly [T, ComponentChildren])[];
  chosen: T;
  onChoose: (tab: T) => void;
  /** The element that a tab shows. */
  panel: (tab: T) => string;
  class?: string;
}

/** Tabs, along which the arrow keys go. */
export function Tabs<T extends string>(p: TabsProps<T>) {
  const move = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    const all = p.tabs.map(([tab]) => tab);
    const next = all[(all.indexOf(p.chosen) + by + all.length) % all.length];
    if (next === undefined) return;
    event.preventDefault();
    p.onChoose(next);
    const bar = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => bar.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  return (
    <div role="tablist" aria-label={p.label} class={names("tabs", p.class)} onKeyDown={move}>
      {p.tabs.map(([tab, title]) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`${p.panel(tab)}-tab`}
          aria-selected={tab === p.chosen}
          aria-controls={p.panel(tab)}
          tabIndex={tab === p.chosen ? 0 : -1}
          onClick={() => p.onChoose(tab)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

interface DialogProps {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}

/** A window over the page; Escape and a click beside it close it. */
export function Dialog(p: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    if (p.open && !dialog.open) {
      dialog.showModal();
      dialog.querySelector<HTMLElement>('input[type="search"], [role="tab"][aria-selected="true"]')?.focus();
    }
    if (!p.open && dialog.open) dialog.close();
  }, [p.open]);
  return (
    <dialog
      ref={ref}
      class={names("dialog", p.wide && "wide")}
      aria-labelledby={id}
      // It may be open again by the time that it says it was closed.
      onClose={(event) => !event.currentTarget.open && p.onClose()}
      onClick={(event) => event.target === ref.current && p.onClose()}
    >
      {p.open && (
        <div class="dialog-in">
          <div class="dialog-head">
            <h2 id={id}>{p.title}</h2>
            <Button plain label="Close" keys="Esc" onClick={p.onClose}>
              <Icon name="close" />
            </Button>
          </div>
          {p.children}
        </div>
      )}
    </dialog>
  );
}

interface MenuProps {
  label: string;
  children: ComponentChildren;
  /** Its entries; a click on a button among them closes it. */
  entries: ComponentChildren;
  class?: string;
}

/** A button with a list below it. */
export function Menu(p: MenuProps) {
  const open = useSignal(false);
  const ref = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    if (!open.value) return;
    const leave = (event: Event) => {
      if (!ref.current?.contains(event.target as Node)) open.value = false;
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, [open.value]);
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape" && open.value) {
      open.value = false;
      event.stopPropagation();
      ref.current?.querySelector<HTMLElement>("button")?.focus();
    }
  };
  return (
    <div ref={ref} class={names("menu", p.class)} onKeyDown={keys}>
      <button
        type="button"
        class="button"
        aria-expanded={open.value}
        aria-controls={id}
        title={p.label}
        aria-label={p.label}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        {p.children}
      </button>
      <div
        id={id}
        class="menu-list"
        hidden={!open.value}
        onClick={(event) => {
          if ((event.target as HTMLElement).closest("button, a")) open.value = false;
        }}
        onKeyDown={(event) => {
          const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (!by) return;
          const all = [...event.currentTarget.querySelectorAll<HTMLElement>("button:not([disabled]), a")];
          all[(all.indexOf(document.activeElement as HTMLElement) + by + all.length) % all.length]?.focus();
          event.preventDefault();
        }}
      >
        {open.value && p.entries}
      </div>
    </div>
  );
}

/** What is loaded when it is first shown. */
export function Lazy<P extends object>(p: {
  load: () => Promise<ComponentType<P>>;
  props: P;
  wait?: ComponentChildren;
}) {
  const [part, setPart] = useState<{ of: ComponentType<P> } | string | null>(null);
  useEffect(() => {
    let here = true;
    p.load().then(
      (of) => here && setPart({ of }),
      (error) => here && setPart(`This part of the page could not be loaded (${error.message}). Reload the page.`),
    );
    return () => {
      here = false;
    };
  }, []);
  if (part === null) return <>{p.wait}</>;
  if (typeof part === "string") return <p class="notice">{part}</p>;
  const Part = part.of;
  return <Part {...p.props} />;
}

const PATHS = {
  close: "M6 6l12 12M18 6 6 18",
  undo: "M8 4 3.5 8.5 8 13M3.5 8.5H14a5.5 5.5 0 0 1 0 11h-3",
  redo: "M16 4l4.5 4.5L16 13M20.5 8.5H10a5.5 5.5 0 0 0 0 11h3",
  share: "M12 3v12M8 7l4-4 4 4M5 12v8h14v-8",
  open: "M4 6h6l2 3h8v10H4z",
  flask: "M9 3h6M10 3v7l-5 9a1.5 1.5 0 0 0 1.3 2h11.4a1.5 1.5 0 0 0 1.3-2l-5-9V3",
  play: "M7 4.5 19 12 7 19.5z",
  pause: "M8 5v14M16 5v14",
  stop: "M6 6h12v12H6z",
  back: "M18 5 9 12l9 7zM6 5v14",
  next: "M6 5l9 7-9 7zM18 5v14",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  reset: "M5 5v5h5M5.5 10A7 7 0 1 1 5 14",
  up: "M6 15l6-6 6 6",
  down: "M6 9l6 6 6-6",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  help: "M9 9a3 3 0 1 1 4 2.8c-.7.3-1 .8-1 1.7M12 17.5v.1",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l5 5",
  more: "M5 12h.1M12 12h.1M19 12h.1",
  check: "M5 12.5 10 18 19 7",
  warn: "M12 4 2.5 20h19zM12 10v5M12 17.5v.1",
} as const;

export type IconName = keyof typeof PATHS;

/** A drawing of 24 by 24 in the color of the text; never the only one that says something. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** Words for those who hear the page. */
export function Hidden({ children }: { children: ComponentChildren }) {
  return <span class="hidden">{children}</span>;
}

/** A box to search in. */
export function Search(p: { label: string; value: string; onInput: (value: string) => void; id?: string }) {
  return (
    <label class="search">
      <Icon name="search" />
      <Hidden>{p.label}</Hidden>
      <input
        id={p.id}
        type="search"
        placeholder={p.label}
        value={p.value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => p.onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** Puts text into the clipboard; `false` if the browser does not let it. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Hands a file to the person. */
export function download(name: string, content: string | Uint8Array<ArrayBuffer>, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
