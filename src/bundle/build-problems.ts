/**
 * Turns esbuild's messages into problems for the author: file, line and column of the upload, and a
 * hint.
 *
 * Number and length are bounded: a hostile file can provoke any number of messages with any text.
 */
import type { Message } from 'esbuild';
import type { Problem } from '../model/problem.ts';
import { refusalOf, refusedBy } from './absent-modules.ts';
import { globImportRefusals, isGlobImport } from './glob-imports.ts';
import { displayName } from './virtual-files.ts';

const PROBLEMS_MAX = 100;
const TEXT_CHARS_MAX = 500;

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
  const refusals = globImportRefusals([...errors, ...warnings].filter(isGlobImport), diskless);
  const others = (messages: readonly Message[]) => messages.filter((message) => !isGlobImport(message));
  return {
    errors: bounded([...refusals, ...others(errors)], 'error'),
    warnings: bounded(others(warnings), 'warning'),
  };
}

function bounded(found: readonly Message[], severity: Problem['severity']): Problem[] {
  const problems = found.slice(0, PROBLEMS_MAX).map((message) => buildProblem(message, severity));
  const omitted = found.length - problems.length;
  if (omitted > 0) problems.push({ severity, message: `${omitted} more were found and are not shown.` });
  return problems;
}

/** For a warning of esbuild that is about a "variable of CommonJS". */
const IN_MODULE = {
  message: '`module` and `exports` are not defined in a file that has `import` or `export`.',
  hint: 'Write `export default …`.',
};

function buildProblem(message: Message, severity: Problem['severity']): Problem {
  const known = message.id === 'commonjs-variable-in-esm' ? IN_MODULE : undefined;
  const hint = known?.hint ?? message.notes.find((note) => note.location === null)?.text;
  return {
    severity,
    ...placeOf(message),
    message: known?.message ?? clip(message.text),
    ...(hint === undefined ? {} : { hint: clip(hint) }),
  };
}

/** The problem of an import that `refusing` has marked. */
export const refusedModule = (message: Message): Problem => ({
  severity: 'error',
  ...placeOf(message),
  ...refusalOf(refusedBy(message) ?? ''),
});

/** Where a message is about. */
function placeOf({ location }: Message): Pick<Problem, 'file' | 'line' | 'column'> {
  if (location === null) return {};
  const { file, line, lineText, column } = location;
  return { file: clip(displayName(file)), line, column: columnOf(lineText, column) };
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
