// What a map of the theory is drawn around: the values of the scenario.

import type { MapAxis } from "../protocol.ts";
import { measured } from "../set/schema.ts";

/** A parameter of which there can be an axis. */
export interface Center {
  readonly name: string;
  /** The unit in which its value is written; empty: none. */
  readonly unit: string;
  readonly value: number;
}

type Values = { readonly [key: string]: unknown };

const isTable = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The parameters of the algorithm with a label, in a scenario with every default filled in; none if it has no list. */
export function inScenario(scenario: unknown, label: string): Values {
  const links = isTable(scenario) && Array.isArray(scenario.links) ? scenario.links : [];
  const lists = [scenario, ...links].flatMap((of) => (isTable(of) && Array.isArray(of.aqm) ? of.aqm : []));
  return lists.filter(isTable).find((of) => (of.label ?? of.algorithm) === label) ?? {};
}

/** The number and the unit of a value; `null` of names and tables. */
function read(value: unknown): { value: number; unit: string } | null {
  if (typeof value === "number") return Number.isFinite(value) ? { value, unit: "" } : null;
  if (typeof value !== "string") return null;
  const found = /^([-+\d.]+(?:e[-+]?\d+)?)(?: +(\S+))?$/i.exec(value.trim());
  const number = Number(found?.[1]);
  return found && Number.isFinite(number) ? { value: number, unit: found[2] ?? "" } : null;
}

/**
 * The parameters that a map can go over, each with the scenario's value, or else the catalog's default. What is counted and
 * written without a unit is a whole number, of which there is no axis.
 */
export function parametersOf(
  params: readonly { readonly name: string; readonly unit: string; readonly default: string }[],
  now: Values,
): readonly Center[] {
  return params.flatMap(({ name, unit, default: usual }) => {
    const found = read(now[name]) ?? read(usual.replaceAll('"', ""));
    if (!found || found.value <= 0) return [];
    return !found.unit && /^(packets|flows|queues|bytes)$/.test(unit) ? [] : [{ name, ...found }];
  });
}

/** The mean size of the packets with which the theory counts, in bytes. */
export function meanPacket(scenario: unknown): number {
  const size = isTable(scenario) && typeof scenario.mean_packet === "string" ? scenario.mean_packet : "1 kB";
  const found = measured(size, "bytes");
  const factor = found && { B: 1, kB: 1e3, MB: 1e6, KiB: 1024 }[found.unit];
  return found && factor ? found.number * factor : 1000;
}

/** An axis around a value, ten times less to ten times more. */
export function around(name: string, unit: string, value: number): MapAxis {
  const [from, to] = name === "flows" ? [Math.max(1, value / 10), Math.max(10, value * 10)] : [value / 10, value * 10];
  const three = (x: number) => +x.toPrecision(3);
  return { name, ...(unit && { unit }), from: three(from), to: three(to), log: true };
}
