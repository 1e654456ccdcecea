// The messages to the laboratory and its answers, as crates/web has them.
// Written by QUELL_UPDATE_DOCS=1 cargo test -p quell-web. Do not edit.

/**
 * Puts replications together.
 */
export type GatherRequest = {
  /**
   * The scenario that they are of.
   */
  source: Source,
  /**
   * Replications as `run` packs them.
   */
  replications: Array<string>,
  /**
   * The time at which the first began, as an ISO date; default: none.
   */
  started?: string,
  /**
   * The time that they took.
   */
  elapsed_s?: number,
  /**
   * The number of results in whose place these are; default: a new one.
   */
  id?: number,
};

/**
 * Keeps the results of a folder.
 */
export type OpenRequest = {
  /**
   * The record of the run: the contents of run.json.
   */
  run: unknown,
  /**
   * All replications, packed, in one piece or several.
   */
  replications: Array<string>,
};

/**
 * Forgets results.
 */
export type ForgetRequest = {
  /**
   * Their number.
   */
  id: number,
};

/**
 * Asks for figures as a table.
 */
export type TableRequest = {
  /**
   * The number of the results.
   */
  id: number,
  /**
   * The point, counted from 0; default: the first.
   */
  point?: number,
  /**
   * The link; default: the first that is measured.
   */
  link?: string,
  /**
   * The segment, counted from 0; default: the whole window.
   */
  segment?: number,
  /**
   * "all", "data", a class, a lane or the transfers of one size; default: "all".
   */
  scope?: string,
  /**
   * The metrics, as for `quell run --metrics`: names, NAME[CLASS], internal:SIGNAL, A/B; none: the usual ones.
   */
  metrics?: Array<string>,
  /**
   * The algorithm that the others are compared with; default: none.
   */
  baseline?: string,
};

/**
 * Asks for a figure of results.
 */
export type ChartRequest = {
  /**
   * The number of the results.
   */
  id: number,
  /**
   * The figure, by a name of `about`.
   */
  diagram: string,
  /**
   * The point, counted from 0; default: the first.
   */
  point?: number,
  /**
   * The link; default: the first that is measured.
   */
  link?: string,
  /**
   * The seed of the replication that is shown over time; default: the first.
   */
  seed?: Seed,
  /**
   * The labels of the algorithms; default: all.
   */
  algorithms?: Array<string>,
  /**
   * The traffic; default: "all".
   */
  scope?: string,
  /**
   * The metric of a figure of one; default: utilization.
   */
  metric?: string,
  /**
   * The field along the axis of a metric.
   */
  over?: string,
  /**
   * The field with a panel for each of its values.
   */
  by?: string,
  /**
   * The queue is shown in bytes.
   */
  in_bytes?: boolean,
  /**
   * A panel for each algorithm instead of one with all.
   */
  panels?: boolean,
  /**
   * The width of the picture in pixels, which are 1/96 inch; default: 800.
   */
  width?: number,
  /**
   * Its height; default: what its content needs.
   */
  height?: number,
  /**
   * The size of its labels in points; default: 9.
   */
  font_size?: number,
  /**
   * It has a title; default: true.
   */
  titled?: boolean,
};

/**
 * Asks for the report.
 */
export type ReportRequest = {
  /**
   * The number of the results.
   */
  id: number,
};

/**
 * Asks what the theory says.
 */
export type TheoryRequest = {
  /**
   * The scenario.
   */
  source: Source,
  /**
   * The point, counted from 0; default: the first.
   */
  point?: number,
  /**
   * The link; default: the first that is measured.
   */
  link?: string,
  /**
   * The time in seconds at which flows, rates and delays are read; default: the end of the warm-up, or when the most
   * long-lived flows first send.
   */
  at_s?: number,
  /**
   * Only the delay of the signal is kept, of the flows' whole delay; default: false.
   */
  simplified?: boolean,
  /**
   * The fluid model is followed from an empty queue, which takes longer; default: false.
   */
  fluid?: boolean,
  /**
   * The results whose packets are asked whether they confirm it; default: none.
   */
  id?: number,
};

/**
 * Asks what the theory says over two quantities.
 */
export type MapRequest = {
  /**
   * The scenario.
   */
  source: Source,
  /**
   * The point, counted from 0; default: the first.
   */
  point?: number,
  /**
   * The link; default: the first that is measured.
   */
  link?: string,
  /**
   * The label of the algorithm.
   */
  algorithm: string,
  /**
   * The quantity that varies from left to right.
   */
  x: MapAxis,
  /**
   * The quantity that varies from bottom to top.
   */
  y: MapAxis,
  /**
   * The quantity that is shown; default: "growth".
   */
  show: MapShown,
  /**
   * The points along each axis, from 2 to 200; default: 48.
   */
  points?: number,
  /**
   * Only the delay of the signal is kept; default: false.
   */
  simplified?: boolean,
};

/**
 * An axis of a map.
 */
