// What a stranger sees first: what the page is, in a sentence, and two ways to begin.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { opening } from "./set/open/index.tsx";
import { family } from "./state/document.ts";
import { embedded, left, show } from "./state/layout.ts";
import { Button, Icon } from "./ui/index.tsx";

const KEY = "quell-lab-known";
const CLOSED = "yes";

const closed = signal(embedded || isKnown());

export function Welcome() {
  // Who has begun either way, here or elsewhere, needs no introduction; who only looks at the scenarios may.
  const shown = useRef(family.peek());
  const begun = left.value === "learn" || family.value !== shown.current;
  useEffect(() => {
    if (begun) close();
  }, [begun]);
  if (closed.value) return null;
  return (
    <section class="welcome" aria-label="What this page is">
      <p id="about">
        Network queues, simulated packet by packet in your browser. Change the link, the traffic, or the algorithm, and
        see what happens to delay.
      </p>
      <div class="row">
        <Button primary onClick={() => show("learn")}>
          <Icon name="flask" /> Try an experiment
        </Button>
        <Button
          onClick={() => {
            opening.value = true;
          }}
        >
          <Icon name="open" /> Set up your own link
        </Button>
        <Button plain class="close" label="Close this introduction" onClick={close}>
          <Icon name="close" />
        </Button>
      </div>
    </section>
  );
}

function close(): void {
  closed.value = true;
  try {
    localStorage.setItem(KEY, CLOSED);
  } catch {
    // Storage may be switched off: then it is shown at each visit.
  }
}

/** Who has been here, or was given a file by the command, knows what the page is. */
function isKnown(): boolean {
  try {
    if (new URLSearchParams(location.search).has("opened")) return true;
    return localStorage.getItem(KEY) === CLOSED;
  } catch {
    return false;
  }
}
