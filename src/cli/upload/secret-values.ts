/**
 * Values for the secrets of a manifest, from the publisher's side: options of the command line, a
 * file of variables, the environment, and `.env` in the folder, in this order.
 *
 * `.env` and the file are read here and never uploaded. A secret without a value is left out: it
 * keeps the one that the service has, and the service says where it has none. No message contains a
 * value.
 */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Manifest } from '../../model/manifest/manifest.ts';
import { isOpen, variableOf } from '../../model/manifest/secrets.ts';
import { nearest } from '../../model/spelling-hint.ts';
import { readGiven } from '../../real-files.ts';
import { UsageError } from '../terminal/failure.ts';

export const ENV_FILE = '.env';
/** Largest file of variables that is read. */
const ENV_BYTES_MAX = 1024 * 1024;

export interface SecretSources {
  /** Values of `--secret`: `NAME=value`, or `NAME` for the variable of this name. */
  readonly given: readonly string[];
  /** The file of `--secrets-file`. */
  readonly file?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of relative paths. */
  readonly cwd: string;
  /** The folder of the integration. */
  readonly folder: string;
}

export interface SecretValues {
  /** Secret → value. */
  readonly values: Readonly<Record<string, string>>;
  /** Secrets that have no value here, with the variable that the manifest names. */
  readonly open: ReadonlyMap<string, string | undefined>;
}

/** @throws UsageError for an option that names no secret, or a file that cannot be read */
export async function secretValues(
  declared: Manifest['secrets'],
  sources: SecretSources,
): Promise<SecretValues> {
  const { env, file, cwd, folder } = sources;
  const listed = file === undefined ? NO_VARIABLES : await variablesIn(folder, resolve(cwd, file), true);
  const local = await variablesIn(folder, join(folder, ENV_FILE), false);
  const values: Record<string, string> = {};
  const open = new Map<string, string | undefined>();
  const given = givenValues(declared, sources);
  for (const [name, written] of Object.entries(declared)) {
    const variable = variableOf(written);
    const found =
      given.get(name) ??
      listed.get(name) ??
      (variable === undefined
        ? undefined
        : (listed.get(variable) ?? inShell(env, variable) ?? local.get(variable)));
    if (found !== undefined && found !== '') values[name] = found;
    else if (isOpen(written)) open.set(name, variable);
  }
  return { values, open };
}

/**
 * Attack: the manifest of a cloned folder declares a secret that takes its value from
 * `ANNEX_TOKEN`, and its code sends that away. Other variables are the publisher's to give:
 * `annex publish --list` shows those that a manifest names.
 */
const inShell = (env: SecretSources['env'], variable: string): string | undefined =>
  isOfAnnex(variable) ? undefined : ownVariable(env, variable);

/** Whether a variable of the environment is one of Annex, and never the value of a secret. */
export const isOfAnnex = (variable: string): boolean => /^ANNEX_/i.test(variable);

function givenValues(
  declared: Manifest['secrets'],
  { given, env }: SecretSources,
): ReadonlyMap<string, string> {
  return new Map(
    given.map((option) => {
      const at = option.indexOf('=');
      const name = at === -1 ? option : option.slice(0, at);
      if (!Object.hasOwn(declared, name)) throw undeclared(name, Object.keys(declared));
      if (at !== -1) return [name, option.slice(at + 1)];
      const value = ownVariable(env, name);
      if (value !== undefined && value !== '') return [name, value];
      throw new UsageError(`The variable ${name} of --secret ${name} has no value.`, {
        hint: `Set it, or send the value on standard input: annex secrets set <integration> ${name}`,
      });
    }),
  );
}

const NO_VARIABLES: ReadonlyMap<string, string> = new Map();

/** Own variables only: a secret may be named `constructor`. */
const ownVariable = (env: SecretSources['env'], name: string): string | undefined =>
  Object.hasOwn(env, name) ? env[name] : undefined;

