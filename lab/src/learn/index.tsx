// The guided experiments: a list, or the one that is open, step by step.

import { effect, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Experiment, Slider } from "../../experiments/kit.ts";
import { doc, edit, tree } from "../state/document.ts";
import { embedded, left, results, show, wide } from "../state/layout.ts";
import { Button, Hidden, Icon, names } from "../ui/index.tsx";
import { register, written } from "../ui/keys.ts";
import { say } from "../ui/notices.tsx";
import {
  apply,
  asTold,
  at,
  begin,
  close,
  experiment,
  experiments,
  finish,
  followCourse,
  isApplied,
  type Judged,
  length,
  loadExperiments,
  progress,
  said,
  stepOf,
  turn,
} from "./course.ts";
import { Documents, followPrinted, isOfDocument, loadPapers } from "./documents.tsx";
import { REFERENCES } from "./references.ts";
import { fromSlider, toSlider, written as writtenValue } from "./slider.ts";
import { useFromTop } from "./top.ts";

// A link may open an experiment: then its panel is seen first.
let opened = false;
effect(() => {
  if (opened || !doc.value.experiment || embedded) return;
  opened = true;
  left.value = "learn";
  results.value = false;
});

// Printed numbers are drawn whatever panel is seen.
effect(() => {
  if (isOfDocument.value) loadPapers();
  followPrinted();
});

const told = (error: unknown) => say(error instanceof Error ? error.message : String(error), { wrong: true });

export function LearnPanel() {
  const [why, setWhy] = useState("");
  useEffect(() => {
    loadExperiments().catch((error) =>
      setWhy(`The experiments could not be loaded (${error.message}). Reload the page.`),
    );
    return followCourse();
  }, []);
  useEffect(
    () =>
      register(
        { part: "Experiments", keys: "n", says: "Next step", run: () => turn(1) },
        { part: "Experiments", keys: "b", says: "Step back", run: () => turn(-1) },
        {
          part: "Experiments",
          keys: "d",
          says: "Do what the step says",
          run: () => {
            const of = experiment.peek();
            if (of) apply(of, at.peek()).catch(told);
          },
        },
      ),
    [],
  );
  if (why) return <p class="notice wrong">{why}</p>;
  if (experiments.value.length === 0) return <p class="soft">Loading …</p>;
  const of = experiment.value;
  return <div class="learn">{of ? <Open of={of} /> : <List />}</div>;
}

function List() {
  const { done } = progress.value;
  return (
    <>
      {!isOfDocument.value && (
        <>
          <h2>Guided experiments</h2>
          <p class="soft">
            Each one makes a claim, gives you something to do, and says what your own run shows. It takes two to five
            minutes.
          </p>
          <ol class="experiments">
            {experiments.value.map((of) => (
              <li key={of.id}>
                <button type="button" class="experiment" onClick={() => begin(of).catch(told)}>
                  <span class="experiment-title">
                    {of.title}
                    {done.includes(of.id) && (
                      <span class="done">
                        <Icon name="check" />
                        <Hidden>done</Hidden>
                      </span>
                    )}
                  </span>
                  <span class="small soft">{of.minutes} min</span>
                  <span class="small experiment-claim">{of.claim}</span>
                </button>
              </li>
            ))}
          </ol>
        </>
      )}
      <Documents />
    </>
  );
}

function Open({ of }: { of: Experiment }) {
  const place = at.value;
  const last = place === of.steps.length;
  const top = useFromTop(of.id);
  const heading = useRef<HTMLHeadingElement>(null);
  const seen = useRef(place);
  useSignalEffect(() => {
    const now = at.value;
    if (now !== seen.current) {
      seen.current = now;
      requestAnimationFrame(() => heading.current?.focus());
    }
  });
  const step = last ? undefined : of.steps[place];
  const title = step ? step.title : "Remove the cause";
  return (
    <article class="course" ref={top}>
      <Button plain class="back" onClick={close}>
        <Icon name="undo" /> All experiments
      </Button>
      <h2>{of.title}</h2>
      <p class="claim">{of.claim}</p>
      <Steps of={of} place={place} />
      <section class="step" aria-label={`Step ${place + 1} of ${length(of)}`}>
        <h3 ref={heading} tabIndex={-1}>
          <span class="soft">
            {place + 1}/{length(of)}
          </span>{" "}
          {title}
        </h3>
        <p>
          <Text of={step ? step.say : of.control.say} />
        </p>
        {last && (
          <p class="small soft">
            This tests the claim of step {of.control.step + 1}. It must fail without {of.control.without}.
          </p>
        )}
        <div class="row">
          <Button primary={!isApplied.value} onClick={() => apply(of, place).catch(told)} keys={written("d")}>
            <Icon name={isApplied.value ? "reset" : "play"} />
            {!isApplied.value ? "Do it" : asTold.value ? "Again" : "Back to the step’s settings"}
          </Button>
          {!wide.value && isApplied.value && <Button onClick={() => show("see")}>Look at the curves</Button>}
        </div>
        {isApplied.value && step?.sliders?.map((slider) => <Mover key={slider.path} of={slider} />)}
        <Verdict of={of} place={place} />
      </section>
      <nav class="row turn" aria-label="Steps">
        <Button disabled={place === 0} onClick={() => turn(-1)} keys={written("b")}>
          Back
        </Button>
        {last ? (
          <Button
            primary={isApplied.value}
            onClick={() => {
              finish(of);
              const next = experiments.value[experiments.value.indexOf(of) + 1];
              if (next) begin(next).catch(told);
              else close();
            }}
          >
            {of === experiments.value.at(-1) ? "Done" : "Done. Next experiment"}
          </Button>
        ) : (
          <Button primary={isApplied.value} onClick={() => turn(1)} keys={written("n")}>
            Next
          </Button>
        )}
      </nav>
      <details class="learn-more" open={place >= of.steps.length - 1}>
        <summary>Why</summary>
        <ul>
          {of.why.map((sentence) => (
            <li key={sentence}>
              <Text of={sentence} />
            </li>
          ))}
        </ul>
      </details>
      <details class="learn-more">
        <summary>Go further</summary>
        <ul>
          {of.further.map(({ say }) => (
            <li key={say}>
              <Text of={say} />
            </li>
          ))}
        </ul>
      </details>
      <Sources of={of.sources} />
    </article>
  );
}

