/**
 * Sentences for a limit that was met: what was measured, its value, and the name of the limit,
 * which is the name of the setting. Answers, logs and problems of an upload all use these
 * sentences.
 */
import { AnnexError, type ErrorCode } from '../errors.ts';
import { LIMITS, type LimitMet, type LimitName } from '../limits.ts';

const ANYTHING = ['The value was #', 'A limit was met'] as const;

/**
 * One sentence, for instance "The call used 1,004 ms of CPU; the limit is 1,000 ms (callCpuMs)."
 */
export function limitSentence(met: LimitMet): string {
  const [used, unknown] = LIMITS[met.name].met ?? ANYTHING;
  const what = met.used === undefined ? unknown : used.replace('#', quantity(met.name, met.used));
  return `${what}; ${limitClause(met)}.`;
}

/** The clause that names the limit, for a sentence with a beginning of its own. */
export const limitClause = ({ name, max }: Pick<LimitMet, 'name' | 'max'>): string =>
  `the limit is ${quantity(name, max)} (${name})`;

/** An error whose only cause is a limit. */
export const limitError = (code: ErrorCode, met: LimitMet): AnnexError =>
  new AnnexError(code, limitSentence(met), { limit: met });

const KIB = 1024;
const MIB = 1024 * KIB;

/** A value with the unit that the limit's name ends in; round numbers of bytes in KiB or MiB. */
export function quantity(name: LimitName, value: number): string {
  if (name.endsWith('Mib')) return `${grouped(value)} MiB`;
  if (/Ms$|Ms(?=[A-Z])/.test(name)) return `${grouped(value)} ms`;
  if (!/Bytes/.test(name)) return grouped(value);
  if (value >= MIB && value % MIB === 0) return `${grouped(value / MIB)} MiB`;
  if (value >= KIB && value % KIB === 0) return `${grouped(value / KIB)} KiB`;
  return `${grouped(value)} ${value === 1 ? 'byte' : 'bytes'}`;
}

const NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const grouped = (value: number): string => NUMBERS.format(value);
