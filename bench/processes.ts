/**
 * CPU and resident memory of processes with all their descendants, from `/proc` (Linux). CPU
 * measures a cost even where other programs use the cores.
 */
import { readdirSync, readFileSync } from 'node:fs';

const NS_PER_US = 1_000;
const PAGE_BYTES = 4_096;

/** CPU of processes and of their descendants since it was made. */
export class CpuMeter {
  readonly #roots: readonly number[];
  readonly #before: ReadonlyMap<string, number>;

  constructor(roots: readonly number[]) {
    this.#roots = roots;
    this.#before = threads(roots);
  }

  /** Microseconds of all threads that live now. */
  us(): number {
    const now = [...threads(this.#roots)];
    return now.reduce((sum, [thread, ns]) => sum + ns - (this.#before.get(thread) ?? 0), 0) / NS_PER_US;
  }
}

/** Resident memory, in MiB, of a process and of each of its descendants, by process. */
export const residentMib = (pid: number): ReadonlyMap<number, number> =>
  new Map([pid, ...descendants(pid)].map((one) => [one, mib(one)]));

/** CPU in nanoseconds of each thread, as the scheduler counts it. */
function threads(roots: readonly number[]): Map<string, number> {
  const pids = roots.flatMap((pid) => [pid, ...descendants(pid)]);
  return new Map(
    pids.flatMap((pid) =>
      namesIn(`/proc/${pid}/task`).map((thread) => {
        const [ns] = textOf(`/proc/${pid}/task/${thread}/schedstat`).split(' ');
        return [`${pid}/${thread}`, Number(ns)] as const;
      }),
    ),
  );
}

function mib(pid: number): number {
  const [, pages = 0] = textOf(`/proc/${pid}/statm`).split(' ');
  return (Number(pages) * PAGE_BYTES) / 2 ** 20;
}

function descendants(pid: number): number[] {
  const parents = namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      // The name of the program may have spaces and brackets.
      const stat = textOf(`/proc/${name}/stat`);
      return [Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])] as const;
    });
  const found: number[] = [];
  for (let generation = [pid]; generation.length > 0; found.push(...generation))
    generation = parents.filter(([, parent]) => generation.includes(parent)).map(([one]) => one);
  return found;
}

/** Empty where the process has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
