// A link that holds the whole state: after `#s=` comes, in base64 for addresses, a byte with the version and the state as
// JSON, compressed (zlib, which has a checksum). Links come from anybody, so their size is capped before and while they
// are inflated, every value is checked, and nothing of them is anything but data.

import { base64url, fromBase64url } from "./bytes.ts";
import { type Doc, FIRST, type Json, SIDE_BY_SIDE } from "./document.ts";

const VERSION = 1;
const PREFIX = "s=";

/** The longest link that is read or made, in characters: what Chrome takes as an address. */
export const LONGEST = 2_000_000;
/** What is shorter, in characters, is a mark in a page and not a link that has lost its beginning. */
const SHORTEST = 40;
/** The most that a link may inflate to, in bytes. */
const MOST = 16_000_000;
/** How much is inflated at a time, in bytes: browsers inflate all that they are given, to a thousand times as much. */
const PIECE = 4096;
/** The longest text of a scenario. */
const LONGEST_TEXT = 4_000_000;
/** How deep what panels remember may be nested, and how many values it may have. */
const DEEPEST = 12;
const MOST_VALUES = 20_000;
/** Files of one scenario. */
const MOST_FILES = 100;

/** The state as the part of an address after `#`. */
export async function toHash(doc: Doc): Promise<string> {
  const state = { ...stateOf(doc) };
  const packed = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate"));
  const bytes = new Uint8Array(packed.length + 1);
  bytes[0] = VERSION;
  bytes.set(packed, 1);
  return PREFIX + base64url(bytes);
}

/** What a link is, or what is wrong with it in words. */
export type FromLink = { readonly doc: Doc } | { readonly problem: string } | null;

/** The state of the part of an address after `#`; `null` if it holds none. */
export async function fromHash(hash: string): Promise<FromLink> {
  const text = unescaped(hash.replace(/^#/, ""));
  const wrong = (why: string): FromLink => ({ problem: `This link cannot be opened: ${why}` });
  const incomplete = { problem: "The link is incomplete: part of it is missing. Ask for it again." };
  if (!text.startsWith(PREFIX)) {
    return text.length < SHORTEST ? null : wrong("its beginning is missing or was changed.");
  }
  if (text.length > LONGEST) {
    return wrong(`it has ${text.length} characters, and ${LONGEST} are the most.`);
  }
  const packed = text.slice(PREFIX.length);
  if (/[^\w-]/.test(packed)) return wrong("it has characters that no link of this page has.");
  const bytes = fromBase64url(packed);
  if (!bytes?.length) return incomplete;
  const version = bytes[0] ?? 0;
  if (version > VERSION) {
    return wrong(`it was made by a newer version of this page (form ${version}; this page knows form ${VERSION}).`);
  }
  if (version !== VERSION) return wrong(`its form is ${version}, which never was one.`);
  let json: string;
  try {
    const inflated = await through(bytes.subarray(1), new DecompressionStream("deflate"), MOST);
    if (isDeep(inflated)) return wrong("it is nested deeper than any state of this page.");
    json = new TextDecoder("utf-8", { fatal: true }).decode(inflated);
  } catch (error) {
    if (error instanceof TooLarge) return wrong(`it holds more than ${MOST / 1e6} MB.`);
    return incomplete;
  }
  let state: unknown;
  try {
    state = JSON.parse(json);
  } catch {
    return wrong("it does not hold a state of this page.");
  }
  const doc = toDoc(state);
  return typeof doc === "string" ? wrong(doc) : { doc };
}

/** The state without what is as at the start. */
export function stateOf(doc: Doc): { [key: string]: Json } {
  const state: { [key: string]: Json } = { text: doc.text, name: doc.name };
  if (Object.keys(doc.files).length) state.files = { ...doc.files };
  if (doc.algorithms.length) state.algorithms = [...doc.algorithms];
  if (doc.point) state.point = doc.point;
  if (doc.seeds) state.seeds = doc.seeds;
  if (Object.keys(doc.view).length) state.view = { ...doc.view };
  if (doc.experiment !== undefined) state.experiment = doc.experiment;
  return state;
}

/** The document of a state that may be anything; or what is wrong with it. */
export function toDoc(state: unknown): Doc | string {
  if (!isRecord(state)) return "it does not hold a state of this page.";
  const { text, name, files = {}, algorithms = [], point = 0, seeds = 0, view = {}, experiment } = state;
  if (typeof text !== "string" || text.length > LONGEST_TEXT) return "its scenario is not a text, or too long.";
  if (typeof name !== "string" || name.length > 300) return "the name of its file is not one.";
  if (!isRecord(files) || Object.keys(files).length > MOST_FILES) return "its files are not a list of files.";
  for (const [file, bytes] of Object.entries(files)) {
    if (typeof bytes !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(bytes) || file.length > 300) {
      return `its file ${JSON.stringify(file.slice(0, 60))} is not one.`;
    }
  }
  const labels = Array.isArray(algorithms) && algorithms.every((one) => typeof one === "string" && one.length <= 300);
  if (!labels || algorithms.length > SIDE_BY_SIDE) return "its algorithms are not up to four names.";
  if (!isCount(point, 1e9)) return "its point is not a whole number.";
  if (!isCount(seeds, 1e6)) return "its seeds are not a whole number.";
  if (!isRecord(view) || !small(view)) return "what it says of the panels is nested too deep, or too much.";
  if (experiment !== undefined && (typeof experiment !== "string" || experiment.length > 100)) {
    return "its experiment is not a name.";
  }
  return {
    ...FIRST,
    text,
    name,
    files: files as Doc["files"],
    algorithms: algorithms as string[],
    point: point as number,
    seeds: seeds as number,
    view: view as Doc["view"],
    ...(experiment !== undefined && { experiment }),
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isCount = (value: unknown, most: number) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= most;

/** A link whose `=` a mail program or a form has escaped, as it was; no other character of a link needs it. */
function unescaped(text: string): string {
  if (!/^s%3d/i.test(text) || text.length > LONGEST) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/^s%3d/i, PREFIX);
  }
}

/**
 * Whether JSON is nested deeper than any state. Bytes are counted before it is parsed, for parsers take seconds for
 * millions of brackets. Bytes of one character are not part of another one's in UTF-8.
 */
function isDeep(json: Uint8Array): boolean {
  // The state and its view are around what panels remember.
  const most = DEEPEST + 2;
  const [quote, backslash] = [0x22, 0x5c];
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (quoted) {
      if (byte === backslash) at += 1;
      else if (byte === quote) quoted = false;
    } else if (byte === quote) quoted = true;
    else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      if (depth > most) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return false;
}

/** Whether data is neither deep nor much; without recursion, for it may be very deep. */
function small(value: unknown): boolean {
  let level: unknown[] = [value];
  let count = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    count += level.length;
    if (depth > DEEPEST || count > MOST_VALUES) return false;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return true;
}

class TooLarge extends Error {}

/** Sends bytes through a stream; stops as soon as more than `most` come out. */
async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  most = Number.POSITIVE_INFINITY,
): Promise<Uint8Array<ArrayBuffer>> {
  const writer = stream.writable.getWriter();
  const write = async () => {
    for (let at = 0; at < bytes.length; at += PIECE) {
      await writer.ready;
      await writer.write(bytes.subarray(at, at + PIECE));
    }
    await writer.close();
  };
  // Errors come out at the other end too.
  write().catch(() => {});
  const reader = stream.readable.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw new TooLarge();
    }
    pieces.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
