// Serves the page while the specs run: by `quell lab` of the command that QUELL names, else by a server of a few lines.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { serve } from "./server.mjs";

const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));

/** Starts the server; returns what ends it. */
export default async function setup() {
  if (process.env.QUELL_LAB_URL) return () => {};
  if (!process.env.QUELL) {
    const server = await serve(DIST);
    process.env.QUELL_LAB_URL = server.url;
    return server.close;
  }
  // The page that is in the command, if it has one, as users get it.
  const embedded = process.env.QUELL_LAB_EMBEDDED === "1" ? [] : ["--dir", DIST];
  const command = spawn(process.env.QUELL, ["lab", "--no-open", ...embedded], { stdio: ["ignore", "pipe", "inherit"] });
  process.env.QUELL_LAB_URL = await firstLine(command);
  return () => command.kill("SIGINT");
}

/** The URL that `quell lab` prints. */
export function firstLine(command) {
  return new Promise((done, fail) => {
    let text = "";
    command.stdout.on("data", (piece) => {
      text += piece;
      if (text.includes("\n")) done(text.slice(0, text.indexOf("\n")));
    });
    command.once("error", fail);
    command.once("exit", (code) => fail(new Error(`quell lab ended with ${code}`)));
  });
}
