/**
 * Priorities: cells yield to the host, so that its listeners stay responsive whatever tenants do,
 * and a cell of tenants that use much CPU yields to the other cells: it runs on idle cores alone,
 * and is preempted as soon as another process needs one.
 *
 * Cells share the host's session. A Linux that divides its cores by session first (autogroups)
 * would give a cell with a session of its own as much as the host, whatever its priority is.
 */
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;

/**
 * The shell command that starts a cell or a bundler, to be put before its own command. A terminal
 * or a supervisor sends signals to the whole process group; they are meant for the host, which lets
 * its cells finish and then ends them. The shell ignores them, which the tools and the program
 * inherit.
 *
 * @param dataKib bound on the data segment of each process
 * @returns an empty list on Windows
 */
export function preamble(yielding: boolean, dataKib?: number): string[] {
  if (process.platform === 'win32') return [];
  const start = `${dataKib === undefined ? '' : `ulimit -d ${dataKib}; `}exec "$0" "$@"`;
  // `chrt` is part of util-linux, like `setpriv`; without it, the process has a low priority alone.
  const idle = yielding ? `command -v chrt >/dev/null && exec chrt --idle 0 "$0" "$@"; ${start}` : start;
  return ['/bin/sh', '-c', `trap "" HUP INT TERM; ${idle}`];
}

/**
 * To be called before the process has threads: threads that it starts later inherit the priority.
 */
export function lowerPriority(pid: number, yielding: boolean): void {
  try {
    setPriority(pid, yielding ? PRIORITY_LOW : PRIORITY_BELOW_NORMAL);
  } catch {
    // The child has ended already.
  }
}

/**
 * Has a running cell yield to the other cells: the system keeps a priority for each of its threads.
 */
export function lowerPriorityOfThreads(pid: number): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) lowerPriority(Number(thread), true);
  } catch {
    // The system does not list threads, or the cell has ended.
  }
}
