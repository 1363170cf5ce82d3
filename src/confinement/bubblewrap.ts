/**
 * bubblewrap's command line for a child process: namespaces of its own, and a file system that holds the files of one program.
 *
 * There is no `/proc`, no `/dev` and no `/tmp` in it. bubblewrap stays beside the program as its parent, outside: it tells
 * the host which process it has started, and passes on how that ended.
 */
import { constants } from 'node:os';
import type { ConfinedProgram, Namespaces } from './layers.ts';

/** A process that was ended by a signal: bubblewrap exits with this and the signal's number, as shells do. */
const SIGNAL_BASE = 128;
/** More than bubblewrap ever tells. */
const INFO_CHARS_MAX = 4_096;

/** @param uid of the user that starts it, where it is not the host's own */
export function bubblewrapCommand(
  { tool, nested }: Extract<Namespaces, { kind: 'bubblewrap' }>,
  { path, files }: ConfinedProgram,
  infoFd: number,
  uid: number | undefined,
): string[] {
  const ids = uid === undefined ? [] : ['--uid', String(uid), '--gid', String(uid)];
  return [
    tool,
    '--unshare-user',
    ...ids,
    // A user namespace inside would give a cell capabilities again, and with them much more of the kernel to attack.
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
    // One process less. The cell is process 1 inside: signals that it sends itself are lost on it, SIGABRT among them,
    // so a failed assertion of its engine ends as SIGSEGV. Those of the kernel and of the host are not.
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

/** The files of the shared libraries that this process, and so another of the same program, is linked to. */
export function sharedLibraries(): string[] {
  const report = process.report.getReport() as unknown as { sharedObjects?: string[] };
  // Addons are of this process alone. What has no path is in the kernel.
  return (report.sharedObjects ?? []).filter((path) => path.startsWith('/') && !path.endsWith('.node'));
}

/** The process that bubblewrap says it has started; undefined while it has not said so. */
export function childPidOf(info: string): number | undefined {
  const pid = /"child-pid":\s*(\d+)/.exec(info.slice(0, INFO_CHARS_MAX))?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/** How the program ended, by what bubblewrap exits with. */
export function endBehind(
  code: number | null,
  signal: NodeJS.Signals | null,
): { readonly code: number | null; readonly signal: NodeJS.Signals | null } {
  if (code === null || code <= SIGNAL_BASE) return { code, signal };
  const ended = Object.entries(constants.signals).find(([, number]) => number === code - SIGNAL_BASE);
  return ended === undefined ? { code, signal } : { code: null, signal: ended[0] as NodeJS.Signals };
}
