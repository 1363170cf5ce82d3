/**
 * `calls` of a manifest (docs/contract/calls.md#calls-of-the-product): what the host product may
 * ask the code of an installation.
 */
import { DELAY, delayIn } from '../retry-schedule.ts';
import { checked, type Field, maps, optional, type ReadOf, text } from './field.ts';

const CALLS_MAX = 100;
const DESCRIPTION_CHARS_MAX = 2_048;
/** Also a segment of a URL, so that it needs no escapes. */
const CALL_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;
const CALL_NAME_WANTED = 'letters, digits, ".", "_" and "-", at most 64 characters';

const CALL = {
  name: text('Its name, for the product and for the code.', {
    pattern: CALL_NAME,
    wanted: CALL_NAME_WANTED,
  }),
  description: optional(text('What it answers.', { charsMax: DESCRIPTION_CHARS_MAX })),
  timeout: optional(
    text('How long the product waits, such as 5s. No call runs longer than its limits allow.', {
      pattern: DELAY,
      wanted: 'a time such as 5s or 1m',
    }),
  ),
};

/** A call that a manifest declares. */
export type DeclaredCall = ReadOf<typeof CALL>;

export const CALLS: Field<readonly DeclaredCall[]> = checked(
  maps(CALL, {
    item: 'A question of the product.',
    description: 'What the product may ask an installation, and its code answers.',
    max: CALLS_MAX,
  }),
  (calls, fields, key) => {
    const seen = new Set<string>();
    for (const [index, { name }] of calls.entries()) {
      if (seen.has(name)) fields.error([key, index, 'name'], `The name "${name}" is that of another call.`);
      seen.add(name);
    }
    return undefined;
  },
);

/** Milliseconds that the product waits; undefined where the limits of a call alone hold. */
export const callMs = ({ timeout }: DeclaredCall): number | undefined =>
  timeout === undefined ? undefined : delayIn(timeout);