export type MapAxis = {
  /**
   * "flows", "rate", "rtt" or a parameter of the algorithm.
   */
  name: string,
  /**
   * The unit of its values, such as "ms"; default: bit/s, s, or none.
   */
  unit?: string,
  /**
   * The first value.
   */
  from: number,
  /**
   * The last value.
   */
  to: number,
  /**
   * Equal factors rather than equal steps; default: false.
   */
  log?: boolean,
};

/**
 * Asks for an answer for a link, in the words of `quell recommend`. It is asked again with what its runs have found until
 * there is an answer.
 */
export type RecommendRequest = {
  /**
   * The rate down, such as "95 Mbit/s", or "5..60 Mbit/s" if it varies.
   */
  down: string,
  /**
   * The rate up.
   */
  up: string,
  /**
   * The round-trip times without queueing, such as "10..80 ms".
   */
  rtt: string,
  /**
   * What kind of link it is, by a name of `about`.
   */
  link: string,
  /**
   * What the router has: a name of `about`, or algorithms with commas between them.
   */
  can: string,
  /**
   * What is asked of the link, such as "call P99 < 20 ms"; default: what is usual for such a link.
   */
  goal?: string,
  /**
   * How many hosts share it: a number from 1 to 250.
   */
  hosts: string,
  /**
   * What a host sends and receives: home, or a load of `about`; default: what is usual for such a link.
   */
  load?: string,
  /**
   * The most that the router's processor shapes, both directions together, such as "150 Mbit/s".
   */
  cpu_limit?: string,
  /**
   * The results of the runs so far, in the order of the answers that asked for them.
   */
  found?: Array<Array<RecommendedFound>>,
};

/**
 * Results that are kept.
 */
export type Gathered = {
  /**
   * Their number, by which later messages name them.
   */
  id: number,
  /**
   * The title of the scenario.
   */
  title: string,
  /**
   * The name of its file.
   */
  name: string,
  /**
   * Its text, if it came from one.
   */
  text: string | null,
  /**
   * The points.
   */
  points: Array<GatheredPoint>,
  /**
   * The labels of the algorithms with their looks.
   */
  algorithms: Array<[string, Look]>,
  /**
   * The replications that are finished.
   */
  finished: number,
  /**
   * Those that were asked for.
   */
  asked: number,
  /**
   * The digest of all of them: equal to that of the command if it ran the same.
   */
  digest: string,
  /**
   * What made them: the version, the commit, the engine.
   */
  made_by: string,
  /**
   * What a reader of the figures should know.
   */
  notes: Array<string>,
};

/**
 * A point of results.
 */
export type GatheredPoint = {
  /**
   * The settings in one line; empty if there is one point.
   */
  title: string,
  /**
   * The labels of its algorithms.
   */
  algorithms: Array<string>,
  /**
   * Its seeds, at most 1000 of them.
   */
  seeds: Array<Seed>,
  /**
   * The links that are measured.
   */
  links: Array<string>,
  /**
   * The scopes of its figures: "all", "data", classes, lanes, sizes of transfers.
   */
  scopes: Array<string>,
  /**
   * The segments of the measured window.
   */
  segments: Array<[number, number]>,
};

/**
 * Nothing more to say.
 */
export type Done = Record<symbol, never>;

/**
 * Figures as a table.
 */
export type Table = {
  /**
   * The columns that have a figure in some row.
   */
  columns: Array<TableColumn>,
  /**
   * A row for each algorithm.
   */
  rows: Array<TableRow>,
  /**
   * What a reader of the figures should know.
   */
  notes: Array<string>,
  /**
   * All of it for programs.
   */
  csv: string,
  /**
   * For documents.
   */
  markdown: string,
  /**
   * For papers.
   */
  latex: string,
};

/**
 * A column of a table.
 */
export type TableColumn = {
  /**
   * The metric, as it was asked for.
   */
  metric: string,
  /**
   * A short heading.
   */
  title: string,
  /**
   * The unit of the texts; empty for a pure number.
   */
  unit: string,
  /**
   * The unit of the numbers; "1" for a pure number.
   */
  stored_unit: string,
  /**
   * The better direction, where that is beyond dispute.
   */
  better: "higher" | "lower" | "neither",
};

/**
 * A row of a table.
 */
export type TableRow = {
  /**
   * The label of the algorithm.
   */
  algorithm: string,
  /**
   * Its finished replications.
   */
  seeds: number,
  /**
   * A cell for each column; null where the metric does not apply.
   */
  cells: Array<TableCell | null>,
};

/**
 * A figure with its interval.
 */
export type TableCell = {
  /**
   * The mean over the replications.
   */
  mean: number,
  /**
   * The lower end of its 95% interval; null from a single replication.
   */
  low: number | null,
  /**
   * The upper end.
   */
  high: number | null,
  /**
   * The replications behind it.
   */
  n: number,
  /**
   * The mean as people read it, in the column's unit and with the digits that the interval supports.
   */
  text: string,
  /**
   * The interval likewise: "± 0.3", or its ends; empty without one.
   */
  interval: string,
  /**
   * True if it is better than each other algorithm's by more than chance explains, as in the report: each paired
   * difference excludes zero.
   */
  best: boolean,
  /**
   * The difference from the baseline, paired by seed, if one was named.
   */
  difference: TableDifference | null,
};

