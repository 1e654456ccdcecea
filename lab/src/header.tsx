// The line at the top: what is open, and what can be done with all of it.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { KeepMenu } from "./keep/index.tsx";
import { RunControl } from "./see/index.tsx";
import { OpenDialog, opening } from "./set/open/index.tsx";
import { canRedo, canUndo, doc, lastChecked, redo, undo } from "./state/document.ts";
import { show } from "./state/layout.ts";
import { Button, Dialog, Icon } from "./ui/index.tsx";
import { register, shortcuts, written } from "./ui/keys.ts";

const helping = signal(false);

export function Header() {
  useEffect(
    () =>
      register(
        {
          part: "Page",
          keys: "?",
          says: "List the shortcuts",
          run: () => {
            helping.value = true;
          },
        },
        {
          part: "Scenario",
          keys: "o",
          says: "Open a scenario",
          run: () => {
            opening.value = true;
          },
        },
      ),
    [],
  );
  const title = lastChecked.value?.title || doc.value.name;
  useEffect(() => {
    document.title = `${title} · Quell lab`;
  }, [title]);
  return (
    <header class="top">
      <p class="brand">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" />
          <path d="M7 21 13 9l3 8 3-3 3 3 4-1" />
        </svg>
        <span>Quell lab</span>
      </p>
      <h1 title={title}>{title}</h1>
      <div class="tools">
        <Button
          onClick={() => {
            opening.value = true;
          }}
          label="Scenarios: open one, or start with a link and a load"
          keys={written("o")}
        >
          <Icon name="open" />
          <span class="word">Scenarios</span>
        </Button>
        <Button class="of-wide" onClick={() => show("learn")} label="Guided experiments">
          <Icon name="flask" />
          <span class="word">Experiments</span>
        </Button>
        <span class="group">
          <Button plain label="Undo" keys={written("mod+z")} disabled={!canUndo.value} onClick={undo}>
            <Icon name="undo" />
          </Button>
          <Button plain label="Redo" keys={written("mod+shift+z")} disabled={!canRedo.value} onClick={redo}>
            <Icon name="redo" />
          </Button>
        </span>
        <RunControl />
        <KeepMenu />
        <Button
          plain
          label="Shortcuts and what this is"
          keys="?"
          onClick={() => {
            helping.value = true;
          }}
        >
          <Icon name="help" />
        </Button>
      </div>
      <OpenDialog />
      <Help />
    </header>
  );
}

function Help() {
  const parts = [...new Set(shortcuts.value.map(({ part }) => part))];
  return (
    <Dialog
      title="Quell lab"
      open={helping.value}
      onClose={() => {
        helping.value = false;
      }}
    >
      <p>
        A packet simulator for active queue management. Change the link, the traffic, or the algorithm, and see what
        happens to queues, delay, and flows. The page runs the simulator of the command <code>quell</code> and gives the
        same results, bit for bit. Everything runs in your browser. The page sends nothing and loads nothing from other
        sites.
      </p>
      <h3>Shortcuts</h3>
      <div class="shortcuts">
        {parts.map((part) => (
          <table key={part}>
            <caption>{part}</caption>
            <tbody>
              {shortcuts.value
                .filter((one) => one.part === part)
                .map((one) => (
                  <tr key={one.keys}>
                    <th scope="row">
                      <kbd>{written(one.keys)}</kbd>
                    </th>
                    <td>{one.says}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        ))}
      </div>
    </Dialog>
  );
}
