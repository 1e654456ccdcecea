// What is wrong with the scenario, above the form and the text.

import { fault, unreadable } from "../state/document.ts";
import { besideText, show, veryWide } from "../state/layout.ts";
import { FaultWords } from "../ui/fault.tsx";
import { Button } from "../ui/index.tsx";
import { Mend, query } from "./fields.tsx";
import { words } from "./schema.ts";

/** What is wrong with the text, at the top, with ways to it. */
export function Banner({ inText }: { inText?: boolean }) {
  const found = unreadable.value ?? fault.value;
  if (!found) return null;
  // Beside the form its banner is enough.
  if (inText && veryWide.value && besideText.value) return null;
  // As the form calls it.
  const named =
    found.field &&
    words(
      found.field
        .replace(/^.*\./, "")
        .replace(/["[\]]/g, " ")
        .trim(),
    );
  return (
    <div class="banner" role="alert">
      {named && <strong>{named}</strong>}
      <FaultWords of={found} />
      <div class="row">
        <Mend of={found} />
        {!inText && found.line !== null && (
          <Button onClick={() => show("toml")}>Show line {found.line} of the text</Button>
        )}
        {found.field && !unreadable.value && <Button onClick={() => goTo(found.field ?? "")}>Show the setting</Button>}
      </div>
      {unreadable.value && !inText && <p class="small">The form can edit the text again when it is valid TOML.</p>}
    </div>
  );
}

/** Brings the editor of a path, or of what it is in, into view and into focus. */
function goTo(path: string): void {
  query.value = "";
  show("form");
  requestAnimationFrame(() => {
    for (let at = path; at; at = at.replace(/(\.[^.[\]]+|\[\d+\]|^[^.[\]]+)$/, "")) {
      const found = document.querySelector<HTMLElement>(`[data-path="${CSS.escape(at)}"]`);
      if (found) {
        found.scrollIntoView({ block: "center" });
        found.querySelector<HTMLElement>("input, select, button")?.focus();
        return;
      }
    }
  });
}