/**
 * A difference from the baseline.
 */
export type TableDifference = {
  /**
   * The mean difference.
   */
  mean: number,
  /**
   * The lower end of its 95% interval.
   */
  low: number | null,
  /**
   * The upper end.
   */
  high: number | null,
  /**
   * True if the interval does not reach zero.
   */
  significant: boolean,
  /**
   * The difference with its sign and interval, as people read it.
   */
  text: string,
};

/**
 * A figure of results.
 */
export type Chart = {
  /**
   * The picture.
   */
  svg: string,
  /**
   * Its numbers for programs.
   */
  csv: string,
  /**
   * The same as text, for readers of screens and terminals.
   */
  text: string,
  /**
   * Its numbers.
   */
  chart: ChartNumbers,
  /**
   * The looks of its curves, by the numbers of their styles.
   */
  styles: Record<number, Look>,
};

/**
 * The report.
 */
export type Report = {
  /**
   * One page that needs nothing else.
   */
  html: string,
};

/**
 * What the theory says.
 */
export type Theory = {
  /**
   * The link.
   */
  link: string,
  /**
   * The time that it is of.
   */
  at_s: number,
  /**
   * The long-lived flows.
   */
  flows: number,
  /**
   * The capacity in packets per second.
   */
  capacity_pps: number,
  /**
   * The buffer in packets.
   */
  buffer_packets: number,
  /**
   * The mean round-trip time without queueing.
   */
  rtt_s: number,
  /**
   * The congestion control of the flows.
   */
  congestion: string,
  /**
   * Signals are marks; otherwise they are drops.
   */
  marks: boolean,
  /**
   * What the models leave out, in sentences.
   */
  left_out: Array<string>,
  /**
   * The verdict on each algorithm.
   */
  assessments: Assessment[],
  /**
   * How far N, C and R may each move, in a sentence, by algorithm.
   */
  reach: Array<Array<string>>,
  /**
   * The open loop of each algorithm that has one.
   */
  loops: Array<TheoryLoop>,
  /**
   * Bode's diagram of all loops; null if there is none.
   */
  bode_svg: string | null,
  /**
   * Nyquist's.
   */
  nyquist_svg: string | null,
};

/**
 * An open loop over frequency.
 */
export type TheoryLoop = {
  /**
   * The label of the algorithm.
   */
  label: string,
  /**
   * The frequencies in rad/s.
   */
  frequency: Numbers,
  /**
   * The gain in decibels.
   */
  gain_db: Numbers,
  /**
   * The phase in degrees.
   */
  phase_deg: Numbers,
  /**
   * The real part of the response.
   */
  real: Numbers,
  /**
   * The imaginary part.
   */
  imaginary: Numbers,
  /**
   * The crossing of a gain of 1: its frequency, and the phase margin in degrees.
   */
  crossover: [number, number] | null,
  /**
   * The crossing of -180 degrees: its frequency, and the gain margin in decibels.
   */
  phase_crossover: [number, number] | null,
};

/**
 * A map of what the theory says.
 */
export type Map = {
  /**
   * The picture.
   */
  svg: string,
  /**
   * The places of the columns.
   */
  x: Numbers,
  /**
   * The places of the rows.
   */
  y: Numbers,
  /**
   * The values, row by row from the first `y`.
   */
  values: Numbers,
  /**
   * The name and the unit of what is shown.
   */
  shown: string,
  /**
   * The share of the points that are stable, where what is shown says so.
   */
  stable: number | null,
  /**
   * Why points have no value, with their number, most frequent first.
   */
  missing: Array<[string, number]>,
};

/**
 * Runs that tell which queue suits a link, or the answer.
 */
export type Recommended = {
  /**
   * What is run next; none once there is an answer.
   */
  runs: Array<RecommendedRun>,
  /**
   * The answer.
   */
  answer: RecommendedAnswer | null,
};

/**
 * The results of a run.
 */
export type RecommendedFound = Array<string> | {
  /**
   * The message of the fault.
   */
  failed: string,
};

/**
 * A scenario, each of whose seeds is to be run.
 */
export type RecommendedRun = {
  /**
   * The text of the scenario.
   */
  text: string,
  /**
   * The label of its algorithm.
   */
  algorithm: string,
  /**
   * Its seeds.
   */
  seeds: Array<Seed>,
  /**
   * Its simulated time.
   */
  duration_s: number,
  /**
   * About how many packets a replication sends.
   */
  estimated_packets: number,
  /**
   * About how much memory a replication needs, in bytes.
   */
  estimated_memory: number,
};

/**
 * An answer for a link.
 */
