/**
 * How cells yield to the host, so that its doors stay responsive whatever tenants do, and how a cell of tenants that burn
 * CPU yields to the other cells.
 *
 * A nice value does it, unless the system shares its cores out by session first (Linux' autogroups): a cell that has a
 * session of its own then needs one for its group, and its own counts only inside of that.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;
const niceOf = (yielding: boolean): number => (yielding ? PRIORITY_LOW : PRIORITY_BELOW_NORMAL);

/** To be called before the process has threads: those it starts later inherit it. */
export function lowerPriority(pid: number, yielding: boolean): void {
  try {
    setPriority(pid, niceOf(yielding));
  } catch {
    // A child that is already gone has no priority to lower.
  }
}

/** Has one that runs already yield to the other cells: to the system each of its threads has a priority of its own. */
export function lowerPriorityOfThreads(pid: number): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) lowerPriority(Number(thread), true);
  } catch {
    // The system does not list threads, or the cell is gone.
  }
}

/** To be called once the process has the session that it will keep. */
export function lowerAutogroup(pid: number, yielding: boolean): void {
  try {
    const group = groupOf(pid);
    // A group that the host is in would take the host down with it.
    if (group !== undefined && group !== groupOf('self'))
      writeFileSync(`/proc/${pid}/autogroup`, String(niceOf(yielding)));
  } catch {
    // The system has no such groups, or the child is gone.
  }
}

function groupOf(pid: number | 'self'): string | undefined {
  return /^\/autogroup-\d+/.exec(readFileSync(`/proc/${pid}/autogroup`, 'latin1'))?.[0];
}
