/**
 * CPU and resident memory of processes, from `/proc` (Linux). CPU time measures a cost even where
 * other processes use the cores.
 */
import { readdirSync, readFileSync } from 'node:fs';

const MS_PER_TICK = 10;
const PAGE_BYTES = 4_096;

/** CPU of a process so far, in milliseconds, and of its descendants that still run. */
export function cpuMs(pid: number): { readonly own: number; readonly children: number } {
  const children = descendants(pid).reduce((sum, child) => sum + ownCpuMs(child), 0);
  return { own: ownCpuMs(pid), children };
}

/** Resident memory, in bytes, of a process and of its descendants. */
export function residentBytes(pid: number): { readonly own: number; readonly children: number } {
  const children = descendants(pid).reduce((sum, child) => sum + ownResidentBytes(child), 0);
  return { own: ownResidentBytes(pid), children };
}

/** CPU of one process; 0 where it has ended. */
const ownCpuMs = (pid: number): number => {
  const [, , ...fields] = statOf(pid);
  return (Number(fields[9] ?? 0) + Number(fields[10] ?? 0)) * MS_PER_TICK;
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
