/**
 * Log lines as people see them, and those of one request that failed. The service gives a caller no
 * reason; a client with access to the log finds it there, with the place in the TypeScript source.
 */

import { setTimeout } from 'node:timers/promises';
import type { Annex, Installation, LogLine } from '../../../packages/client/src/index.ts';
import { type Output, type Painted, type Piece, paint } from '../terminal/output.ts';
import { timeOfDay } from './option-values.ts';

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

/** The newest lines that are searched, and that are returned. */
const SEARCHED = 100;
const RETURNED_MAX = 20;
/** A line is written shortly after the answer. */
const TRIES = 10;
const EVERY_MS = 100;

/** @returns errors of the request, oldest first; none where the token may not read them */
export async function errorsOf(
  client: Annex,
  { id: installation }: Pick<Installation, 'id'>,
  requestId: string,
  signal: AbortSignal,
): Promise<readonly LogLine[]> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (tries > 0) await setTimeout(EVERY_MS, undefined, { signal });
    const query = { installation, level: 'error', limit: SEARCHED } as const;
    const page = await client.logs.list(query, { signal, retries: 0 }).catch(() => undefined);
    if (page === undefined) return [];
    const found = page.items.filter((line) => line.requestId === requestId);
    if (found.length > 0) return found.slice(0, RETURNED_MAX).toReversed();
  }
  return [];
}