export type RecommendedAnswer = {
  /**
   * What the command prints as JSON.
   */
  report: RecommendReport,
  /**
   * The candidates and what one has today, the best first.
   */
  rows: Array<RecommendedRow>,
  /**
   * The best where the link is not what was said.
   */
  reach: Array<RecommendedRow>,
  /**
   * Why the parameters of the best are what they are.
   */
  reasons: Array<string>,
};

/**
 * A row of a table, as the command prints it.
 */
export type RecommendedRow = {
  /**
   * Its name.
   */
  name: string,
  /**
   * Whether the goal is met: "yes", "no", "unsure" where an interval lies across it, or "failed".
   */
  goal: string,
  /**
   * The figures with their intervals, in the order of the report's columns; null where nothing was measured.
   */
  cells: Array<string | null>,
  /**
   * The scenario's text.
   */
  text: string,
};

/**
 * A message.
 */
export type Request = { "do": "about" } & AboutRequest | { "do": "check" } & CheckRequest | { "do": "tree" } & TreeRequest | { "do": "edit" } & EditRequest | { "do": "run" } & RunRequest | { "do": "preset" } & PresetRequest | { "do": "gather" } & GatherRequest | { "do": "open" } & OpenRequest | { "do": "forget" } & ForgetRequest | { "do": "table" } & TableRequest | { "do": "chart" } & ChartRequest | { "do": "report" } & ReportRequest | { "do": "theory" } & TheoryRequest | { "do": "map" } & MapRequest | { "do": "recommend" } & RecommendRequest;

/**
 * Asks what there is.
 */
export type AboutRequest = Record<symbol, never>;

/**
 * Asks what a scenario describes.
 */
export type CheckRequest = {
  /**
   * The scenario.
   */
  source: Source,
  /**
   * The point whose resolved scenario is wanted, counted from 0; default: the first.
   */
  point?: number,
};

/**
 * Asks for the keys and values of a text.
 */
export type TreeRequest = {
  /**
   * The text.
   */
  text: string,
  /**
   * Its name, for messages; default: "scenario.toml".
   */
  name?: string,
};

/**
 * Asks for changes in a text.
 */
export type EditRequest = {
  /**
   * The text.
   */
  text: string,
  /**
   * The changes, which are made one after the other, all or none.
   */
  edits: Array<EditStep>,
};

/**
 * A change in a text.
 */
export type EditStep = {
  /**
   * The path, as `tree` has it, such as `flows[0].rtt`; `flows[+]` is a new item at the end of a list.
   */
  path: string,
  /**
   * The new value in TOML, such as `"10 ms"` with its quotation marks; null removes what is there.
   */
  value: string | null,
  /**
   * The place to which an item of a list moves, counted from 0; then there is no value.
   */
  to?: number,
};

/**
 * Asks for one replication.
 */
export type RunRequest = {
  /**
   * The scenario.
   */
  source: Source,
  /**
   * The point, counted from 0; default: the first.
   */
  point?: number,
  /**
   * The label of the algorithm.
   */
  algorithm: string,
  /**
   * The seed.
   */
  seed: Seed,
  /**
   * The step of the time series in seconds, in place of the scenario's own. The sample path is the same; what is
   * computed from the series is not that of the command then.
   */
  step_s?: number,
  /**
   * What is shown of it is wanted: the series, the windows, the distributions; default: true.
   */
  shown?: boolean,
  /**
   * All of it is wanted as bytes, which `gather` takes; default: false.
   */
  packed?: boolean,
  /**
   * The page is told how far it is, and of each sample; default: false.
   */
  watched?: boolean,
  /**
   * The most memory that it may need by estimate, in bytes; default: 400 MB.
   */
  memory?: number,
};

/**
 * Asks for the scenario of a load over a link.
 */
export type PresetRequest = {
  /**
   * The load, by its name or an alias.
   */
  load: string,
  /**
   * The link, by its name or an alias.
   */
  link: string,
  /**
   * The algorithms, by their names in the catalog; none: those of the load.
   */
  aqm?: Array<string>,
  /**
   * The simulated time, such as "60 s"; default: what the load says.
   */
  duration?: string,
};

/**
 * A scenario as the command gets it from a file and its options.
 */
export type Source = {
  /**
   * The text of the file.
   */
  text: string,
  /**
   * The name of the file, for messages and commands; default: "scenario.toml".
   */
  name?: string,
  /**
   * The files that it names.
   */
  files?: Array<SourceFile>,
  /**
   * Fields that are set, as by `--set FIELD=VALUE`.
   */
  set?: Array<[string, string]>,
  /**
   * The algorithms that run, as by `--aqm`: labels of the scenario, or names of the catalog; none: all of the scenario.
   */
  aqm?: Array<string>,
};

/**
 * A file that a scenario names.
 */
export type SourceFile = {
  /**
   * Its name as the scenario has it.
   */
  name: string,
  /**
   * Its content, if it is text.
   */
  text?: string,
  /**
   * Its content in base64, otherwise.
   */
  bytes?: string,
};

