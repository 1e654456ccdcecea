/** The file name of the simulator beside the page's scripts; empty if it was built without. */
declare const __WASM__: string;
/** The file name of the worker's script. */
declare const __WORKER__: string;
/** The file name of the list of scenarios. */
declare const __SCENARIOS__: string;
/** What docs/references.bib has of the documents that experiments cite, by key. */
declare const __REFERENCES__: { readonly [key: string]: { readonly title: string; readonly url?: string } };

declare module "*.toml" {
  const text: string;
  export default text;
}

interface Window {
  /** Puts a sentence in place of the page: why it cannot start (boot.js). */
  quellCannot?: (why: string) => void;
}
