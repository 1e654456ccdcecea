// The page: its frame, and where each part has its place.

import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { Header } from "./header.tsx";
import { OpenInLab } from "./keep/index.tsx";
import { restore } from "./keep/session.ts";
import { followTrail } from "./keep/trail.ts";
import { LearnPanel } from "./learn/index.tsx";
import { keepOffline } from "./offline/offline.ts";
import { SeePanel } from "./see/index.tsx";
import { FormPanel } from "./set/index.tsx";
import { TextPanel } from "./set/text/index.tsx";
import { broken, canRedo, canUndo, doc, follow, lastChecked, redo, undo } from "./state/document.ts";
import { besideText, embedded, type Left, left, results, show, veryWide, wide } from "./state/layout.ts";
import { Lazy, Tabs } from "./ui/index.tsx";
import { listen, register } from "./ui/keys.ts";
import { Notices } from "./ui/notices.tsx";
import { Welcome } from "./welcome.tsx";

function App() {
  useEffect(() => {
    document.documentElement.dataset.started = "true";
  }, []);
  if (embedded) {
    return (
      <div class="app embedded">
        <main id="see" class="panel see">
          {broken.value && <p class="notice wrong">{broken.value}</p>}
          <h1 class="hidden">{lastChecked.value?.title ?? doc.value.name}</h1>
          <SeePanel />
        </main>
        <footer class="row end embedded-foot">
          <OpenInLab />
        </footer>
        <Notices />
      </div>
    );
  }
  return (
    <div class="app">
      <button
        type="button"
        class="skip"
        onClick={() => {
          show("see");
          requestAnimationFrame(() => document.getElementById("see")?.focus());
        }}
      >
        Skip to the results
      </button>
      <Header />
      <Welcome />
      {broken.value && <p class="notice wrong across">{broken.value}</p>}
      {wide.value ? <Wide /> : <Narrow />}
      <Notices />
    </div>
  );
}

const LEFT: readonly (readonly [Left, string])[] = [
  ["form", "Settings"],
  ["toml", "Text"],
  ["learn", "Experiments"],
  ["recommend", "Advice"],
];

function Wide() {
  const both = veryWide.value && besideText.value;
  return (
    <div class={both ? "columns three" : "columns"}>
      <aside class="side" aria-label="Scenario">
        <Tabs
          label="Scenario"
          tabs={
            both
              ? [
                  ["form", "Settings and text"],
                  ["learn", "Experiments"],
                  ["recommend", "Advice"],
                ]
              : LEFT
          }
          chosen={both ? "form" : left.value === "both" ? "form" : left.value}
          onChoose={(tab) => {
            left.value = tab;
          }}
          panel={panelOf}
        />
        {both ? (
          <div class="pair" id="form" role="tabpanel" aria-labelledby="form-tab">
            <div class="panel">
              <FormPanel />
            </div>
            <div class="panel" id="toml">
              <TextPanel />
            </div>
          </div>
        ) : (
          <Panel of={left.value === "both" ? "form" : left.value} />
        )}
      </aside>
      <main id="see" class="panel see" tabIndex={-1}>
        <SeePanel />
      </main>
    </div>
  );
}

function Narrow() {
  const chosen = results.value ? "see" : left.value === "both" ? "form" : left.value;
  return (
    <div class="columns one">
      <main>
        {chosen === "see" ? (
          <div id="see" class="panel see" tabIndex={-1} role="tabpanel" aria-labelledby="see-tab">
            <SeePanel />
          </div>
        ) : (
          <Panel of={chosen} />
        )}
      </main>
      <nav aria-label="Parts of the page">
        <Tabs
          class="bottom"
          label="Parts of the page"
          tabs={[["see", "Results"], ...LEFT]}
          chosen={chosen}
          onChoose={show}
          panel={panelOf}
        />
      </nav>
    </div>
  );
}

const loadRecommend = async () => (await import("./recommend/index.tsx")).RecommendPanel;

const panelOf = (tab: string) => tab;

function Panel({ of }: { of: Left }) {
  return (
    <div class="panel" id={of} role="tabpanel" aria-labelledby={`${of}-tab`}>
      {of === "learn" ? (
        <LearnPanel />
      ) : of === "recommend" ? (
        <Lazy load={loadRecommend} props={{}} />
      ) : of === "toml" ? (
        <TextPanel />
      ) : (
        <FormPanel />
      )}
    </div>
  );
}

async function start(): Promise<void> {
  await restore();
  follow();
  listen();
  register(
    { part: "Scenario", keys: "mod+z", says: "Undo", run: () => canUndo.peek() && undo(), inFields: true },
    { part: "Scenario", keys: "mod+shift+z", says: "Redo", run: () => canRedo.peek() && redo(), inFields: true },
    { part: "Scenario", keys: "mod+y", says: "Redo", run: () => canRedo.peek() && redo(), inFields: true },
    { part: "Page", keys: "1", says: "Show the results", run: () => show("see") },
    { part: "Page", keys: "2", says: "Show the settings", run: () => show("form") },
    { part: "Page", keys: "3", says: "Show the text", run: () => show("toml") },
    { part: "Page", keys: "4", says: "Show the experiments", run: () => show("learn") },
    { part: "Page", keys: "5", says: "Find a queue for a link", run: () => show("recommend") },
  );
  const app = document.getElementById("app");
  if (app) {
    app.textContent = "";
    render(<App />, app);
  }
  followTrail();
  keepOffline();
  effect(() => {
    if (broken.value) document.documentElement.dataset.ready = "true";
  });
}

start().catch((error) => window.quellCannot?.(`The page could not start: ${error.message}`));
