// What is wrong in the command's words, without the list of all names that would have been right.

import type { Fault } from "../protocol.ts";

/** The most names that stand in a message. */
const NAMES = 8;

/** A message, and the names that it would end with if they are many. */
export function brief(of: Pick<Fault, "message" | "known">): { says: string; names: readonly string[] } {
  const { message, known } = of;
  const names = known?.replace(/^[^:]*: /, "").split(", ") ?? [];
  const at = known ? message.toLowerCase().lastIndexOf(known.toLowerCase()) : -1;
  if (names.length <= NAMES || at < 0) return { says: message, names: [] };
  const says = message.slice(0, at).replace(/[;\s]+$/, "") + message.slice(at + (known?.length ?? 0));
  return { says, names };
}

/** A message in a paragraph, and behind it the names to choose from. */
export function FaultWords({ of }: { of: Pick<Fault, "message" | "known"> }) {
  const { says, names } = brief(of);
  return (
    <>
      <p>{says}</p>
      {names.length > 0 && (
        <details>
          <summary>{names.length} names in all</summary>
          <p>{names.join(", ")}</p>
        </details>
      )}
    </>
  );
}
