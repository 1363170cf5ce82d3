/**
 * Prints problems of a folder as editors and terminals know them: `file:line:column: error: text`,
 * the line of the file with a mark below, and what to do.
 */
import { plainText } from '../../model/plain-text.ts';
import type { Problem } from '../../model/problem.ts';
import { type Output, paint } from './output.ts';

/** Most problems that are shown with their line. */
const FRAMES_MAX = 20;
/** Columns of a line that are shown, around the position. */
const FRAME_COLUMNS = 100;

export interface ReportedFiles {
  /** Path of a file for the reader, who may open it. */
  shown(file: string): string;
  /** Contents of a file; undefined where it is not known. */
  textOf(file: string): string | undefined;
}

/** Where they are printed: as the result of a command, or as talk about its failure. */
export type Printer = Pick<Output, 'line'> | { line: Output['talk'] };

export function printProblems(problems: readonly Problem[], files: ReportedFiles, printer: Printer): void {
  for (const [index, found] of problems.entries()) {
    const { severity, file, message, hint } = found;
    const at =
      file === undefined
        ? []
        : [[files.shown(file), found.line, found.column].filter(isPresent).join(':'), ': '];
    const [first = '', ...rest] = message.split('\n');
    printer.line(
      ...at.map((text) => paint('bold', text)),
      paint(severity === 'error' ? 'red' : 'yellow', `${severity}: `),
      first,
    );
    for (const more of rest) printer.line(`  ${more}`);
    if (index < FRAMES_MAX) for (const text of frameOf(found, files)) printer.line(paint('dim', text));
    if (hint !== undefined) printer.line('  ', hint);
  }
}

const isPresent = (part: unknown): boolean => part !== undefined;

function frameOf({ file, line, column = 1 }: Problem, files: ReportedFiles): string[] {
  const source =
    file === undefined || line === undefined ? undefined : files.textOf(file)?.split('\n')[line - 1];
  if (source === undefined || line === undefined || source.trim() === '') return [];
  const from = Math.max(0, column - 1 - FRAME_COLUMNS / 2);
  const shown = (end: number) => plainText(source.slice(from, end).replaceAll('\t', ' '));
  const number = String(line).padStart(6);
  const mark = `${' '.repeat(shown(column - 1).length)}^`;
  return [`${number} | ${shown(from + FRAME_COLUMNS).trimEnd()}`, `${' '.repeat(6)} | ${mark}`];
}
