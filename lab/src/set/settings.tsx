// Free tables of fields and values: sweeps, the lists in them, and cases.

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Button, Icon } from "../ui/index.tsx";
import { add } from "./fields.tsx";
import { isTable, toml, type Value, written } from "./schema.ts";
import { faultAt, places, put, rewrite, under } from "./values.ts";

const ANY = { kind: "any" } as const;

/** A list as people write it, with commas; ranges and single values as they are. */
const said = (value: Value): string =>
  Array.isArray(value) && value.every((one) => typeof one !== "object")
    ? value.map(String).join(", ")
    : typeof value === "object"
      ? toml(value)
      : String(value);

/** What is typed, in TOML: a list if it has commas, or if lists are meant. */
function readList(text: string, list: boolean): string {
  const trimmed = text.trim();
  if (/^[[{"']/.test(trimmed)) return trimmed;
  if (!list || /\.\.|:/.test(trimmed)) return written(trimmed, ANY);
  const parts = trimmed.split(",").map((part) => part.trim());
  return `[${parts
    .filter(Boolean)
    .map((part) => written(part, ANY))
    .join(", ")}]`;
}

/** Rows of a field and its values. `linked`: values are lists, and further tables have fields that advance together. */
export function SettingsEditor(p: { path: string; value: Value | undefined; linked: boolean; lists?: boolean }) {
  const lists = p.linked || (p.lists ?? false);
  const id = useId();
  const field = useSignal("");
  const typed = useSignal("");
  const rows = isTable(p.value) ? Object.entries(p.value).filter(([key]) => !(p.linked && key === "linked")) : [];
  const linked = p.linked && isTable(p.value) && Array.isArray(p.value.linked) ? p.value.linked : [];
  const addRow = () => {
    const key = field.value.trim();
    if (!key || typed.value.trim() === "") return;
    put(under(p.path, key), readList(typed.value, lists));
    field.value = "";
    typed.value = "";
  };
  return (
    <div class="settings">
      {rows.map(([key, value]) => {
        const path = under(p.path, key);
        const wrong = faultAt(path);
        return (
          <div key={key} class="setting" data-path={path}>
            <code>{key}</code>
            <input
              type="text"
              aria-label={`Values of ${key}`}
              aria-invalid={wrong !== null}
              value={said(value)}
              onChange={(event) => put(path, readList(event.currentTarget.value, lists))}
            />
            <Button plain class="tight" label={`Remove ${key}`} onClick={() => put(path, null)}>
              <Icon name="trash" />
            </Button>
            {wrong && <p class="wrong-words small">{wrong.message}</p>}
          </div>
        );
      })}
      <div class="setting">
        <input
          type="text"
          list={`${id}-fields`}
          aria-label="Field"
          placeholder="dumbbell.rate"
          value={field.value}
          onInput={(event) => {
            field.value = event.currentTarget.value;
          }}
        />
        <datalist id={`${id}-fields`}>
          {Object.entries(places.value)
            .filter(
              ([path, { form }]) => !["table", "array"].includes(form) && !/^(schema|title|sweep|cases)/.test(path),
            )
            .map(([path]) => (
              <option key={path} value={path} />
            ))}
        </datalist>
        <input
          type="text"
          aria-label={lists ? "Values, with commas, or a range" : "Value"}
          placeholder={lists ? "5 Mbit/s, 10 Mbit/s" : "10 Mbit/s"}
          value={typed.value}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => event.key === "Enter" && addRow()}
        />
        <Button class="tight" label="Add this field" onClick={addRow}>
          <Icon name="plus" />
        </Button>
      </div>
      {p.linked && (
        <>
          {linked.map((group, i) => (
            <div key={i} class="card">
              <div class="card-head">
                <strong>Fields that advance together</strong>
                <Button
                  plain
                  class="tight"
                  label="Remove these"
                  onClick={() => rewrite([{ path: `${p.path}.linked[${i}]`, value: null }])}
                >
                  <Icon name="trash" />
                </Button>
              </div>
              <SettingsEditor path={`${p.path}.linked[${i}]`} value={group} linked={false} lists />
            </div>
          ))}
          <Button onClick={() => add(`${p.path}.linked`, isTable(p.value) ? p.value.linked : undefined, {})}>
            <Icon name="plus" /> Fields that advance together
          </Button>
        </>
      )}
    </div>
  );
}
