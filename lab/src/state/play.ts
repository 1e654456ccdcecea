// Playback: the time that all figures show. Nothing here waits for the simulator.

import { batch, signal } from "@preact/signals";
import { type Clock, fitted, neighbor, type Speed, STOPPED, seek, shifted, speedFor, tick, toggle } from "./clock.ts";

/** The clock, whole. Figures that move follow it by themselves (`subscribe`); components follow the signals below. */
export const clock = signal<Clock>(STOPPED);
export const playing = signal(false);
export const speed = signal<Speed>(1);
export const end = signal(0);
/** The width of the window that moves with the time, in seconds; null: the whole run. */
export const span = signal<number | null>(null);
/** The times at which something changes, for jumps. */
export const moments = signal<{ at_s: number; label: string }[]>([]);

/** Counts the jumps of the time, so that what moves with it does not go on from where it was. */
export const seeks = signal(0);

let frame = 0;
let last = 0;
let wasPlaying = false;
let chosen = false;

function set(next: Clock): void {
  if (next === clock.value) return;
  batch(() => {
    clock.value = next;
    playing.value = next.playing;
    speed.value = next.speed;
    end.value = next.end;
  });
  if (next.playing && !frame) {
    last = performance.now();
    frame = requestAnimationFrame(onFrame);
  }
}

function onFrame(now: number): void {
  frame = 0;
  const elapsed = (now - last) / 1000;
  last = now;
  const next = tick(clock.value, elapsed);
  set(next);
  if (next.playing && !frame) frame = requestAnimationFrame(onFrame);
}

export function playPause(): void {
  if (clock.value.time >= clock.value.end) seeks.value += 1;
  set(toggle(clock.value));
}

export function pause(): void {
  set({ ...clock.value, playing: false });
}

export function goTo(time: number): void {
  seeks.value += 1;
  set(seek(clock.value, time));
}

export function setSpeed(next: Speed): void {
  chosen = true;
  set({ ...clock.value, speed: next, playing: next === "live" ? true : clock.value.playing });
}

export function faster(by: 1 | -1): void {
  setSpeed(shifted(clock.value.speed, by));
}

/** To the next change, the end of the warm-up, or the end of the run; or back to the one before, or the beginning. */
export function jump(by: 1 | -1, warmup_s: number): void {
  const { time, end } = clock.value;
  const to = neighbor([0, warmup_s, end, ...moments.value.map((m) => m.at_s)], time, by);
  if (to !== undefined) goTo(to);
}

/** The runs have another length, or have come further. */
export function fit(end_s: number, front_s: number): void {
  const now = clock.value;
  if (now.end === end_s && now.front === Math.min(front_s, end_s)) return;
  const next = fitted(now, end_s, front_s);
  set(!chosen && now.end !== end_s && now.speed !== "live" ? { ...next, speed: speedFor(end_s) } : next);
}

const still = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Another document: its runs begin at the beginning. */
export function restart(): void {
  seeks.value += 1;
  set({ ...clock.value, time: 0, front: 0, playing: false });
}

/** The first run of a document: it plays by itself, unless motion is not wanted; then its end is shown. */
export function begin(): void {
  if (clock.value.time > 0 || clock.value.playing) return;
  if (still()) goTo(clock.value.end);
  else set(toggle(clock.value));
}

/** Pauses while the page is hidden. Called once. */
export function watchVisibility(): void {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      wasPlaying = clock.value.playing;
      pause();
    } else if (wasPlaying) {
      wasPlaying = false;
      set({ ...clock.value, playing: true });
    }
  });
}
