import { change, doc } from "../../state/document.ts";

export function TextPanel() {
  return (
    <textarea
      aria-label="The scenario's text"
      value={doc.value.text}
      onInput={(event) => change({ text: event.currentTarget.value }, { merge: "typing" })}
    />
  );
}
