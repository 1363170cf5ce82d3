/**
 * The errors of the operating system as `node:util` names them.
 */
import table from 'node-tables/system-errors.json';
import { invalidArgType, outOfRange } from './errors.ts';

type Known = readonly [name: string, message: string];

/** Negative number → name and message. */
export const getSystemErrorMap = (): Map<number, Known> =>
  new Map(Object.entries(table as Record<string, Known>).map(([number, known]) => [Number(number), known]));

/** @returns undefined for a number that means nothing */
function known(error: number): Known | undefined {
  if (typeof error !== 'number') throw invalidArgType('err', 'number', error);
  if (error >= 0 || !Number.isSafeInteger(error)) throw outOfRange('err', 'a negative integer', error);
  return (table as Record<string, Known>)[error];
}

export const getSystemErrorName = (error: number): string =>
  known(error)?.[0] ?? `Unknown system error ${error}`;
export const getSystemErrorMessage = (error: number): string | undefined => known(error)?.[1];
