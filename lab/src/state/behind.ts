// The results and the text beside them may be about different steps of an experiment.

import { signal } from "@preact/signals";

/** What the results are of while the text is about something else, and what runs that; `null`: they belong together. */
export const behind = signal<{ readonly says: string; readonly run: () => void } | null>(null);
