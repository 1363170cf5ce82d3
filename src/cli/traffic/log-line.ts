/** Log lines as people see them. */
import type { LogLine } from '../../../packages/client/src/index.ts';
import { type Output, type Painted, type Piece, paint } from '../terminal/output.ts';
import { timeOfDay } from './time-options.ts';

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export function showLine(output: Pick<Output, 'line'>, line: LogLine): void {
  output.line(...piecesOf(line));
}

export const piecesOf = ({ at, level, text }: LogLine): readonly Piece[] => [
  paint('dim', `${timeOfDay(at)} `),
  levelOf(level),
  text,
];

function levelOf(level: LogLine['level']): Painted | string {
  const padded = `${level.padEnd(5)} `;
  if (level === 'error') return paint('red', padded);
  if (level === 'warn') return paint('yellow', padded);
  return paint('dim', padded);
}
