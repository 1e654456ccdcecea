// Scenarios to begin with: a link with a load, those of the repository, a person's own files, what was open before.

import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ask } from "../../engine/client.ts";
import { docOf, sessions } from "../../keep/session.ts";
import { about, learnAbout } from "../../state/about.ts";
import { type Doc, FIRST, open } from "../../state/document.ts";
import { Button, Dialog, Icon, names, Search, Tabs } from "../../ui/index.tsx";
import { say } from "../../ui/notices.tsx";
import { openFiles } from "./read.ts";

/** Whether the list of scenarios is open. */
export const opening = signal(false);
const tab = signal<"presets" | "scenarios" | "own">("presets");

/** Opens a document and closes the list. */
function take(doc: Doc): void {
  open(doc);
  opening.value = false;
}

export function OpenDialog() {
  useEffect(drops, []);
  return (
    <Dialog
      title="Scenarios"
      wide
      open={opening.value}
      onClose={() => {
        opening.value = false;
      }}
    >
      <Tabs
        label="Where from"
        tabs={[
          ["presets", "A link and a load"],
          ["scenarios", "Quell's scenarios"],
          ["own", "Yours"],
        ]}
        chosen={tab.value}
        onChoose={(to) => {
          tab.value = to;
        }}
        panel={(of) => `open-${of}`}
      />
      <div id={`open-${tab.value}`} role="tabpanel" aria-labelledby={`open-${tab.value}-tab`} class="open-panel">
        {tab.value === "presets" && <Presets />}
        {tab.value === "scenarios" && <Scenarios />}
        {tab.value === "own" && <Own />}
      </div>
    </Dialog>
  );
}

// Presets.

const link = signal("cable");
const load = signal("bulk");

function Presets() {
  const busy = useSignal(false);
  useEffect(() => {
    learnAbout().catch((error) => say(error.message, { wrong: true }));
  }, []);
  const all = about.value;
  if (!all) return <p class="soft">Loading …</p>;
  const begin = async () => {
    busy.value = true;
    try {
      const { text } = await ask({ do: "preset", link: link.value, load: load.value });
      take({ ...FIRST, name: `${load.value}-${link.value}.toml`, text });
    } catch (error) {
      opening.value = false;
      say(error instanceof Error ? error.message : String(error), { wrong: true });
    }
    busy.value = false;
  };
  return (
    <>
      <p>
        Any load works with any link. The scenario gives the source of each number in a comment. For L4S, choose the
        load “l4s”.
      </p>
      <div class="pair-choice">
        <Radios legend="Link" of={all.links} chosen={link} />
        <Radios legend="Load" of={all.loads} chosen={load} />
      </div>
      <div class="row end">
        <Button primary disabled={busy.value} onClick={begin}>
          Open {load.value} over {link.value}
        </Button>
      </div>
    </>
  );
}

