/**
 * What a process writes, in the order in which it does: `strace` watches its main thread, where the database is written and
 * synced and where answers are written to their sockets, so one list has both.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** One system call that has succeeded. */
export type TracedCall =
  /** Bytes at a place of a file: not on the disk yet. */
  | { readonly kind: 'write'; readonly file: string; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly file: string; readonly size: number }
  /** From here on, what was written to the file is on the disk. */
  | { readonly kind: 'sync'; readonly file: string }
  | { readonly kind: 'remove'; readonly file: string }
  | { readonly kind: 'rename'; readonly file: string; readonly to: string }
  /** Bytes for a socket or a pipe, or at the end of a file that is none of a database. */
  | { readonly kind: 'send'; readonly to: string; readonly bytes: Buffer };

const CALLS =
  'pwrite64,pwritev,pwritev2,write,writev,sendto,sendmsg,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range,unlink,unlinkat,rename,renameat2';

/** Whole buffers, as hexadecimal, with the names of files and sockets. `-D`: the traced process is its starter's own child. */
export const strace = (out: string): readonly string[] => [
  'strace',
  '-D',
  ...['-o', out, '-y', '-xx', '-s', '8000000', '-e', 'signal=none', '-e', `trace=${CALLS}`],
];

/** Whether there is an `strace`, and it may. */
export const canTrace = (): boolean => spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

const CALL = /^(\w+)\((.*)\)\s+= (-?\d+)/s;
const FILE = /^\d+<([^>]*)>/;
const STRING = /"((?:\\x[0-9a-f]{2})*)"/g;

/** @throws at a call that it does not know: a write that was left out would make the disk look better than it is */
export function readTrace(trace: string): TracedCall[] {
  return trace.split('\n').flatMap((line) => {
    const [, name = '', parameters = '', result] = CALL.exec(line) ?? [];
    if (name === '' || Number(result) < 0) return [];
    return readCall(name, parameters, Number(result));
  });
}

function readCall(name: string, parameters: string, result: number): TracedCall[] {
  const file = unhex(FILE.exec(parameters)?.[1] ?? '').toString();
  const last = Number(parameters.slice(parameters.lastIndexOf(', ') + 2));
  switch (name) {
    case 'pwrite64':
      return [{ kind: 'write', file, at: last, bytes: bytesOf(parameters, result) }];
    case 'write':
    case 'writev':
    case 'sendto':
    case 'sendmsg':
      return [{ kind: 'send', to: file, bytes: bytesOf(parameters, result) }];
    case 'ftruncate':
      return [{ kind: 'truncate', file, size: last }];
    case 'fsync':
    case 'fdatasync':
      return [{ kind: 'sync', file }];
    case 'unlink':
      return [{ kind: 'remove', file: bytesOf(parameters).toString() }];
    case 'unlinkat':
      return [{ kind: 'remove', file: join(file, bytesOf(parameters).toString()) }];
    case 'rename': {
      const [from = '', to = ''] = stringsOf(parameters);
      return [{ kind: 'rename', file: unhex(from).toString(), to: unhex(to).toString() }];
    }
    default:
      throw new Error(`A call that is not known: ${name}(${parameters.slice(0, 200)}`);
  }
}

/** All strings of a call, one behind the other; of what was to be written, so much as was. */
function bytesOf(parameters: string, written = Number.POSITIVE_INFINITY): Buffer {
  return unhex(stringsOf(parameters).join('')).subarray(0, written);
}

const stringsOf = (parameters: string): string[] =>
  [...parameters.matchAll(STRING)].map(([, text = '']) => text);

const unhex = (text: string): Buffer => Buffer.from(text.replaceAll('\\x', ''), 'hex');
