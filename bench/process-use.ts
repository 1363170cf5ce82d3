/**
 * CPU and resident memory of processes, from `/proc` (Linux). CPU time measures a cost even where
 * other processes use the cores.
 */
import { readdirSync, readFileSync } from 'node:fs';

const MS_PER_TICK = 10;
const PAGE_BYTES = 4_096;

/**
 * CPU of a process so far, in milliseconds, and of its descendants, except for those that ended
 * and whose parent is not this process.
 */
export function cpuMs(pid: number): { readonly own: number; readonly children: number } {
  const running = descendants(pid).reduce((sum, child) => sum + cpuOf(child, 9, 10), 0);
  return { own: cpuOf(pid, 9, 10), children: running + cpuOf(pid, 11, 12) };
}

/** Processes of a system, by their ids. */
export interface CpuProcesses {
  /** Their children are counted apart. */
  readonly hosts: readonly number[];
  /** Server of the database, counted with its children. */
  readonly server?: number | undefined;
}

/** CPU of the processes of a system between its making and a call of `of`. */
export class CpuMeter {
  readonly #processes: CpuProcesses;
  readonly #before: readonly number[];

  constructor(processes: CpuProcesses) {
    this.#processes = processes;
    this.#before = this.#now();
  }

  /** Microseconds for each of so many deliveries: `hosts + their children + server`. */
  of(deliveries: number): string {
    return this.#now()
      .map((ms, index) => (((ms - (this.#before[index] ?? 0)) / deliveries) * 1_000).toFixed(0))
      .join(' + ');
  }

  #now(): number[] {
    const { hosts, server } = this.#processes;
    const used = hosts.map(cpuMs);
    const host = used.reduce((sum, { own }) => sum + own, 0);
    const cells = used.reduce((sum, { children }) => sum + children, 0);
    if (server === undefined) return [host, cells];
    const ofServer = cpuMs(server);
    return [host, cells, ofServer.own + ofServer.children];
  }
}

/** Resident memory, in bytes, of a process and of its descendants. */
export function residentBytes(pid: number): { readonly own: number; readonly children: number } {
  const children = descendants(pid).reduce((sum, child) => sum + ownResidentBytes(child), 0);
  return { own: ownResidentBytes(pid), children };
}

/** CPU of one process by two fields: its own, or that of children that ended; 0 where it ended. */
const cpuOf = (pid: number, user: number, system: number): number => {
  const [, , ...fields] = statOf(pid);
  return (Number(fields[user] ?? 0) + Number(fields[system] ?? 0)) * MS_PER_TICK;
};

const ownResidentBytes = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
};

/** Fields of `/proc/…/stat` from the state on: the name before it may have spaces and brackets. */
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

function descendants(pid: number): number[] {
  const parents = new Map(
    readdirSync('/proc')
      .map(Number)
      .filter(Number.isInteger)
      .map((one) => [one, Number(statOf(one)[1])]),
  );
  const found: number[] = [];
  let generation = [pid];
  while (generation.length > 0) {
    generation = [...parents].filter(([, parent]) => generation.includes(parent)).map(([one]) => one);
    found.push(...generation);
  }
  return found;
}
