/**
 * The shortest way from one list to another, by the algorithm of Myers ("An O(ND) Difference
 * Algorithm and Its Variations", 1986): for the messages of `node:assert`, and `util.diff`.
 */
import { invalidArgType, validateStringArray } from './errors.ts';

/** 1 for what only the first list has, -1 for what only the second one has, 0 for both. */
export type Step = readonly [kind: 1 | 0 | -1, text: string];
type Texts = ArrayLike<string>;

/** @param same whether two items are equal: by `===` where it is left out */
export function steps(one: Texts, other: Texts, same = (a: string, b: string) => a === b): Step[] {
  const trace = furthest(one, other, same);
  const found: Step[] = [];
  let [x, y] = [one.length, other.length];
  for (let level = trace.length - 1; level >= 0; level--) {
    const reached = trace[level] as Map<number, number>;
    const before = fromAbove(reached, x - y, level) ? x - y + 1 : x - y - 1;
    const start = reached.get(before) ?? 0;
    while (x > start && y > start - before && x > 0 && y > 0) {
      x--;
      y--;
      const left = one[x] as string;
      found.push([0, left.endsWith(',') ? left : (other[y] as string)]);
    }
    if (level === 0) break;
    if (x > start) found.push([1, one[--x] as string]);
    else found.push([-1, other[--y] as string]);
  }
  return found.reverse();
}

/** For each number of differences: diagonal → how far in the first list one gets. */
function furthest(one: Texts, other: Texts, same: (a: string, b: string) => boolean): Map<number, number>[] {
  const trace: Map<number, number>[] = [];
  const reached = new Map<number, number>();
  for (let level = 0; ; level++) {
    trace.push(new Map(reached));
    for (let diagonal = -level; diagonal <= level; diagonal += 2) {
      const above = fromAbove(reached, diagonal, level);
      let x = above ? (reached.get(diagonal + 1) ?? 0) : (reached.get(diagonal - 1) ?? 0) + 1;
      while (
        x < one.length &&
        x - diagonal < other.length &&
        same(one[x] as string, other[x - diagonal] as string)
      )
        x++;
      reached.set(diagonal, x);
      if (x >= one.length && x - diagonal >= other.length) return trace;
    }
  }
}

const fromAbove = (reached: Map<number, number>, diagonal: number, level: number): boolean =>
  diagonal === -level ||
  (diagonal !== level && (reached.get(diagonal - 1) ?? 0) < (reached.get(diagonal + 1) ?? 0));

/** `util.diff`: of two texts by characters, of two lists of texts by items. */
export function diff(actual: string | string[], expected: string | string[]): Step[] {
  if (actual === expected) return [];
  for (const [name, value] of Object.entries({ actual, expected })) {
    if (Array.isArray(value)) validateStringArray(value, name);
    else if (typeof value !== 'string') throw invalidArgType(name, ['Array', 'string'], value);
  }
  return steps(actual, expected);
}
