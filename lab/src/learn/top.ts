// What is opened is read from its beginning, wherever the list before it was left.

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** The element whose panel goes to its top whenever another `id` is shown. */
export function useFromTop(id: string): RefObject<HTMLElement | null> {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    element.current?.closest(".panel")?.scrollTo(0, 0);
  }, [id]);
  return element;
}
