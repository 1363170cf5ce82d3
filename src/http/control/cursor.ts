/**
 * Cursors as they travel: the key of a page's last row, with four bytes that tell whether somebody has changed it.
 *
 * They keep nothing secret and grant nothing; whoever makes one up could ask for no row that a list does not show anyway.
 * They are there to be told from text that never was one, a cursor cut short for instance, which would else begin a page
 * somewhere.
 */
import { hash } from 'node:crypto';
import { AnnexError } from '../../errors.ts';

const CHECK_BYTES = 4;
/** Keys are names and ids. PostgreSQL refuses text with U+0000, for one. */
const KEY = /^[\x21-\x7e]+$/;

/** @param key of the last row of a page */
export const cursorOf = (key: string): string =>
  Buffer.concat([check(key), Buffer.from(key, 'utf8')]).toString('base64url');

/**
 * The key that a cursor stands for.
 *
 * @param shape what the keys of this list look like
 * @param part what the cursor came in
 * @throws `REQUEST_INVALID` where it is none
 */
export function keyOf(cursor: string, shape = KEY, part = 'query'): string {
  const bytes = Buffer.from(cursor, 'base64url');
  const key = bytes.subarray(CHECK_BYTES).toString('utf8');
  if (KEY.test(key) && shape.test(key) && check(key).equals(bytes.subarray(0, CHECK_BYTES))) return key;
  throw new AnnexError('REQUEST_INVALID', `${part}.cursor is not the \`next\` of a page of this list.`);
}

const check = (key: string): Buffer => hash('sha256', `cursor ${key}`, 'buffer').subarray(0, CHECK_BYTES);
