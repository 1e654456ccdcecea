// The schema, which is loaded when the form is first shown, and what follows from it.

import { computed, signal } from "@preact/signals";
import { algorithmFields, type Schema, scenarioShape } from "./schema.ts";

export const schema = signal<Schema | null>(null);
export const scenario = computed(() => (schema.value ? scenarioShape(schema.value) : null));
export const parameters = computed(() => (schema.value ? algorithmFields(schema.value) : null));

let loading: Promise<void> | null = null;

/** Loads the schema. */
export function loadSchema(): Promise<void> {
  loading ??= import("../../../scenarios/schema.json").then((file) => {
    schema.value = file.default as unknown as Schema;
  });
  return loading;
}
