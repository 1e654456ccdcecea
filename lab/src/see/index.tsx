// Results: queues, delays, tables and theory.

export function SeePanel() {
  return <p>Results</p>;
}

/** The button in the header that runs, or stops what runs. */
export function RunControl() {
  return null;
}
