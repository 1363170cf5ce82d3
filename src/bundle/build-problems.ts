/**
 * Messages of esbuild, as the problems an author reads: their own file, line and column, and what to do.
 *
 * Bounded in number and length, because a hostile file can draw any number of messages with any text.
 *
 * Imports by a pattern are the one thing that esbuild resolves without asking the plugin: it expands them on the disk. In
 * the process of an upload there is nothing to be found, and where that cannot be had, what it has found must not be told:
 * attack: an author who learns from the answer which files of the host a pattern matches. So all that is said about a
 * pattern becomes the same refusal, whether it matched many files, none, or a folder that does not exist.
 */
import type { Message } from 'esbuild';
import type { Problem } from '../model/problem.ts';
import { displayName, PATTERN_MATCHED } from './virtual-files.ts';

const PROBLEMS_MAX = 100;
const TEXT_CHARS_MAX = 500;

/** What esbuild says of a pattern whose folder is not there. Of a path that is a text, the plugin says it in other words. */
const UNRESOLVED = /^Could not resolve (?:import|require)\(/;

/** What it says besides where a folder of the disk, its working directory too, cannot be opened. It looks for patterns alone. */
const UNREADABLE = /^Cannot read directory "/;

const isPattern = ({ id, text }: Message): boolean =>
  id === 'empty-glob' || text === PATTERN_MATCHED || UNRESOLVED.test(text) || UNREADABLE.test(text);

/**
 * Translates what one build reported; a last entry of each kind says how many were left out.
 *
 * @param diskless esbuild can open no file and no folder, so that where patterns are told says nothing of the disk
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

/** One for each place, in the order of the places. */
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
 * Says nothing of where. A file that two patterns match is told of once: from the places that are told, an author could find
 * out which pattern matches what another one does.
 */
const SOME_PATTERN: Problem = { severity: 'error', message: PATTERN_REFUSED, hint: PATTERN_HINT };

function bounded(found: readonly (() => Problem)[], severity: Problem['severity']): Problem[] {
  const problems = found.slice(0, PROBLEMS_MAX).map((make) => make());
  const left = found.length - problems.length;
  if (left > 0) problems.push({ severity, message: `${left} more were found and are not shown.` });
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
  // A line has no more units than bytes, so a prefix of that length holds the position, however long the line.
  const prefix = Buffer.from(lineText.slice(0, bytes)).subarray(0, bytes);
  return prefix.toString('utf8').length + 1;
}

const clip = (text: string): string =>
  text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX)}…`;
