// What runs, how long it takes, and what cannot run: in words.

import { useState } from "preact/hooks";
import { behind } from "../state/behind.ts";
import { change, fault, lastChecked, SIDE_BY_SIDE, shown } from "../state/document.ts";
import { besideText, embedded, wide } from "../state/layout.ts";
import { current, opened, results, resultsFault, runs, start, stop } from "../state/run.ts";
import { count, duration, type Runs } from "../state/runner.ts";
import { brief } from "../ui/fault.tsx";
import { Button, copy, Dialog, Icon } from "../ui/index.tsx";
import { Key } from "../ui/key.tsx";
import { styles } from "./looks.ts";

/** The button in the header that runs, or stops what runs. */
export function RunControl() {
  const { phase } = runs.value;
  if (phase === "running") {
    return (
      <Button onClick={stop} label="Stop the runs" keys="Esc">
        <Icon name="stop" />
        <span class="word">Stop</span>
      </Button>
    );
  }
  const begins = phase === "asks" || phase === "stopped" || phase === "failed";
  return (
    <Button onClick={start} label="Run" disabled={!begins} primary={begins}>
      <Icon name="play" />
      <span class="word">Run</span>
    </Button>
  );
}

/** A line above the figures. */
export function Status() {
  const now = runs.value;
  const done = now.each.reduce((sum, r) => sum + (r.finished.length ? 1 : r.done), 0) / Math.max(1, now.each.length);
  const rest = now.asked - now.finished;
  const faults = now.each.filter((r) => r.fault);
  // The banner beside it has the words.
  const bannered = wide.value && !embedded && besideText.value;
  return (
    <div class="status">
      {fault.value && (
        <p class="notice wrong">
          <span>
            {bannered ? "The scenario has an error. " : `${brief(fault.value).says} `}
            {now.each.some((r) => r.shown) && "The results below are from the last valid version."}
          </span>
        </p>
      )}
      {behind.value && (
        <p class="notice">
          <span>{behind.value.says}</span>
          <Button primary onClick={behind.value.run}>
            Do it
          </Button>
        </p>
      )}
      {opened.value && (
        <p class="notice">
          <span>
            Tables and diagrams are of the results that were opened: {opened.value.title || opened.value.name},{" "}
            {opened.value.finished} replications, digest <code>{opened.value.digest}</code>.
          </span>
          <Button
            onClick={() => {
              opened.value = null;
            }}
          >
            Close them
          </Button>
        </p>
      )}
      <p class="progress">
        {now.phase === "running" && (
          <progress
            max={1}
            value={now.finished >= now.each.length ? now.finished / Math.max(1, now.asked) : done}
            aria-label="Progress of the runs"
          />
        )}
        <span>{factsOf(now)}</span>
        <Which />
      </p>
      {now.phase === "asks" && (
        <p class="notice">
          <span>{now.words}</span>
          <Button primary onClick={start}>
            Run it
          </Button>
        </p>
      )}
      {now.phase === "stopped" && (
        <p class="notice">
          <span>Stopped. {now.finished > 0 && "What was finished is shown."}</span>
          <Button onClick={start}>Go on</Button>
        </p>
      )}
      {now.phase === "refused" && <Refused words={now.words} command={now.command} />}
      {faults.map((r) => (
        <p class="notice wrong" key={r.label}>
          <span>
            {r.label}: {r.fault}
          </span>
        </p>
      ))}
      {now.phase === "done" && rest > 0 && (
        <p class="notice">
          <span>
            Only the first seed of each algorithm has run. Press “Run them” for the other {count(rest)}{" "}
            {rest === 1 ? "replication" : "replications"}, which give intervals.
          </span>
          <Button onClick={start}>Run them</Button>
        </p>
      )}
      {resultsFault.value && (
        <p class="notice wrong">
          <span>The tables could not be made: {resultsFault.value}</span>
        </p>
      )}
      <p class="hidden" role="status">
        {now.phase === "done" && current.value && results.value ? "The runs are done." : ""}
        {now.phase === "running" ? "Running." : ""}
      </p>
    </div>
  );
}

/** One line that is always there, so that nothing below it moves when a run begins or ends. */
function factsOf(now: Runs): string {
  const algorithms = `${now.each.length} ${now.each.length === 1 ? "algorithm" : "algorithms"}`;
  if (now.phase === "running") {
    const what =
      now.finished < now.each.length || now.asked === now.each.length
        ? `Running ${algorithms}`
        : `${now.finished} of ${now.asked} replications`;
    return now.left_s === null ? what : `${what}, about ${duration(now.left_s)} left`;
  }
  if (now.finished === 0) return "";
  const seeds = now.finished / Math.max(1, now.each.length);
  if (!Number.isInteger(seeds)) return `${now.finished} of ${now.asked} replications.`;
  return `${algorithms}, ${seeds} ${seeds === 1 ? "seed" : "seeds"} each.`;
}

/** Says how many of the algorithms are shown, and lets choose them. */
function Which() {
  const [open, setOpen] = useState(false);
  const all = lastChecked.value?.algorithms ?? [];
  const now = shown.value;
  if (all.length <= now.length) return null;
  const full = now.length >= SIDE_BY_SIDE;
  return (
    <>
      <strong>
        {now.length} of {all.length} algorithms {now.length === 1 ? "is" : "are"} shown.
      </strong>
      <Button class="tight" onClick={() => setOpen(true)} label="Choose the algorithms that are shown">
        Choose
      </Button>
      <Dialog title="Algorithms that are shown" open={open} onClose={() => setOpen(false)}>
        <p>
          Up to {SIDE_BY_SIDE} run side by side. {full && "To choose another one, clear one first. "}The command runs
          all of them.
        </p>
        <div class="metric-list">
          {all.map(({ label }) => {
            const is = now.includes(label);
            return (
              <label key={label}>
                <input
                  type="checkbox"
                  checked={is}
                  disabled={is ? now.length === 1 : full}
                  onChange={() => {
                    const next = all.map((one) => one.label).filter((one) => (one === label ? !is : now.includes(one)));
                    change({ algorithms: next });
                  }}
                />
                <Key style={styles.value.get(label)} /> {label}
              </label>
            );
          })}
        </div>
      </Dialog>
    </>
  );
}

function Refused({ words, command }: { words: string; command: string }) {
  const [done, setDone] = useState(false);
  return (
    <div class="notice">
      <p>
        {words} <code>{command}</code>
      </p>
      <Button onClick={async () => setDone(await copy(command))}>{done ? "Copied" : "Copy"}</Button>
    </div>
  );
}