/**
 * A seed: a number, or its digits where a number of JavaScript has fewer.
 */
export type Seed = number | string;

/**
 * The reason for which there is no other answer.
 */
export type Fault = {
  /**
   * Its kind.
   */
  kind: FaultKind,
  /**
   * All of it in words, as the command says it: file, line, field, value, rule, what was meant.
   */
  message: string,
  /**
   * The name of the file.
   */
  file: string | null,
  /**
   * The line, counted from 1.
   */
  line: number | null,
  /**
   * The column in characters, counted from 1.
   */
  column: number | null,
  /**
   * The field, such as `flows[1].rtt`; null if the file as a whole is meant.
   */
  field: string | null,
  /**
   * Its value as written.
   */
  value: string | null,
  /**
   * The rule that it breaks, without what was meant.
   */
  rule: string,
  /**
   * The nearest valid name.
   */
  nearest: string | null,
  /**
   * The valid names: "known: drop-tail, red".
   */
  known: string | null,
};

/**
 * The kind of a fault.
 */
export type FaultKind = "scenario" | "request" | "large" | "failed";

/**
 * What there is.
 */
export type About = {
  /**
   * The version of Quell.
   */
  version: string,
  /**
   * The commit of its source; "unknown" if it was not built from a repository.
   */
  commit: string,
  /**
   * The algorithms, in the order in which tables list them.
   */
  algorithms: Array<AboutAlgorithm>,
  /**
   * The keys of a group's `tcp` table.
   */
  tcp: Array<AboutParameter>,
  /**
   * The values of the keys by which senders are chosen, such as congestion controls.
   */
  senders: Array<AboutSender>,
  /**
   * The dialects: sets of defaults.
   */
  dialects: Array<AboutDialect>,
  /**
   * The metrics, in the order in which tables list them.
   */
  metrics: Array<AboutMetric>,
  /**
   * The figures that `chart` draws.
   */
  diagrams: Array<Named>,
  /**
   * Named loads.
   */
  loads: Array<AboutLoad>,
  /**
   * Named links.
   */
  links: Array<AboutPreset>,
  /**
   * Kinds of links that `recommend` knows.
   */
  technologies: Array<Named>,
  /**
   * Routers that it knows.
   */
  routers: Array<Named>,
};

/**
 * An algorithm of the catalog.
 */
export type AboutAlgorithm = {
  /**
   * Its name in scenario files.
   */
  name: string,
  /**
   * Its full name.
   */
  title: string,
  /**
   * The quantity by which it decides.
   */
  family: string,
  /**
   * Its publication.
   */
  source: string,
  /**
   * The degree to which it can be trusted.
   */
  label: "experimental" | "faithful" | "reproduced",
  /**
   * Its parameters.
   */
  params: Array<AboutParameter>,
  /**
   * Its look in every figure.
   */
  style: Look,
};

/**
 * A parameter of an algorithm, or a key of senders.
 */
export type AboutParameter = {
  /**
   * The name in scenario files.
   */
  name: string,
  /**
   * Its effect, in a sentence.
   */
  doc: string,
  /**
   * Its unit: "packets or bytes", "1/packet", "s", "1" for a pure number, "name" for a choice.
   */
  unit: string,
  /**
   * The kind of its values.
   */
  kind: "number" | "choice" | "boolean",
  /**
   * The default as it would be written in a scenario file.
   */
  default: string,
  /**
   * The source of the default.
   */
  source: string,
  /**
   * The values that it may have, in words: "at least 1", "above 0 s, at most 100 ms"; null where the schema has them,
   * or only the algorithm knows.
   */
  range: string | null,
  /**
   * The names of a choice; empty of what is none.
   */
  choices: string[],
};

/**
 * A value of a key by which senders are chosen.
 */
export type AboutSender = {
  /**
   * The key of the `tcp` table, such as "congestion".
   */
  key: string,
  /**
   * The value.
   */
  name: string,
  /**
   * Its full name.
   */
  title: string,
  /**
   * Its action, in a sentence.
   */
  doc: string,
  /**
   * Its specification.
   */
  source: string,
  /**
   * The keys that matter with it, of those that do not matter to every sender.
   */
  reads: string[],
  /**
   * Its needs, a line each: `feedback = "exact"`.
   */
  needs: Array<string>,
  /**
   * Its refusals, a line each.
   */
  refuses: Array<string>,
};

/**
 * A dialect.
 */
export type AboutDialect = {
  /**
   * Its name in scenario files.
   */
  name: string,
  /**
   * The release that it describes.
   */
  release: string,
};

/**
 * A metric.
 */
export type AboutMetric = {
  /**
   * Its name, with the unit.
   */
  name: string,
  /**
   * A short heading.
   */
  title: string,
  /**
   * The unit of its values; "1" for a pure number.
   */
  unit: string,
  /**
   * The better direction, where that is beyond dispute.
   */
  better: "higher" | "lower" | "neither",
  /**
   * Its meaning, in a sentence.
   */
  doc: string,
  /**
   * Its source; empty where none is needed.
   */
  source: string,
};

