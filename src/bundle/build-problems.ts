/**
 * Messages of esbuild, as the problems an author reads: their own file, line and column, and what to do.
 *
 * Bounded in number and length, because a hostile file can draw any number of messages with any text.
 */
import type { Message } from 'esbuild';
import type { Problem } from '../model/problem.ts';
import { displayName } from './virtual-files.ts';

const PROBLEMS_MAX = 100;
const TEXT_CHARS_MAX = 500;

/** Translates what one build reported; a last entry says how many were left out. */
export function buildProblems(messages: readonly Message[], severity: Problem['severity']): Problem[] {
  const problems = messages.slice(0, PROBLEMS_MAX).map((message) => buildProblem(message, severity));
  const left = messages.length - problems.length;
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
