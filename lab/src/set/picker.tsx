// The catalog of algorithms, to choose from.

import { signal, useSignal } from "@preact/signals";
import type { AboutAlgorithm } from "../protocol.ts";
import { about } from "../state/about.ts";
import { change, SIDE_BY_SIDE, shown } from "../state/document.ts";
import { Button, Dialog, Icon, Search } from "../ui/index.tsx";
import { Key } from "../ui/key.tsx";
import { toml } from "./schema.ts";
import { inside, put, values } from "./values.ts";

/** Whether the catalog is open. */
export const picking = signal(false);

const LABELS = {
  reproduced: "its paper's results are reproduced",
  faithful: "follows its paper",
  experimental: "experimental",
} as const;

export function Picker() {
  const query = useSignal("");
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = about.value?.algorithms ?? [];
  const found = all.filter((one) =>
    words.every((word) => `${one.name} ${one.title} ${one.family}`.toLowerCase().includes(word)),
  );
  const families = [...new Set(found.map(({ family }) => family))];
  const list = Array.isArray(values.value.aqm) ? values.value.aqm : [];
  const there = new Set(list.map((value) => inside(value, "algorithm")));
  const add = async (one: AboutAlgorithm) => {
    const table = toml({ algorithm: one.name });
    const before = shown.peek();
    const ok = await put(list.length ? "aqm[+]" : "aqm", list.length ? table : `[${table}]`);
    if (ok) change({ algorithms: [...before, one.name].slice(-SIDE_BY_SIDE) }, { quiet: true });
  };
  return (
    <Dialog
      title="Algorithms"
      wide
      open={picking.value}
      onClose={() => {
        picking.value = false;
      }}
    >
      <Search
        label={`Find among ${all.length} algorithms`}
        value={query.value}
        onInput={(text) => {
          query.value = text;
        }}
      />
      {found.length === 0 && <p>No algorithm has “{query.value}” in its name.</p>}
      {families.map((family) => (
        <section key={family}>
          <h3>{family}</h3>
          <ul class="catalog">
            {found
              .filter((one) => one.family === family)
              .map((one) => (
                <li key={one.name}>
                  <Button
                    onClick={() => add(one)}
                    disabled={there.has(one.name)}
                    label={`Add ${one.name}: ${one.title}`}
                  >
                    <Key style={one.style} />
                    <span class="label">{one.name}</span>
                    <span class="soft small">{one.title}</span>
                    {there.has(one.name) && <Icon name="check" />}
                  </Button>
                  <span class="hidden">{LABELS[one.label]}</span>
                </li>
              ))}
          </ul>
        </section>
      ))}
      <div class="row end">
        <Button
          primary
          onClick={() => {
            picking.value = false;
          }}
        >
          Done
        </Button>
      </div>
    </Dialog>
  );
}