/**
 * A load that has a name.
 */
export type AboutLoad = {
  /**
   * The simulated time.
   */
  duration_s: number,
  /**
   * The time from which figures count.
   */
  warmup_s: number,
  /**
   * The algorithms that are compared unless others are named.
   */
  aqm: Array<string>,
  /**
   * The metrics that say most of it.
   */
  metrics: Array<string>,
  /**
   * Its name.
   */
  name: string,
  /**
   * The name for titles.
   */
  title: string,
  /**
   * The sentence that says what it is.
   */
  about: string,
  /**
   * Other names by which it is found.
   */
  aliases: Array<string>,
  /**
   * The sources of its numbers: of what, and the source.
   */
  sources: Array<[string, string]>,
};

/**
 * A load or a link that has a name.
 */
export type AboutPreset = {
  /**
   * Its name.
   */
  name: string,
  /**
   * The name for titles.
   */
  title: string,
  /**
   * The sentence that says what it is.
   */
  about: string,
  /**
   * Other names by which it is found.
   */
  aliases: Array<string>,
  /**
   * The sources of its numbers: of what, and the source.
   */
  sources: Array<[string, string]>,
};

/**
 * A name and what it means.
 */
export type Named = {
  /**
   * The name.
   */
  name: string,
  /**
   * Its meaning.
   */
  doc: string,
};

/**
 * The look of a curve.
 */
export type Look = {
  /**
   * The color on white.
   */
  color: string,
  /**
   * The color on dark ground.
   */
  dark: string,
  /**
   * Lengths of dashes and gaps in pixels; none for a solid line.
   */
  dashes: number[],
  /**
   * The mark of single values.
   */
  mark: "circle" | "square" | "triangle" | "diamond" | "down" | "pentagon" | "plus" | "cross",
};

/**
 * What a scenario describes.
 */
export type Checked = {
  /**
   * Its title.
   */
  title: string,
  /**
   * Its description.
   */
  description: string,
  /**
   * The points of its sweep, or one.
   */
  points: Array<CheckedPoint>,
  /**
   * The points of the sweep that are not valid, and why.
   */
  holes: { settings: { field: string, value: string }[], reason: string }[],
  /**
   * What may surprise in it, in sentences.
   */
  notes: Array<string>,
  /**
   * The labels of the algorithms, of all points, with their looks.
   */
  algorithms: Array<CheckedAlgorithm>,
  /**
   * All replications: points, algorithms, seeds.
   */
  runs: number,
  /**
   * The packets that all of them handle, roughly.
   */
  estimated_packets: number,
  /**
   * The names of the files that it names.
   */
  files: Array<string>,
  /**
   * The point that was asked for, with every default filled in, as TOML.
   */
  resolved: string,
  /**
   * The same as a tree.
   */
  defaults: Record<string, unknown>,
};

/**
 * An algorithm of a scenario.
 */
export type CheckedAlgorithm = {
  /**
   * Its label.
   */
  label: string,
  /**
   * Its name in the catalog.
   */
  algorithm: string,
  /**
   * Its look in every figure.
   */
  style: Look,
};

/**
 * A point of a scenario.
 */
export type CheckedPoint = {
  /**
   * The settings that distinguish it from the others.
   */
  settings: { field: string, value: string }[],
  /**
   * The settings in one line; empty if there is one point.
   */
  title: string,
  /**
   * The labels of its algorithms.
   */
  algorithms: Array<string>,
  /**
   * The algorithms that cannot run here, and why.
   */
  left_out: Array<[string, string]>,
  /**
   * Its seeds, at most 1000 of them.
   */
  seeds: Array<Seed>,
  /**
   * The number of its seeds.
   */
  seed_count: number,
  /**
   * The links that are measured.
   */
  links: Array<string>,
  /**
   * The classes that packets are counted in.
   */
  classes: Array<string>,
  /**
   * The simulated time.
   */
  duration_s: number,
  /**
   * The time from which figures count.
   */
  warmup_s: number,
  /**
   * The step of the time series.
   */
  step_s: number,
  /**
   * The segments of the measured window.
   */
  segments: Array<[number, number]>,
  /**
   * The changes on the way; of more than 100 points, those of the point that was asked for.
   */
  events: { at_s: number, label: string }[],
  /**
   * The flows, without those that come as they come.
   */
  flows: number,
  /**
   * The packets that one replication handles, roughly.
   */
  estimated_packets: number,
  /**
   * The memory that one replication needs, roughly, in bytes.
   */
  estimated_memory: number,
};

/**
 * A text as TOML reads it.
 */
export type Tree = {
  /**
   * What it says. Dates are texts, and whole numbers beyond 2^53 lose digits.
   */
  value: Record<string, unknown>,
  /**
   * The place of each value, by its path, such as `flows[1].rtt`: as `edit` takes it, and as faults name fields.
   */
  places: Record<string, TreePlace>,
  /**
   * The names of the files that it names.
   */
  files: Array<string>,
};

