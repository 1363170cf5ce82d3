/**
 * How cells yield to the host, so that its doors stay responsive whatever tenants do, and how a cell of tenants that burn
 * CPU yields to the other cells: it runs where nobody else wants the core, and lets go of it the moment somebody does.
 *
 * Cells share the host's session. With sessions of their own, a Linux that shares its cores out by session first
 * (autogroups) would give each cell as much as the host, whatever its priority is.
 */
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;

/**
 * What comes before the command of a cell or a bundler. Signals of a terminal or a supervisor go to all that it has
 * started; they are for the host, which lets its cells finish and then ends them. To ignore them is inherited, also by the tools on the way.
 *
 * @param dataKib bound on the data segment of each process
 * @returns nothing where there is no such shell
 */
export function preamble(yielding: boolean, dataKib?: number): string[] {
  if (process.platform === 'win32') return [];
  const start = `${dataKib === undefined ? '' : `ulimit -d ${dataKib}; `}exec "$0" "$@"`;
  // `chrt` is of util-linux, as `setpriv` is; without it a low priority has to do.
  const idle = yielding ? `command -v chrt >/dev/null && exec chrt --idle 0 "$0" "$@"; ${start}` : start;
  return ['/bin/sh', '-c', `trap "" HUP INT TERM; ${idle}`];
}

/** To be called before the process has threads: those it starts later inherit it. */
export function lowerPriority(pid: number, yielding: boolean): void {
  try {
    setPriority(pid, yielding ? PRIORITY_LOW : PRIORITY_BELOW_NORMAL);
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
