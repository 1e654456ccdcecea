// Answers of the engine for what is shown: the newest question wins, and the last answer stays until the next is there.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Ask, desk } from "../engine/client.ts";
import type { Answers } from "../protocol.ts";
import { family } from "../state/document.ts";

/** An answer that a component shows. */
export interface Shown<T> {
  readonly ok: T | null;
  /** Why there is none. */
  readonly fault: string;
  /** A newer question is not answered yet. */
  readonly waits: boolean;
}

/**
 * Asks whenever the question changes; nothing while it is null. One question is asked at a time: of those that come
 * meanwhile, as while a slider is dragged, the newest alone is asked next.
 */
export function useAnswer<Do extends keyof Answers>(request: Ask<Do> | null): Shown<Answers[Do]> {
  const [state, set] = useState<Shown<Answers[Do]> & { of: number }>({
    ok: null,
    fault: "",
    waits: request !== null,
    of: family.peek(),
  });
  const of = family.value;
  const key = request === null ? "" : `${of} ${JSON.stringify(request)}`;
  const newest = useRef<{ key: string; of: number; request: Ask<Do> | null }>({ key, of, request });
  newest.current = { key, of, request };
  const busy = useRef(false);
  const here = useRef(true);
  useEffect(() => {
    const next = async () => {
      for (;;) {
        const { key: asked, of, request: question } = newest.current;
        if (question === null) return;
        let found: Shown<Answers[Do]>;
        try {
          found = { ok: await desk(question), fault: "", waits: false };
        } catch (error) {
          found = { ok: null, fault: error instanceof Error ? error.message : String(error), waits: false };
        }
        if (!here.current) return;
        const isNewest = newest.current.key === asked;
        set((old) => (isNewest ? { ...found, of } : { ok: found.ok ?? old.ok, fault: "", waits: true, of }));
        if (isNewest) return;
      }
    };
    if (request === null) return;
    set((old) => ({ ...old, waits: true }));
    if (busy.current) return;
    busy.current = true;
    next().finally(() => {
      busy.current = false;
    });
  }, [key]);
  useEffect(
    () => () => {
      here.current = false;
    },
    [],
  );
  // An answer on the scenario of before is none on this one.
  return state.of === of ? state : { ok: null, fault: "", waits: request !== null };
}