/**
 * The place of a value. Positions are those of JavaScript: UTF-16 code units from the beginning.
 */
export type TreePlace = {
  /**
   * From and to of its key; null for items of a list.
   */
  key: [number, number] | null,
  /**
   * From and to of its value; of a table with a head of its own, of the head.
   */
  value: [number, number],
  /**
   * The line, counted from 1.
   */
  line: number,
  /**
   * Its kind.
   */
  form: "string" | "integer" | "float" | "boolean" | "array" | "table",
};

/**
 * A text.
 */
export type Text = {
  /**
   * The text.
   */
  text: string,
};

/**
 * One replication.
 */
export type Replication = {
  /**
   * The point.
   */
  point: number,
  /**
   * The label of the algorithm.
   */
  algorithm: string,
  /**
   * The seed.
   */
  seed: Seed,
  /**
   * Equal digests mean equal sample paths: sixteen hexadecimal digits, as the command has them.
   */
  digest: string,
  /**
   * Events that the engine handled.
   */
  events: number,
  /**
   * Packets handed to a first link.
   */
  packets: number,
  /**
   * The simulated time.
   */
  duration_s: number,
  /**
   * The end of the warm-up.
   */
  warmup_s: number,
  /**
   * The figures by link, segment and scope.
   */
  metrics: MetricRow[],
  /**
   * The time series by link; empty if it is not shown.
   */
  series: LinkSeries[],
  /**
   * The windows of up to 12 flows, one of each group first; empty if it is not shown.
   */
  windows: Array<FlowWindow>,
  /**
   * Every flow, at most 1000; empty if it is not shown.
   */
  flows: FlowRow[],
  /**
   * Finished transfers; empty if it is not shown.
   */
  transfers: Transfers,
  /**
   * Distributions of the queueing delay by link and scope; empty if it is not shown.
   */
  delays: Array<Delays>,
  /**
   * Averages of the internal signals.
   */
  internal_means: InternalRow[],
  /**
   * All of it as bytes in base64, if they were asked for.
   */
  packed: string | null,
};

/**
 * The congestion window of a flow over time.
 */
export type FlowWindow = {
  /**
   * The flow's number.
   */
  flow: number,
  /**
   * Its group.
   */
  group: string,
  /**
   * Its class.
   */
  class: string,
  /**
   * The links that its data crosses.
   */
  links: Array<string>,
  /**
   * True if it always has something to send.
   */
  bulk: boolean,
  /**
   * Its round-trip propagation time at its start.
   */
  base_rtt_s: number,
  /**
   * The time of each sample.
   */
  time_s: Numbers,
  /**
   * The window in packets.
   */
  packets: Numbers,
  /**
   * The threshold of slow start in packets; null: there is none.
   */
  ssthresh_packets: Numbers,
  /**
   * The smoothed round-trip time; null before the first measurement.
   */
  srtt_s: Numbers,
};

/**
 * Finished transfers as columns of one length.
 */
export type Transfers = {
  /**
   * The number of all, of which at most 20000 are here.
   */
  count: number,
  /**
   * The class of each.
   */
  class: Array<string>,
  /**
   * The time at which each began.
   */
  start_s: Numbers,
  /**
   * The time until the last new byte was at the receiver.
   */
  flow_completion_time_s: Numbers,
  /**
   * The size in packets.
   */
  size_packets: Numbers,
  /**
   * The completion time over the time that the same transfer takes alone.
   */
  slowdown: Numbers,
};

/**
 * A distribution of the queueing delay.
 */
export type Delays = {
  /**
   * The link.
   */
  link: string,
  /**
   * "all", "data" or a class.
   */
  scope: string,
  /**
   * The delays.
   */
  queue_delay_s: Numbers,
  /**
   * The shares of packets that waited no longer.
   */
  cumulative_probability: Numbers,
};

/**
 * Numbers, null where there is none.
 */
export type Numbers = (number | null)[];

/**
 * The figures of one link, segment and scope. Without a segment they are of the whole measured window. The scope is "all",
 * "data" (all but acknowledgments), a class, a lane ("lane:l"), or the transfers of one size ("size:0-10kB"). Metrics
 * that do not apply have no value.
 */
export type MetricRow = {
  link: string,
  segment: number | null,
  scope: string,
  from_s: number,
  to_s: number,
  values: Record<string, number>,
};

/**
 * The time series of a link: equally spaced samples, each at the end of its step. Means, drops, marks and rates are those
 * of the step. Jain's index is empty in samples of a run that goes on.
 */
export type LinkSeries = {
  link: string,
  time_s: Numbers,
  queue_packets: Numbers,
  queue_bytes: Numbers,
  queue_mean_packets: Numbers,
  queue_delay_mean_s: Numbers,
  dropped_packets: Numbers,
  marked_packets: Numbers,
  jain_index: Numbers,
  throughput_bps: [string, Numbers][],
  internals: InternalSeries[],
};

