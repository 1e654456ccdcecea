// The files that a scenario names, such as traces.

import { useRef } from "preact/hooks";
import { change, doc, tree } from "../state/document.ts";
import { Button, Icon } from "../ui/index.tsx";
import { say } from "../ui/notices.tsx";
import { openFiles } from "./open/read.ts";

export function FilesSection() {
  const input = useRef<HTMLInputElement>(null);
  const wanted = tree.value?.tree.files ?? [];
  const given = doc.value.files;
  const all = [...new Set([...wanted, ...Object.keys(given)])];
  if (all.length === 0) return null;
  const missing = wanted.filter((name) => !(name in given));
  const remove = (name: string) => {
    const { [name]: _, ...rest } = given;
    change({ files: rest });
  };
  return (
    <section class="section files">
      <h2>Files</h2>
      <ul class="scenarios">
        {all.map((name) => (
          <li key={name} class="row">
            <Icon name={name in given ? "check" : "warn"} />
            <code>{name}</code>
            <span class="small soft">
              {name in given
                ? `${Math.floor(((given[name] ?? "").replace(/=+$/, "").length * 3) / 4)} B${wanted.includes(name) ? "" : ", not named by the scenario"}`
                : "missing"}
            </span>
            {name in given && (
              <Button plain class="tight" label={`Remove ${name}`} onClick={() => remove(name)}>
                <Icon name="close" />
              </Button>
            )}
          </li>
        ))}
      </ul>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={async (event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          const { doc: next, says, wrong } = await openFiles(files);
          if (next) change({ files: next.files, text: next.text, name: next.name });
          say(says, { wrong });
        }}
      />
      <Button primary={missing.length > 0} onClick={() => input.current?.click()}>
        <Icon name="plus" /> {missing.length ? "Give the missing files" : "Give other files"}
      </Button>
    </section>
  );
}
