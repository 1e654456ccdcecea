// The inks of what is drawn of one algorithm: classes of traffic and flows.

/** The color of a label that no scenario has. */
export const PLAIN = { light: "#56616b", dark: "#a9b3bd" };
/** What figures stand on. */
export const GROUND = { light: "#ffffff", dark: "#14171a" };

/** The kinds of dashes, as in `crates/view/src/style.rs`. */
export const DASHES: readonly (readonly number[])[] = [
  [],
  [7, 4],
  [2, 3],
  [8, 3, 2, 3],
  [14, 4],
  [8, 3, 2, 3, 2, 3],
  [4, 2],
  [14, 3, 4, 3],
];
/** How strong a color is: whole, dark or light, gray. */
export const SHADES = 3;

/** The place of an ink among those of an algorithm. */
export interface Place {
  readonly shade: number;
  readonly dash: number;
}

/** The strength and the dashes of a place. */
export const part = ({ shade, dash }: Place) => ({
  shade: shade % SHADES,
  dashes: DASHES[dash % DASHES.length] as readonly number[],
});

/**
 * Places for curves of some groups, all unlike while there are: those of one group are equally strong and have other
 * dashes. Of one group neighbors differ in both.
 */
export function places(groups: readonly string[]): Place[] {
  const names = [...new Set(groups)];
  if (names.length < 2 || names.length === groups.length) return groups.map((_, i) => ({ shade: i, dash: i }));
  const taken = new Set<string>();
  return groups.map((group) => {
    const shade = names.indexOf(group) % SHADES;
    let dash = 0;
    while (dash < DASHES.length - 1 && taken.has(`${shade} ${dash}`)) dash += 1;
    taken.add(`${shade} ${dash}`);
    return { shade, dash };
  });
}

const channels = (color: string): [number, number, number] => [
  Number.parseInt(color.slice(1, 3), 16),
  Number.parseInt(color.slice(3, 5), 16),
  Number.parseInt(color.slice(5, 7), 16),
];

/** How light a color is, from 0 to 1 (WCAG's relative luminance). */
export function luminance(color: string): number {
  const [r, g, b] = channels(color).map((c) => {
    const v = c / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The contrast of two colors, from 1 to 21 (WCAG). */
export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const blend = (a: string, b: string, share: number): string => {
  const to = channels(b);
  const of = channels(a).map((v, i) => Math.round(v + share * ((to[i] as number) - v)));
  return `#${of.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
};

/** A color in one of its strengths on a ground; each stands out from it. */
export function mixed(color: string, shade: number, ground: string): string {
  if (shade % SHADES === 0) return color;
  if (shade % SHADES === 2) return luminance(ground) > 0.5 ? "#8a939c" : "#7d8891";
  // What is far from the ground comes nearer, what is near goes away.
  const far = contrast(color, ground) > 7;
  return far ? blend(color, ground, 0.42) : blend(color, luminance(ground) > 0.5 ? "#000000" : "#ffffff", 0.45);
}

/** How a block of a class is filled: the share of the color, and whether it has an edge. Three kinds, and the same with a notch. */
export interface Fill {
  readonly alpha: number;
  readonly edge: boolean;
  readonly notch: boolean;
}

const FILLS: readonly Fill[] = [
  { alpha: 1, edge: false, notch: false },
  { alpha: 0.3, edge: true, notch: false },
  { alpha: 0, edge: true, notch: false },
];

/** How blocks of a class are filled, by its place. */
export const fillOf = (i: number): Fill => ({ ...(FILLS[i % FILLS.length] as Fill), notch: i % 6 >= FILLS.length });
