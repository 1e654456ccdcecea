// The documents that experiments cite, as docs/references.bib has them: build.mjs reads them from there.

/** A document of the bibliography. */
export interface Reference {
  readonly title: string;
  /** Where it can be read or bought; nothing is loaded from there, it is a link. */
  readonly url?: string;
}

/** The documents by their keys. */
export const REFERENCES: { readonly [key: string]: Reference } = __REFERENCES__;
