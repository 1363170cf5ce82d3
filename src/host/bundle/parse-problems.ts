/**
 * Validates the problems in a message from the process of an upload: shape, number and length.
 */
import { DEFAULT_LIMITS, type LimitMet, type LimitName } from '../../limits.ts';
import type { Problem } from '../../model/problem.ts';

/** Longest text of a problem; an honest one quotes at most a few hundred characters. */
const TEXT_CHARS_MAX = 8_192;
const MEMBERS = ['severity', 'file', 'line', 'column', 'message', 'hint', 'limit'];

/** @returns undefined where the value is not an array of at most `most` valid problems */
export function parseProblems(value: unknown, most: number): readonly Problem[] | undefined {
  if (!Array.isArray(value) || value.length > most) return undefined;
  return value.every(isProblem) ? value : undefined;
}

function isProblem(value: unknown): value is Problem {
  if (typeof value !== 'object' || value === null) return false;
  const { severity, file, line, column, message, hint, limit } = value as Record<string, unknown>;
  return (
    Object.keys(value).every((key) => MEMBERS.includes(key)) &&
    (severity === 'error' || severity === 'warning') &&
    isText(message) &&
    (file === undefined || isText(file)) &&
    (hint === undefined || isText(hint)) &&
    (line === undefined || Number.isSafeInteger(line)) &&
    (column === undefined || Number.isSafeInteger(column)) &&
    (limit === undefined || isLimit(limit))
  );
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= TEXT_CHARS_MAX;

function isLimit(value: unknown): value is LimitMet {
  if (typeof value !== 'object' || value === null) return false;
  const { name, max, used, ...rest } = value as Record<string, unknown>;
  return (
    Object.keys(rest).length === 0 &&
    typeof name === 'string' &&
    Object.hasOwn(DEFAULT_LIMITS, name as LimitName) &&
    Number.isFinite(max) &&
    (used === undefined || Number.isFinite(used))
  );
}
