import { signal } from "@preact/signals";

/** Whether the list of scenarios is open. */
export const opening = signal(false);

export function OpenDialog() {
  return null;
}
