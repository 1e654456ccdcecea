// The command of this machine, beside which the page's simulator is held: QUELL names it (default: that of target/release or
// target/debug).

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const BUILT = ["target/release/quell", "target/debug/quell"].map((path) => join(ROOT, path));

/** The path of the command, or undefined if there is none. */
export const QUELL = process.env.QUELL ?? BUILT.find(existsSync);