function Radios(p: {
  legend: string;
  of: readonly { name: string; title: string; about: string }[];
  chosen: { value: string };
}) {
  return (
    <fieldset class="radios">
      <legend>{p.legend}</legend>
      {p.of.map(({ name, title, about }) => (
        <label key={name} class={names("radio", p.chosen.value === name && "chosen")}>
          <input
            type="radio"
            name={p.legend}
            value={name}
            checked={p.chosen.value === name}
            onChange={() => {
              p.chosen.value = name;
            }}
          />
          <span>
            <strong>{title}</strong>
            <span class="small soft"> {about}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

// The repository's.

export interface Bundle {
  scenarios: { [name: string]: string };
  files: { [name: string]: string };
}

export const bundle = signal<Bundle | string | null>(null);

export async function loadBundle(): Promise<void> {
  if (bundle.peek() !== null && typeof bundle.peek() !== "string") return;
  try {
    const answer = await fetch(new URL(__SCENARIOS__, import.meta.url));
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    bundle.value = (await answer.json()) as Bundle;
  } catch (error) {
    bundle.value = `The list of scenarios could not be loaded: ${error instanceof Error ? error.message : error}`;
  }
}

/** The title that a text gives itself. */
const titleOf = (text: string): string => /^\s*title\s*=\s*"([^"\n]*)"/m.exec(text)?.[1] ?? "";

const FOLDERS: { readonly [folder: string]: string } = {
  "": "Examples",
  l4s: "L4S",
  bbr: "BBR",
  papers: "Of published papers",
};

function Scenarios() {
  const query = useSignal("");
  useEffect(() => {
    loadBundle();
  }, []);
  const all = bundle.value;
  if (all === null) return <p class="soft">Loading …</p>;
  if (typeof all === "string") return <p class="notice wrong">{all}</p>;
  const terms = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const list = Object.entries(all.scenarios)
    .map(([name, text]) => ({
      name,
      text,
      title: titleOf(text),
      folder: name.includes("/") ? name.replace(/\/.*/, "") : "",
    }))
    .filter(({ name, title }) => terms.every((term) => `${name} ${title}`.toLowerCase().includes(term)));
  const folders = [...new Set([...Object.keys(FOLDERS), ...list.map(({ folder }) => folder)])];
  const begin = (name: string, text: string) => {
    const files = Object.fromEntries(Object.entries(all.files).filter(([file]) => text.includes(`"${file}"`)));
    take({ ...FIRST, name: name.replace(/^.*\//, ""), text, files });
  };
  return (
    <>
      <Search
        label={`Find among ${Object.keys(all.scenarios).length} scenarios`}
        value={query.value}
        onInput={(text) => {
          query.value = text;
        }}
      />
      {list.length === 0 && <p>No scenario has “{query.value}” in its name or title.</p>}
      {folders.map((folder) => {
        const of = list.filter((one) => one.folder === folder);
        if (of.length === 0) return null;
        return (
          <section key={folder}>
            <h3>{FOLDERS[folder] ?? folder}</h3>
            <ul class="scenarios">
              {of.map(({ name, text, title }) => (
                <li key={name}>
                  <Button onClick={() => begin(name, text)}>
                    <code>{name}</code>
                    <span class="soft small">{title}</span>
                  </Button>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </>
  );
}

// A person's own.

async function takeFiles(files: readonly File[]): Promise<void> {
  if (files.length === 0) return;
  const { doc, says, wrong } = await openFiles(files);
  // What is said is not to stand behind the list.
  opening.value = false;
  if (doc) take(doc);
  say(says, { wrong });
}

function Own() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <p>
        Choose a scenario (TOML) together with the files that it names, or drop them anywhere on the page. They do not
        leave this browser.
      </p>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          takeFiles(files);
        }}
      />
      <div class="row">
        <Button primary onClick={() => input.current?.click()}>
          <Icon name="open" /> Choose files
        </Button>
        <Button onClick={() => take({ ...FIRST, name: "scenario.toml", text: EMPTY })}>
          <Icon name="plus" /> Start from a small example
        </Button>
        <Button onClick={() => take(FIRST)}>Back to the first example</Button>
      </div>
      {sessions.value.length > 0 && (
        <section>
          <h3>Opened before, or open in another window</h3>
          <ul class="scenarios">
            {sessions.value.map((kept) => {
              const before = docOf(kept);
              return (
                before && (
                  <li key={kept.id}>
                    <Button onClick={() => take(before)}>
                      <span>{kept.title}</span>
                      <span class="soft small">{new Date(kept.at).toLocaleString()}</span>
                    </Button>
                  </li>
                )
              );
            })}
          </ul>
        </section>
      )}
    </>
  );
}

const EMPTY = `schema = 1
title = "My scenario"
duration = "20 s"

[dumbbell]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "100 packets"

[[aqm]]
algorithm = "drop-tail"

[[flows]]
name = "downloads"
count = 2
rtt = "50 ms"
`;

/** Files may be dropped anywhere. */
function drops(): () => void {
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
  const over = (event: DragEvent) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.documentElement.dataset.dropping = "true";
  };
  const leave = (event: DragEvent) => {
    if (event.relatedTarget === null) delete document.documentElement.dataset.dropping;
  };
  const drop = (event: DragEvent) => {
    delete document.documentElement.dataset.dropping;
    if (!hasFiles(event)) return;
    event.preventDefault();
    takeFiles([...(event.dataTransfer?.files ?? [])]);
  };
  addEventListener("dragover", over);
  addEventListener("dragleave", leave);
  addEventListener("drop", drop);
  return () => {
    removeEventListener("dragover", over);
    removeEventListener("dragleave", leave);
    removeEventListener("drop", drop);
  };
}
