/**
 * The log text of a thrown value: stack, then the chain of causes. Bounded, and safe with any
 * value.
 */

import { isArray, slice } from '../primordials.ts';
import { isErrorLike, readMember, readStack } from './error-stack.ts';
import { inspect } from './inspect.ts';

const TEXT_CHARS_MAX = 8_192;
const CAUSES_MAX = 4;
const AGGREGATED_MAX = 8;

/** @returns at most 8 KiB of characters; never throws, never returns an empty text */
export function formatError(thrown: unknown): string {
  let text = describe(thrown);
  let current = thrown;
  for (let depth = 0; depth < CAUSES_MAX && text.length < TEXT_CHARS_MAX && isErrorLike(current); depth++) {
    text += aggregated(current);
    const cause = readMember(current, 'cause');
    if (cause === undefined) break;
    text += `\n[cause]: ${describe(cause)}`;
    current = cause;
  }
  return text.length > TEXT_CHARS_MAX ? `${slice(text, 0, TEXT_CHARS_MAX - 1)}…` : text;
}

const describe = (value: unknown): string => (isErrorLike(value) ? readStack(value) : inspect(value));

/** The members of an AggregateError. */
function aggregated(error: object): string {
  const errors = readMember(error, 'errors');
  let text = '';
  if (!isArray(errors)) return text;
  for (let i = 0; i < AGGREGATED_MAX; i++) {
    const member = readMember(errors, `${i}`);
    if (member === undefined) break;
    text += `\n[errors]: ${describe(member)}`;
  }
  return text;
}
