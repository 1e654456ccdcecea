// Provisional, until the bindings are there.
import type { Fault } from "../protocol.ts";

export class EngineFault extends Error {
  constructor(public fault: Fault) {
    super(fault.message);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: provisional
export async function ask(request: { do: string; [key: string]: unknown }): Promise<any> {
  throw new Error(`no simulator: ${request.do}`);
}
