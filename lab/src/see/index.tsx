// Results: queues, delays, tables and theory.

import { useEffect } from "preact/hooks";
import { verdict } from "../state/document.ts";

export function SeePanel() {
  const judged = verdict.value !== null;
  useEffect(() => {
    if (judged) document.documentElement.dataset.ready = "true";
  }, [judged]);
  return <p>Results</p>;
}

/** The button in the header that runs, or stops what runs. */
export function RunControl() {
  return null;
}
