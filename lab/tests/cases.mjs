// Scenarios of all kinds of traffic, links and senders, whose digests must be equal in the command, in Node and in a browser:
// a file, what is set in it, and which seeds and algorithms run.

// Each shortened to some seconds; some last longer than 4.3 s, or have segments that do: so many nanoseconds have 32 bits.
export const CASES = [
  ["dumbbell", { duration: "10 s", warmup: "4.5 s" }, { seeds: "2" }],
  // More than 32 bits of bytes, of bits in a second, and of nanoseconds.
  [
    "dumbbell",
    {
      duration: "60 ms",
      warmup: "10 ms",
      "dumbbell.rate": "10 Gbit/s",
      "dumbbell.delay": "100 us",
      "dumbbell.buffer": "5 GB",
      "flows.ftp.rtt": "1 ms",
      "flows.ftp.start": "0 s",
    },
    { seed: "1" },
  ],
  [
    "dumbbell",
    { duration: "90 s", "dumbbell.delay": "4.5 s", "flows.ftp.rtt": "9.2 s", series_step: "5 s" },
    { seed: "1", aqm: "codel,red,fq-codel" },
  ],
  ["main", { duration: "15 s", warmup: "5 s", segments: "5 s" }, { seed: "3" }],
  ["capacity_step", { duration: "65 s", segments: "13 s" }, { seed: "2" }],
  [
    "catalog",
    {
      duration: "6 s",
      warmup: "2 s",
      segments: ["4.5 s"],
      "flows.more-ftp.start": "3 s",
      "flows.more-ftp.stop": "5 s",
      "flows.ftp.start": "0 s",
      "flows.ftp.count": "20",
      "flows.more-ftp.count": "10",
    },
    { seed: "7" },
  ],
  ["experimental", { duration: "6 s", warmup: "2 s" }, { seed: "9223372036854775807" }],
  ["graph", { duration: "10 s", warmup: "5 s" }],
  ["hred_testbed", { duration: "4 s", warmup: "1 s" }, { seed: "4" }],
  ["ns2_mixed", { duration: "8 s", warmup: "3 s" }, { seed: "5" }],
  ["parking_lot", { duration: "10 s", warmup: "5 s" }],
  ["replay", {}],
  ["responsiveness", { duration: "8 s", warmup: "5 s" }, { seed: "1" }],
  ["rtt_step", { duration: "65 s", segments: ["30 s", "60 s"] }, { seed: "1" }],
  ["theory", { duration: "2 s", warmup: "1 s" }, { seed: "1", aqm: "red,pi" }],
  ["theory_coupled", { duration: "5 s", warmup: "2 s" }, { seed: "1" }],
  ["theory_senders", { duration: "3 s", warmup: "1 s" }, { seed: "1", aqm: "pi" }],
  ["trace", { duration: "12 s", warmup: "5 s" }, { seed: "9" }],
  ["udp_mm1", { duration: "30 s", warmup: "10 s" }, { seed: "6" }],
  ["web_sessions", { duration: "12 s", warmup: "5 s" }, { seed: "1" }],
  ["l4s/bursty", { duration: "3 s", warmup: "1 s" }, { seed: "1" }],
  ["l4s/classic_queue", { duration: "3 s", warmup: "1 s" }, { seed: "1" }],
  ["l4s/grid", { duration: "1200 ms", warmup: "200 ms" }, { seed: "1", aqm: "dualpi2" }],
  ["l4s/round_trips", { duration: "3 s", warmup: "1 s" }, { seed: "2" }],
  ["bbr/bandwidth", {}, { seed: "1" }],
  ["bbr/cubic", { duration: "5 s", warmup: "1 s" }, { seed: "1" }],
  ["bbr/fairness", { duration: "25 s", warmup: "21 s" }, { seed: "1" }],
  ["bbr/loss", { duration: "3 s", warmup: "1 s" }, { seed: "1" }],
  ["bbr/path", { duration: "3 s", warmup: "1 s" }, { seed: "1" }],
  ["bbr/startup", {}, { seed: "2" }],
  ["papers/fuzzy-2-poisson", { duration: "6 s", warmup: "5 s" }, { seed: "1" }],
  [
    "papers/redtail-iii",
    { duration: "20 s", segments: ["5 s", "10 s"], "flows.web.start": "5 s", "flows.cbr.start": "5 s" },
    { seed: "1" },
  ],
  ["papers/thesis-4.5.1", { duration: "20 s", segments: ["5 s", "10 s"] }, { seed: "1" }],
  ["papers/vrc-d1", { duration: "10 s" }, { seed: "1" }],
  ["papers/vrc-d3", { duration: "10 s" }, { seed: "1", aqm: "red" }],
];

/** A value as `--set` has it. */
export const written = (value) => (Array.isArray(value) ? JSON.stringify(value) : value);
