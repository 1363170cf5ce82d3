/**
 * Values of options: times, such as `10m` for ten minutes ago, and texts that may be in a file,
 * `@file`, or `@-` for standard input.
 */

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { CommandContext } from '../command.ts';
import { Failure, UsageError } from '../terminal/failure.ts';

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const durationIn = (text: string): number | undefined => {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNITS[unit] ?? 0);
};

/** Milliseconds. @throws UsageError */
export function duration(text: string): number {
  const ms = durationIn(text);
  if (ms !== undefined) return ms;
  throw new UsageError(`"${text}" is not a duration, as 30s, 10m, 2h or 1d.`);
}

/** Milliseconds since 1970, of a duration before now or of a date. @throws UsageError */
export function moment(text: string): number {
  const ms = durationIn(text);
  if (ms !== undefined) return Date.now() - ms;
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw new UsageError(`"${text}" is neither a duration, as 30s, 10m, 2h or 1d, nor a date.`);
}

/** Milliseconds. @throws UsageError */
export function seconds(text: string): number {
  const value = Number(text);
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text) && value > 0) return value * 1_000;
  throw new UsageError(`"${text}" is not a number of seconds.`);
}

/** @throws UsageError */
export function wholeNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError(`"${text}" is not a whole number.`);
}

/** The time of day of an ISO time, in the zone of this machine. */
export function timeOfDay(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** @throws UsageError if the file cannot be read */
export async function givenBytes(
  { cwd, stdin }: Pick<CommandContext, 'cwd' | 'stdin'>,
  value: string,
): Promise<Buffer> {
  if (!value.startsWith('@')) return Buffer.from(value);
  if (value === '@-') return Buffer.concat(await Array.fromAsync(stdin));
  const file = resolve(cwd, value.slice(1));
  return readFile(file).catch((cause: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${cause.code}).`);
  });
}

/** @throws UsageError if it is not a JSON object */
export async function givenObject(
  context: Pick<CommandContext, 'cwd' | 'stdin'>,
  option: string,
  value: string | undefined,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (value === undefined) return undefined;
  // Without a byte order mark, which editors on Windows write.
  const text = new TextDecoder().decode(await givenBytes(context, value));
  const parsed = parsedOf(text);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
    return parsed as Readonly<Record<string, unknown>>;
  throw new UsageError(`${option} is not a JSON object.`, {
    hint: `Quote it for the shell: ${option} '{"key":"value"}', or name a file: ${option} @file.json`,
  });
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text of a file, or of standard input. @throws Failure if the file cannot be read */
export async function givenText(
  { cwd, stdin }: Pick<CommandContext, 'cwd' | 'stdin'>,
  file: string,
): Promise<string> {
  if (file === '-') return text(stdin);
  const path = resolve(cwd, file);
  return readFile(path, 'utf8').catch((cause: Error) => {
    throw new Failure(`${path} cannot be read: ${cause.message}.`, { code: 'FILE_UNREADABLE', cause });
  });
}