function undeclared(name: string, declared: readonly string[]): UsageError {
  const near = nearest(name, declared);
  // What is no name may be a value, and is not repeated.
  const shown = /^\w{1,64}$/.test(name) ? ` "${name}"` : '';
  return new UsageError(`The manifest declares no secret${shown}.`, {
    hint: near === undefined ? 'Add it to "secrets" in the manifest.' : `Did you mean ${near}?`,
  });
}

/**
 * Attack: `.env` of a cloned folder is a link to `~/.aws/credentials`, and the manifest declares a
 * secret that takes its value from there.
 */
async function variablesIn(
  folder: string,
  file: string,
  isNeeded: boolean,
): Promise<ReadonlyMap<string, string>> {
  const size = (await stat(file).catch(() => undefined))?.size ?? 0;
  if (size > ENV_BYTES_MAX) throw new UsageError(`${file} is too large for a file of variables.`);
  const found = readGiven(folder, file, ENV_BYTES_MAX);
  if (found === 'leaves')
    throw new UsageError(`${file} is a link to a file outside of the folder, so it is not read.`, {
      hint: 'Remove it, or name the file that it leads to: --secrets-file <file>',
    });
  if (found !== 'absent') {
    if (isUTF16(found.bytes)) throw new UsageError(`${file} is in UTF-16.`, { hint: 'Save it in UTF-8.' });
    return variablesOf(String(found.bytes));
  }
  if (!isNeeded) return NO_VARIABLES;
  throw new UsageError(`There is no file ${file}.`, { hint: 'Each line of it is NAME=value.' });
}

/** Files of PowerShell and of some editors on Windows begin so. */
const isUTF16 = ([first, second]: Buffer): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

/** The name of a variable, up to its value. */
const HEAD = /[^\S\n]*(?:export[^\S\n]+)?([\w.-]+)(?:[^\S\n]*=|:(?=[^\S\n]))/y;
const BLANKS = /\s*/y;
/** What may stand behind a quoted value. */
const TAIL = /[^\S\n]*(?=[#\n]|$)/y;
const QUOTES: readonly (string | undefined)[] = ['"', "'", '`'];

/**
 * The variables of a text as `dotenv` reads it; of two of one name, the last. `NAME=value` or
 * `NAME: value`, after `export` or not, bare or in one of three quotes, over several lines in
 * quotes, with a comment behind it. A byte order mark is white space.
 *
 * Attack: a text on which the regular expression of `dotenv` takes quadratic time. Each piece here
 * is read once.
 */
export function variablesOf(written: string): ReadonlyMap<string, string> {
  const text = written.replaceAll(/\r\n?/g, '\n');
  const found = new Map<string, string>();
  for (let at = 0; at < text.length; at = endOfLine(text, at) + 1) {
    const [head = '', name] = matchAt(HEAD, text, at) ?? [];
    if (name === undefined) continue;
    const begin = at + head.length;
    const quoted = quotedAt(text, begin);
    const bare = text.slice(begin, endOfLine(text, begin)).split('#', 1)[0]?.trim() ?? '';
    found.set(name, unescaped(quoted?.value ?? unquoted(bare), quoted?.quote ?? bare[0]));
    at = quoted?.end ?? begin;
  }
  return found;
}

function quotedAt(text: string, begin: number) {
  const open = begin + (matchAt(BLANKS, text, begin)?.[0].length ?? 0);
  const quote = text[open];
  if (quote === undefined || !QUOTES.includes(quote)) return undefined;
  let end: number | undefined;
  for (let at = text.indexOf(quote, open + 1); at >= 0; at = text.indexOf(quote, at + 1)) {
    if (matchAt(TAIL, text, at + 1) !== null) end = at;
    if (text[at - 1] !== '\\') break;
  }
  return end === undefined ? undefined : { quote, value: text.slice(open + 1, end), end };
}

const unquoted = (bare: string): string =>
  bare.length > 1 && QUOTES.includes(bare[0]) && bare.at(-1) === bare[0] ? bare.slice(1, -1) : bare;

/** Only double quotes have escapes, and only those of line breaks. */
const unescaped = (value: string, quote: string | undefined): string =>
  quote === '"' ? value.replaceAll('\\n', '\n').replaceAll('\\r', '\r') : value;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}
