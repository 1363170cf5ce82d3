/**
 * bubblewrap's command line for a child process: namespaces of its own, and a file system with the
 * files of one program.
 *
 * That has no `/proc`, no `/dev` and no `/tmp`. bubblewrap stays outside, as the parent of the
 * program: it reports the id of the process that it has started, and passes on how that process
 * ended.
 */
import { constants } from 'node:os';
import type { ConfinedProgram } from './confined-program.ts';

/**
 * For a process that was ended by a signal, bubblewrap exits with this and the signal's number, as
 * shells do.
 */
const SIGNAL_BASE = 128;
/** More than bubblewrap ever reports. */
const INFO_CHARS_MAX = 4_096;

/** How bubblewrap is called on this machine. */
export interface Bubblewrap {
  readonly tool: string;
  /**
   * The program could still make user namespaces, because this system has no way to forbid it.
   */
  readonly nested: boolean;
}

/** @param uid of the user as which the program runs, where it is not the host's own */
export function bubblewrapCommand(
  { tool, nested }: Bubblewrap,
  { path, files }: ConfinedProgram,
  infoFd: number,
  uid: number | undefined,
): string[] {
  const ids = uid === undefined ? [] : ['--uid', String(uid), '--gid', String(uid)];
  return [
    tool,
    '--unshare-user',
    ...ids,
    // Attack: a user namespace inside gives a cell capabilities again, and with them much more of
    // the kernel to attack.
    ...(nested ? [] : ['--disable-userns']),
    '--unshare-net',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    // In place of the machine's name.
    '--hostname',
    'cell',
    // However the host ends, its cells do.
    '--die-with-parent',
    // One process less. The cell is process 1 inside: it ignores signals that it sends to itself,
    // SIGABRT among them, so a failed assertion of its engine ends as SIGSEGV. Signals of the
    // kernel and of the host work.
    '--as-pid-1',
    '--clearenv',
    '--cap-drop',
    'ALL',
    '--info-fd',
    String(infoFd),
    ...[path, ...files].flatMap((file) => ['--ro-bind', file, file]),
    '--remount-ro',
    '/',
    '--chdir',
    '/',
    '--',
  ];
}

/**
 * Paths of the shared libraries that this process, and so another one of the same program, is
 * linked to.
 */
export function sharedLibraries(): string[] {
  const report = process.report.getReport() as unknown as { sharedObjects?: string[] };
  // Addons belong to this process alone. A library without a path is the kernel's.
  return (report.sharedObjects ?? []).filter((path) => path.startsWith('/') && !path.endsWith('.node'));
}

/** Id of the process that bubblewrap has started; undefined until it is reported. */
export function childPidOf(info: string): number | undefined {
  const pid = /"child-pid":\s*(\d+)/.exec(info.slice(0, INFO_CHARS_MAX))?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/** How the program ended, from the exit of bubblewrap. */
export function endBehind(
  code: number | null,
  signal: NodeJS.Signals | null,
): { readonly code: number | null; readonly signal: NodeJS.Signals | null } {
  if (code === null || code <= SIGNAL_BASE) return { code, signal };
  const ended = Object.entries(constants.signals).find(([, number]) => number === code - SIGNAL_BASE);
  return ended === undefined ? { code, signal } : { code: null, signal: ended[0] as NodeJS.Signals };
}
