/**
 * Turns esbuild's messages into problems for the author: file, line and column of the upload, and a
 * hint.
 *
 * Number and length are bounded: a hostile file can provoke any number of messages with any text.
 *
 * esbuild resolves glob imports (`import("./" + name)`) on the disk, without the plugin. The
 * process of an upload usually has no files to match. Where it has, the matches must stay hidden.
 * Attack: an author reads from the answer which files of the host a pattern matches. So every
 * message about a pattern becomes the same refusal, whether the pattern matches many files, none,
 * or a folder that does not exist.
 */
import type { Message } from 'esbuild';
import type { Problem } from '../model/problem.ts';
import { displayName, PATTERN_MATCHED } from './virtual-files.ts';

const PROBLEMS_MAX = 100;
const TEXT_CHARS_MAX = 500;

/**
 * esbuild's message for a pattern whose folder does not exist. The plugin words it differently for
 * a literal path.
 */
const UNRESOLVED = /^Could not resolve (?:import|require)\(/;

/**
 * esbuild's second message where it cannot open a folder, its working directory included. Only
 * patterns make it open folders.
 */
const UNREADABLE = /^Cannot read directory "/;

const isPattern = ({ id, text }: Message): boolean =>
  id === 'empty-glob' || text === PATTERN_MATCHED || UNRESOLVED.test(text) || UNREADABLE.test(text);

/**
 * Translates the messages of one build. A last entry of each severity counts the omitted ones.
 *
 * @param diskless esbuild cannot open files or folders, so the positions of patterns reveal nothing
 * about the disk
 */
export function buildProblems(
  errors: readonly Message[],
  warnings: readonly Message[],
  diskless: boolean,
): { readonly errors: Problem[]; readonly warnings: Problem[] } {
  const patterns = [...errors, ...warnings].filter(isPattern);
  const placed = diskless ? patternProblems(patterns.filter(({ location }) => location !== null)) : [];
  const refused = placed.length > 0 ? placed : patterns.slice(0, 1).map(() => () => SOME_PATTERN);
  const others = errors.filter((message) => !isPattern(message));
  return {
    errors: bounded([...refused, ...others.map((message) => () => buildProblem(message, 'error'))], 'error'),
    warnings: bounded(
      warnings
        .filter((message) => !isPattern(message))
        .map((message) => () => buildProblem(message, 'warning')),
      'warning',
    ),
  };
}

/** One problem for each position, sorted by position. */
function patternProblems(messages: readonly Message[]): (() => Problem)[] {
  const places = new Map<string, Message>();
  for (const message of messages) {
    const { location } = message;
    const key = `${location?.file} ${String(location?.line).padStart(9)} ${String(location?.column).padStart(9)}`;
    places.set(key, { ...message, text: PATTERN_REFUSED, notes: [{ location: null, text: PATTERN_HINT }] });
  }
  return [...places]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([, message]) =>
        () =>
          buildProblem(message, 'error'),
    );
}

const PATTERN_REFUSED = 'An import path must be a fixed text, not a pattern.';
const PATTERN_HINT =
  'Import each file by its own path, for instance from an object of functions: { a: () => import("./a.ts") }.';

/**
 * Has no position. esbuild reports a file that two patterns match only once, so positions would
 * reveal which patterns match the same file.
 */
const SOME_PATTERN: Problem = { severity: 'error', message: PATTERN_REFUSED, hint: PATTERN_HINT };

function bounded(found: readonly (() => Problem)[], severity: Problem['severity']): Problem[] {
  const problems = found.slice(0, PROBLEMS_MAX).map((make) => make());
  const omitted = found.length - problems.length;
  if (omitted > 0) problems.push({ severity, message: `${omitted} more were found and are not shown.` });
  return problems;
}

function buildProblem(message: Message, severity: Problem['severity']): Problem {
  const { location } = message;
  const hint = message.notes.find((note) => note.location === null)?.text;
  return {
    severity,
    ...(location === null
      ? {}
      : {
          file: clip(displayName(location.file)),
          line: location.line,
          column: columnOf(location.lineText, location.column),
        }),
    message: clip(message.text),
    ...(hint === undefined ? {} : { hint: clip(hint) }),
  };
}

/** esbuild counts bytes of UTF-8 from 0; editors count UTF-16 units from 1. */
function columnOf(lineText: string, bytes: number): number {
  // A line has no more units than bytes, so this prefix contains the position, however long the
  // line.
  const prefix = Buffer.from(lineText.slice(0, bytes)).subarray(0, bytes);
  return prefix.toString('utf8').length + 1;
}

const clip = (text: string): string =>
  text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX)}…`;
