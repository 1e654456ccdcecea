// The clock of playback, apart from the page: what a frame does to it. `play.ts` drives it.

/** Simulated seconds for each second, or as far as the runs have come. */
export type Speed = number | "live";

/** The speeds that are offered. */
export const SPEEDS: readonly number[] = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];

/** The state of playback. */
export interface Clock {
  /** The time that is shown, in simulated seconds. */
  readonly time: number;
  readonly playing: boolean;
  readonly speed: Speed;
  /** The end of the run. */
  readonly end: number;
  /** The time up to which all runs that are shown have come. */
  readonly front: number;
}

export const STOPPED: Clock = { time: 0, playing: false, speed: 1, end: 0, front: 0 };

/** More than this between two frames was not watched: the page was hidden, or the machine slept. */
const LONGEST_FRAME_S = 0.1;

/** The clock after a frame of `elapsed_s` seconds. It waits at the front of a run that is not done, and stops at its end. */
export function tick(clock: Clock, elapsed_s: number): Clock {
  if (!clock.playing) return clock;
  const front = Math.min(clock.front, clock.end);
  if (clock.speed === "live") {
    const time = Math.max(0, front);
    return { ...clock, time, playing: clock.end <= 0 || front < clock.end };
  }
  const passed = Math.min(Math.max(elapsed_s, 0), LONGEST_FRAME_S) * clock.speed;
  // One who has scrubbed beyond the front stays there until the run comes by.
  const time = Math.max(clock.time, Math.min(clock.time + passed, front));
  const over = clock.end > 0 && time >= clock.end;
  return { ...clock, time: over ? clock.end : time, playing: !over };
}

/** Play or pause; at the end it begins again. */
export function toggle(clock: Clock): Clock {
  if (clock.playing) return { ...clock, playing: false };
  const begins = clock.end > 0 && clock.time >= clock.end;
  return { ...clock, playing: true, time: begins ? 0 : clock.time };
}

/** The clock at a time; nothing is before zero or after the end. */
export function seek(clock: Clock, time: number): Clock {
  if (!Number.isFinite(time)) return clock;
  return { ...clock, time: Math.min(Math.max(time, 0), clock.end) };
}

/** The clock of another run: one who was at the end stays there, others stay at their time as far as it exists. */
export function fitted(clock: Clock, end: number, front: number): Clock {
  const atEnd = clock.end > 0 && clock.time >= clock.end && !clock.playing;
  const time = atEnd ? end : Math.min(clock.time, end);
  return { ...clock, end, front: Math.min(front, end), time };
}

/** The next faster or slower speed. */
export function shifted(speed: Speed, by: 1 | -1): Speed {
  const all: Speed[] = [...SPEEDS, "live"];
  const at = all.indexOf(speed);
  const from = at < 0 ? SPEEDS.findIndex((s) => s >= (speed as number)) : at;
  return all[Math.min(Math.max(from + by, 0), all.length - 1)] as Speed;
}

/** The nearest time after (or before) this one among some times. */
export function neighbor(times: readonly number[], time: number, by: 1 | -1): number | undefined {
  const sorted = [...times].sort((a, b) => a - b);
  return by > 0 ? sorted.find((t) => t > time + 1e-9) : sorted.reverse().find((t) => t < time - 1e-9);
}

/** The speed at which a run of so many seconds is watched in about twelve. */
export function speedFor(end_s: number): number {
  const wanted = end_s / 12;
  return SPEEDS.reduce((best, s) => (Math.abs(Math.log(s / wanted)) < Math.abs(Math.log(best / wanted)) ? s : best), 1);
}
