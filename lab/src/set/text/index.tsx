// The scenario's text. The editor is loaded when it is first shown.

import { Lazy } from "../../ui/index.tsx";
import { Banner } from "../banner.tsx";

export function TextPanel() {
  return (
    <div class="text">
      <Banner inText />
      <Lazy
        load={() => import("./editor.tsx").then((part) => part.TextEditor)}
        props={{}}
        wait={<p class="soft">Loading the editor …</p>}
      />
    </div>
  );
}