/**
 * An internal signal of an algorithm over time: one value for each sample.
 */
export type InternalSeries = { name: string, unit: string, values: Numbers };

/**
 * A flow over the measured window.
 */
export type FlowRow = {
  flow: number,
  group: string,
  class: string,
  base_rtt_s: number,
  start_s: number,
  stop_s: number | null,
  goodput_bps: number,
  delivered_bytes: number,
  sent_packets: number,
  retransmitted_packets: number,
  timeouts: number,
  fast_retransmits: number,
  ecn_responses: number,
  round_trip_time_mean_s: number | null,
};

/**
 * The average of an internal signal. Without a segment it is of the whole measured window.
 */
export type InternalRow = { link: string, segment: number | null, signal: string, unit: string, mean: number };

/**
 * The numbers of a figure: panels with common axes, and curves in them.
 */
export type ChartNumbers = {
  title: string,
  x: { label: string, log: boolean, names: string[] },
  y: string,
  panel_key: string,
  curve_key: string,
  panels: { title: string, curves: ChartCurve[] }[],
  form: "over-time" | "line" | "points" | "bars",
  warmup: number | null,
  events: { at_s: number, label: string }[],
};

/**
 * A curve. Where half the width of an interval is null there is none.
 */
export type ChartCurve = {
  label: string,
  style: number,
  x: Numbers,
  y: Numbers,
  half_width: Numbers,
  low: Numbers,
  high: Numbers,
  seeds: number[],
};

/**
 * The theory's verdict on one algorithm.
 */
export type Assessment = {
  label: string,
  algorithm: string,
  verdict: "stable" | "unstable" | "no-equilibrium" | "no-model",
  reasons: string[],
  equilibrium: {
    queue_packets: number,
    queue_delay_s: number,
    probability: number,
    window_packets: number,
    rtt_s: number,
    state: [string, string, number][],
  } | null,
  margins: {
    unstable_roots: number,
    gain: number | null,
    phase_deg: number | null,
    delay_s: number | null,
    crossovers_rad_per_s: number[],
    growth_per_s: number,
    period_s: number | null,
    damping: number,
    settling_s: number | null,
  } | null,
  criteria: {
    statement: string,
    left: number | null,
    right: number | null,
    holds: boolean,
    necessary: boolean,
    reason: string,
  }[],
  reach: { quantity: "flows" | "capacity" | "rtt", now: number, below: ReachEdge | null, above: ReachEdge | null }[],
  fluid: QueueMotion | null,
  packets: (QueueMotion & { agrees: boolean | null }) | null,
};

/**
 * Where a verdict changes, and into what.
 */
export type ReachEdge = { at: number, factor: number, beyond: "stable" | "unstable" | { "no-equilibrium": string } };

/**
 * An answer for a link, as `quell recommend --format json` prints it.
 */
export type RecommendReport = {
  schema: number,
  goal: string,
  link: { technology: string, down: RecommendWay, up: RecommendWay },
  load: string,
  hosts: number,
  runs: string,
  columns: { title: string, metric: string, link: string }[],
  answer: { rows: RecommendJudged[], met: boolean, verdict: string },
  reach: { change: string, found: RecommendJudged }[],
  carries: string,
  router: { parts: { place: string, text: string }[], notes: string[] },
  notes: string[],
};

/**
 * A direction of a link: its rate, that of its shaper, and why.
 */
export type RecommendWay = { rate: string, shaped: string, words: string };

/**
 * A candidate with its figures, in the order of the columns, and what became of the parts of the goal. `difference` is from
 * what one has today, paired by seed.
 */
export type RecommendJudged = {
  name: string,
  cells: ({ estimate: RecommendEstimate, difference: RecommendEstimate | null, lost: RecommendEstimate | null } | null)[],
  verdicts: { asked: string, found: string | null, holds: boolean, sure: boolean, ratio: number | null }[],
  why: string,
};

/**
 * A mean over seeds with half the width of its interval.
 */
export type RecommendEstimate = { mean: number, half_width: number | null, n: number };

/**
 * How a queue moves in the long run.
 */
export type QueueMotion = {
  motion: "settled" | "oscillating" | "irregular",
  mean_packets: number,
  deviation_packets: number,
  swing: number,
  share: number,
  period_s: number,
};

/**
 * A quantity that a map shows.
 */
export type MapShown = | "growth" | "gain-margin" | "phase-margin" | "delay-margin" | "settling" | "queue" | "probability" | "swing";

/**
 * The answer to each message.
 */
export type Answers = {
  about: About;
  check: Checked;
  tree: Tree;
  edit: Text;
  run: Replication;
  preset: Text;
  gather: Gathered;
  open: Gathered;
  forget: Done;
  table: Table;
  chart: Chart;
  report: Report;
  theory: Theory;
  map: Map;
  recommend: Recommended;
};
