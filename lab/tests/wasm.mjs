// The simulator for tests in Node.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Engine } from "../dist-node/engine.mjs";

const path = process.env.QUELL_WASM || fileURLToPath(new URL("../dist-wasm/quell.wasm", import.meta.url));
if (!existsSync(path)) throw new Error(`there is no ${path}: node wasm.mjs compiles it, and QUELL_WASM names another`);

/** An instance of the simulator. */
export const engine = () => Engine.load(readFileSync(path));

/** The answer to a message, or the fault. */
export function answer(of, request) {
  try {
    return { ok: of.ask(request) };
  } catch (error) {
    if (!error.fault) throw error;
    return { fault: error.fault };
  }
}
