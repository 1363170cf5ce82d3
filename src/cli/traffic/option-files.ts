/** Values of options that may be in a file: `@file`, or `@-` for standard input. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { CommandContext } from '../context.ts';
import { UsageError } from '../terminal/failure.ts';

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
