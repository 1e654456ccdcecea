// What moves the time: play, pause, speed, scrubbing, jumps to changes.

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { SPEEDS } from "../state/clock.ts";
import * as play from "../state/play.ts";
import { here } from "../state/run.ts";
import { Button, Icon } from "../ui/index.tsx";
import { register, written } from "../ui/keys.ts";
import { step } from "./thin.ts";
import { drawnRuns } from "./time.tsx";
import { choose, view } from "./view.ts";

/** Positions of the slider. */
const NOTCHES = 2000;

/** One sample of the series. */
function sample(): number {
  const time = drawnRuns.peek()[0]?.links[0]?.time;
  return time && time.length > 1 ? step(time) : Math.max(play.end.peek() / 100, 1e-3);
}

const by = (s: number): void => {
  play.pause();
  play.goTo(play.clock.peek().time + s);
};

/** To the next change of the scenario, or the warm-up's end, or the end; or back. */
export function jump(direction: 1 | -1): void {
  play.jump(direction, here.peek()?.warmup_s ?? 0);
}

/** Registers the keys of playback; returns what takes them back. */
export function playbackKeys(): () => void {
  const part = "Playback" as const;
  return register(
    { part, keys: " ", says: "Play or pause", run: play.playPause },
    { part, keys: "ArrowRight", says: "Next sample", run: () => by(sample()) },
    { part, keys: "ArrowLeft", says: "Previous sample", run: () => by(-sample()) },
    { part, keys: "shift+ArrowRight", says: "A twentieth of the run on", run: () => by(play.end.peek() / 20) },
    { part, keys: "shift+ArrowLeft", says: "A twentieth of the run back", run: () => by(-play.end.peek() / 20) },
    { part, keys: "Home", says: "To the beginning", run: () => play.goTo(0) },
    { part, keys: "End", says: "To the end", run: () => play.goTo(play.end.peek()) },
    { part, keys: "n", says: "Next change", run: () => jump(1) },
    { part, keys: "p", says: "Previous change", run: () => jump(-1) },
    { part, keys: ".", says: "Faster", run: () => play.faster(1) },
    { part, keys: ",", says: "Slower", run: () => play.faster(-1) },
  );
}

const SPANS = [0, 1, 2, 5, 10, 30, 60];

const seconds = (s: number): string => `${s >= 100 ? s.toFixed(1) : s.toFixed(2)} s`;

export function Transport() {
  const slider = useRef<HTMLInputElement>(null);
  const now = useRef<HTMLOutputElement>(null);
  const end = play.end.value;
  useEffect(
    () =>
      effect(() => {
        const { time, end } = play.clock.value;
        if (slider.current) {
          slider.current.value = String(end > 0 ? Math.round((time / end) * NOTCHES) : 0);
          slider.current.setAttribute("aria-valuetext", `${seconds(time)} of ${seconds(end)}`);
        }
        if (now.current) now.current.textContent = seconds(time);
      }),
    [],
  );
  const playing = play.playing.value;
  const speed = play.speed.value;
  return (
    <div class="transport" role="group" aria-label="Playback">
      <Button primary label={playing ? "Pause" : "Play"} keys={written(" ")} onClick={play.playPause}>
        <Icon name={playing ? "pause" : "play"} />
      </Button>
      <Button plain label="Previous change" keys={written("p")} onClick={() => jump(-1)}>
        <Icon name="back" />
      </Button>
      <Button plain label="Next change" keys={written("n")} onClick={() => jump(1)}>
        <Icon name="next" />
      </Button>
      <span class="scrub">
        <input
          ref={slider}
          type="range"
          min={0}
          max={NOTCHES}
          step={1}
          aria-label="Time"
          onInput={(e) => {
            // To pause sets the slider to the time that is shown: where it was moved is read before.
            const to = (Number(e.currentTarget.value) / NOTCHES) * play.end.peek();
            play.pause();
            play.goTo(to);
          }}
          onKeyDown={(e) => {
            const way =
              e.key === "ArrowRight" || e.key === "ArrowUp"
                ? 1
                : e.key === "ArrowLeft" || e.key === "ArrowDown"
                  ? -1
                  : 0;
            if (!way) return;
            e.preventDefault();
            e.stopPropagation();
            by(way * (e.shiftKey ? play.end.peek() / 20 : sample()));
          }}
        />
        {end > 0 &&
          play.moments.value.map((m) => (
            <i
              key={`${m.at_s} ${m.label}`}
              class="moment"
              title={`${+m.at_s.toPrecision(6)} s: ${m.label}`}
              style={{ left: `${(100 * m.at_s) / end}%` }}
            />
          ))}
      </span>
      <output ref={now} class="now" aria-live="off" />
      <label>
        <span class="hidden">Speed</span>
        <select
          value={String(speed)}
          title="Simulated seconds per second"
          onChange={(e) => play.setSpeed(e.currentTarget.value === "live" ? "live" : Number(e.currentTarget.value))}
        >
          {SPEEDS.map((s) => (
            <option key={s} value={s}>
              ×{s}
            </option>
          ))}
          <option value="live">as it happens</option>
        </select>
      </label>
      <label>
        <span class="hidden">Window</span>
        <select value={view.value.span} onChange={(e) => choose({ span: Number(e.currentTarget.value) })}>
          {[...new Set([...SPANS, view.value.span])]
            .filter((s) => s === 0 || s < end || s === view.value.span)
            .map((s) => (
              <option key={s} value={s}>
                {s === 0 ? "whole run" : `${s} s`}
              </option>
            ))}
        </select>
      </label>
    </div>
  );
}
