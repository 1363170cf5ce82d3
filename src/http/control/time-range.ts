/**
 * `from` (inclusive) and `to` (exclusive) of lists: times of ISO 8601 with a zone, as in answers.
 */
import Type from 'typebox';
import { AnnexError } from '../../errors.ts';
import { Time } from './schemas.ts';

/** Members of a query or body. */
export const TIME_RANGE = {
  from: Type.Optional(Type.String({ ...Time, description: 'Accepted at this time or later.' })),
  to: Type.Optional(Type.String({ ...Time, description: 'Accepted before this time.' })),
};

/** Milliseconds since 1970. */
export interface TimeRange {
  readonly from?: number;
  readonly to?: number;
}

/**
 * @param part of the request that contains them: `query`, `body`
 * @throws AnnexError REQUEST_INVALID if a time is invalid, or `from` is after `to`
 */
export function timeRange(
  part: string,
  { from, to }: { readonly from?: string; readonly to?: string },
): TimeRange {
  const range = {
    ...(from !== undefined && { from: timeOf(`${part}.from`, from) }),
    ...(to !== undefined && { to: timeOf(`${part}.to`, to) }),
  };
  if (range.from !== undefined && range.to !== undefined && range.from > range.to) {
    throw new AnnexError('REQUEST_INVALID', `${part}.from is later than ${part}.to.`);
  }
  return range;
}

function timeOf(name: string, text: string): number {
  const at = Date.parse(text);
  if (Number.isFinite(at)) return at;
  throw new AnnexError(
    'REQUEST_INVALID',
    `${name} is not a valid time: use ISO 8601 with a zone, such as 2026-01-31T12:00:00Z.`,
  );
}
