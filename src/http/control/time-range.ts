/**
 * `from` and `to` of lists: from a moment on, and up to another, which is not in it. Times are those of ISO 8601 with a zone, as
 * answers have them.
 */
import Type from 'typebox';
import { AnnexError } from '../../errors.ts';
import { Time } from './schemas.ts';

/** Members of a query, or of a body. */
export const TIME_RANGE = {
  from: Type.Optional(Type.String({ ...Time, description: 'Accepted then or later.' })),
  to: Type.Optional(Type.String({ ...Time, description: 'Accepted before then.' })),
};

/** Milliseconds since 1970. */
export interface TimeRange {
  readonly from?: number;
  readonly to?: number;
}

/**
 * @param part what holds them: `query`, `body`
 * @throws `REQUEST_INVALID` where a time is none, or the range ends before it begins
 */
export function timeRange(
  part: string,
  { from, to }: { readonly from?: string; readonly to?: string },
): TimeRange {
  const range = {
    ...(from !== undefined && { from: momentOf(`${part}.from`, from) }),
    ...(to !== undefined && { to: momentOf(`${part}.to`, to) }),
  };
  if (range.from !== undefined && range.to !== undefined && range.from > range.to) {
    throw new AnnexError('REQUEST_INVALID', `${part}.from is later than ${part}.to.`);
  }
  return range;
}

function momentOf(name: string, text: string): number {
  const at = Date.parse(text);
  if (Number.isFinite(at)) return at;
  throw new AnnexError('REQUEST_INVALID', `${name} is no moment in time.`);
}