/** The steps as a line of marks, for the eye; the keys and buttons below lead along it. */
function Steps({ of, place }: { of: Experiment; place: number }) {
  return (
    <ol class="marks" aria-hidden="true">
      {[...of.steps, null].map((step, i) => (
        <li key={step?.title ?? "control"} class={names(i === place && "here", i < place && "past")} />
      ))}
    </ol>
  );
}

/** What the page's own run says. The element is always there, for what appears in it is read aloud. */
function Verdict({ of, place }: { of: Experiment; place: number }) {
  return (
    <div role="status" aria-atomic="false" class="said">
      {isApplied.value && <Judgment of={of} place={place} />}
    </div>
  );
}

function Judgment({ of, place }: { of: Experiment; place: number }) {
  const now = said.value;
  if (now.state === "none") return null;
  if (now.state === "failed") return <p class="learn-verdict bad">{now.why}</p>;
  const judged = now.state === "said" ? now : now.before;
  if (!judged) return <p class="small soft">Running …</p>;
  const { good, words } = wordsOf(of, place, judged);
  // While it runs again, the sentences before keep the place of those that come.
  const runs = now.state === "running" && "unseen";
  return (
    <>
      <p class="small soft">{runs ? "Running …" : `Your run shows (seed ${judged.seed}):`}</p>
      <p class={names(runs)}>{judged.text}</p>
      <p class={names("learn-verdict", judged.ran < judged.asked ? "early" : good ? "good" : "bad", runs)}>
        <Icon name={good ? "check" : "warn"} /> <span>{words}</span>
      </p>
      {judged.asked > 1 && <p class={names("small soft", runs)}>{seedsOf(judged)}</p>}
    </>
  );
}

/** The verdict in words, which name the claim that is judged. */
function wordsOf(of: Experiment, place: number, now: Judged): { good: boolean; words: string } {
  const step = stepOf(of, place);
  const claim = `“${step?.claim ?? ""}”`;
  const own = asTold.value ? "" : " with these settings";
  if (place < of.steps.length) {
    if (now.holds) return { good: true, words: `The claim ${claim} holds${own}.` };
    return { good: false, words: `The claim ${claim} does not hold${own}. ${step?.otherwise ?? ""}` };
  }
  if (now.holds) return { good: false, words: `The claim ${claim} still holds${own}, so something else causes it.` };
  if (!now.shows) return { good: false, words: `The claim ${claim} fails${own}, but this run does not show why.` };
  return { good: true, words: `Without ${of.control.without}, the claim ${claim} fails, as it must.` };
}

/** How many seeds have run, and whether they agree. It takes one line all the time. */
function seedsOf({ ran, asked, agree }: Judged): string {
  if (ran < asked) {
    const others = ran === 1 ? "" : agree === ran ? ", and they agree" : `, and ${agree} agree`;
    return `So far, ${ran} of ${asked} seeds ${ran === 1 ? "has" : "have"} run${others}.`;
  }
  return agree === ran ? `All ${ran} seeds agree.` : `${agree} of ${ran} seeds agree with this.`;
}

/** Where it is from: links to the documents, where they have one. */
function Sources({ of }: { of: Experiment["sources"] }) {
  return (
    <p class="small soft">
      {of.length === 1 ? "Source" : "Sources"}:{" "}
      {of.map((source, i) => {
        const known = REFERENCES[source.key];
        return (
          <span key={source.text}>
            {i > 0 && "; "}
            {known?.url ? (
              <a href={known.url} title={known.title} target="_blank" rel="noopener noreferrer">
                {source.text}
                <Hidden> (opens in a new tab)</Hidden>
              </a>
            ) : (
              <span title={known?.title}>{source.text}</span>
            )}
          </span>
        );
      })}
      . Links open in a new tab. Full references are in <code>docs/references.md</code>.
    </p>
  );
}

/** A value that the student moves. */
function Mover({ of }: { of: Slider }) {
  const now = writtenValue(of, tree.value?.tree.value);
  const shown = `${now.toFixed(of.decimals ?? 0)}${of.unit ? ` ${of.unit}` : ""}`;
  return (
    <label class="mover">
      <span>
        {of.says} <strong class="number">{shown}</strong>
      </span>
      <input
        type="range"
        min="0"
        max="1000"
        step="1"
        value={toSlider(of, now)}
        aria-valuetext={shown}
        onInput={(event) => {
          const value = fromSlider(of, Number(event.currentTarget.value));
          const text = of.unit ? `"${value} ${of.unit}"` : `${value}`;
          edit([{ path: of.path, value: text }], { merge: `learn ${of.path}` }).then((fault) => {
            if (fault) say(fault.message, { wrong: true });
          });
        }}
      />
    </label>
  );
}

/** Text with names of keys between backquotes. */
function Text({ of }: { of: string }): ComponentChildren {
  return of.split("`").map((part, i) => (i % 2 ? <code key={part}>{part}</code> : part));
}
