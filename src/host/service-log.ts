/**
 * The log of a service: JSON lines on standard output, or words where that is a terminal.
 *
 * Attack, or a bad day: the reader of a log ends (`annex serve | head`), or its disk is full. What
 * is written then is lost; it ends neither a start nor a service.
 */
import { writeSync } from 'node:fs';
import pino, { type Logger } from 'pino';
import { loggableError } from '../errors.ts';
import { plainJson, plainText } from '../model/plain-text.ts';

const STANDARD_OUTPUT = 1;
/** Between two attempts to write to a pipe that its reader does not empty, in milliseconds. */
const FULL_PIPE_MS = 10;
/** Level of notes. */
const INFO = 30;
/** Members of a line that are not shown as words. */
const NOT_SHOWN = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'err']);

/**
 * Settings of every log. Attack: a message with a C1 control character, which JSON leaves as it is,
 * for the terminal of an operator who reads the log.
 */
export const LOG_SETTINGS = {
  name: 'annex',
  serializers: { err: loggableError },
  hooks: { streamWrite: plainJson },
};

/** Standard output, written at once: also where the process ends at once. It never throws. */
export const standardOutput = {
  write(text: string): void {
    let rest = Buffer.from(text);
    try {
      while (rest.byteLength > 0) rest = rest.subarray(written(rest));
    } catch {
      // Nobody reads it, or there is no room.
    }
  },
};

function written(bytes: Buffer): number {
  try {
    return writeSync(STANDARD_OUTPUT, bytes);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EAGAIN') throw cause;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS);
    return 0;
  }
}

/** @param isTerminal whether people read it there @param write receives each line */
export const serviceLog = (
  isTerminal: boolean,
  write: (text: string) => void = standardOutput.write,
): Logger => pino(LOG_SETTINGS, { write: isTerminal ? (line: string) => write(inWords(line)) : write });

/** A line of the log for people: time, level unless it is a note, message, details, cause. */
export function inWords(line: string): string {
  const { level, time, msg = '', err, ...rest } = JSON.parse(line) as LogLine;
  const at = new Date(time).toTimeString().slice(0, 8);
  const label = level > INFO ? `${pino.levels.labels[level]}: ` : '';
  const details = Object.entries(rest)
    .filter(([name]) => !NOT_SHOWN.has(name))
    .map(([name, value]) => `  ${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const why = err?.message === undefined ? '' : `: ${err.message}`;
  return `${plainText(`${at} ${label}${msg}${why}${details.join('')}`)}\n`;
}

interface LogLine {
  readonly level: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly msg?: string;
  readonly err?: { readonly message?: string };
  readonly [detail: string]: unknown;
}
