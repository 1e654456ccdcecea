// An algorithm and its parameters.

import { about } from "../state/about.ts";
import { parameters } from "./catalog.ts";
import { Fields } from "./fields.tsx";
import { isTable, toml, type Value } from "./schema.ts";
import { inside, put } from "./values.ts";

/** The menu of algorithms and the chosen one's parameters. */
export function AlgorithmEditor(p: {
  path: string;
  value: Value | undefined;
  fallback: Value | undefined;
  label: string;
  filter: string;
  /** Without the menu, where a head has it. */
  bare?: boolean;
}) {
  const name = inside(p.value, "algorithm");
  const fields = (typeof name === "string" && parameters.value?.get(name)) || [];
  const families = about.value ? [...new Set(about.value.algorithms.map(({ family }) => family))] : [];
  return (
    <>
      {!p.bare && (
        <select
          aria-labelledby={p.label}
          value={typeof name === "string" ? name : ""}
          onChange={(event) => {
            const to = event.currentTarget.value;
            if (to === "") put(p.path, null);
            else put(p.path, toml({ algorithm: to }));
          }}
        >
          <option value="">default</option>
          {families.map((family) => (
            <optgroup key={family} label={family}>
              {about.value?.algorithms
                .filter((one) => one.family === family)
                .map((one) => (
                  <option key={one.name} value={one.name} title={one.title}>
                    {one.name}
                  </option>
                ))}
            </optgroup>
          ))}
          {typeof name === "string" && !about.value?.algorithms.some((one) => one.name === name) && (
            <option value={name}>{name}</option>
          )}
        </select>
      )}
      {isTable(p.value) && (
        <Fields path={p.path} fields={fields} value={p.value} fallback={p.fallback} filter={p.filter} parameter />
      )}
    </>
  );
}
