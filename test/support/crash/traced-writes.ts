/**
 * The writes of a process, in order: `strace` traces its main thread, which writes and syncs the
 * database and writes answers to sockets, so one list has both.
 */
import { join } from 'node:path';

/** One system call that has succeeded. */
export type TracedCall =
  /** Bytes at an offset of a file: not on the disk yet. */
  | { readonly kind: 'write'; readonly file: string; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly file: string; readonly size: number }
  /** All earlier writes to the file are on the disk. */
  | { readonly kind: 'sync'; readonly file: string }
  | { readonly kind: 'remove'; readonly file: string }
  | { readonly kind: 'rename'; readonly file: string; readonly to: string }
  /** Bytes for a socket or a pipe, or appended to a file that is no database. */
  | { readonly kind: 'send'; readonly to: string; readonly bytes: Buffer };

const CALLS =
  'pwrite64,pwritev,pwritev2,write,writev,sendto,sendmsg,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range,unlink,unlinkat,rename,renameat2';

/**
 * Whole buffers in hexadecimal, with the names of files and sockets. `-D`: the traced process is a
 * direct child.
 */
export const strace = (out: string): readonly string[] => [
  'strace',
  '-D',
  ...['-o', out, '-y', '-xx', '-s', '8000000', '-e', 'signal=none', '-e', `trace=${CALLS}`],
];

const CALL = /^(\w+)\((.*)\)\s+= (-?\d+)/s;
const FILE = /^\d+<([^>]*)>/;
const STRING = /"((?:\\x[0-9a-f]{2})*)"/g;

/** @throws at an unknown call: an omitted write would make the simulated disk too reliable */
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
      throw new Error(`Unknown system call: ${name}(${parameters.slice(0, 200)}`);
  }
}

/** All strings of a call, joined, up to the number of bytes that were written. */
function bytesOf(parameters: string, written = Number.POSITIVE_INFINITY): Buffer {
  return unhex(stringsOf(parameters).join('')).subarray(0, written);
}

const stringsOf = (parameters: string): string[] =>
  [...parameters.matchAll(STRING)].map(([, text = '']) => text);

const unhex = (text: string): Buffer => Buffer.from(text.replaceAll('\\x', ''), 'hex');
