// Answers of the engine for what is shown: the newest question wins, and the last answer stays until the next is there.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Ask, desk } from "../engine/client.ts";
import type { Answers } from "../protocol.ts";

/** An answer that a component shows. */
export interface Shown<T> {
  readonly ok: T | null;
  /** Why there is none. */
  readonly fault: string;
  /** A newer question is not answered yet. */
  readonly waits: boolean;
}

/** Asks whenever the question changes; nothing while it is null. */
export function useAnswer<Do extends keyof Answers>(request: Ask<Do> | null): Shown<Answers[Do]> {
  const [state, set] = useState<Shown<Answers[Do]>>({ ok: null, fault: "", waits: request !== null });
  const key = request === null ? "" : JSON.stringify(request);
  const newest = useRef(key);
  newest.current = key;
  useEffect(() => {
    if (request === null) return;
    set((old) => ({ ...old, waits: true }));
    desk(request).then(
      (ok) => newest.current === key && set({ ok, fault: "", waits: false }),
      (error) => {
        const fault = error instanceof Error ? error.message : String(error);
        if (newest.current === key) set({ ok: null, fault, waits: false });
      },
    );
  }, [key]);
  return state;
}
