/**
 * Encodes cursors: the key of a page's last row, with four check bytes.
 *
 * A cursor contains no secret and grants nothing: a forged one selects only rows that the list
 * shows anyway. The check bytes detect text that never was a cursor, such as a truncated one, which
 * would otherwise begin a page at a random row.
 */
import { hash } from 'node:crypto';
import { AnnexError } from '../../errors.ts';

const CHECK_BYTES = 4;
/** Keys are names and ids. PostgreSQL refuses text with U+0000, for example. */
const KEY = /^[\x21-\x7e]+$/;

/** @param key of the last row of a page */
export const cursorOf = (key: string): string =>
  Buffer.concat([check(key), Buffer.from(key, 'utf8')]).toString('base64url');

/**
 * The key that a cursor encodes.
 *
 * @param shape of the keys of this list
 * @param where the cursor is in the request
 * @throws AnnexError REQUEST_INVALID if it is no cursor of this list
 */
export function keyOf(cursor: string, shape = KEY, where = 'query.cursor'): string {
  const bytes = Buffer.from(cursor, 'base64url');
  const key = bytes.subarray(CHECK_BYTES).toString('utf8');
  if (KEY.test(key) && shape.test(key) && check(key).equals(bytes.subarray(0, CHECK_BYTES))) return key;
  throw new AnnexError(
    'REQUEST_INVALID',
    `${where} is not the \`next\` of a page of this list: send a \`next\` unchanged, or leave it out.`,
  );
}

const check = (key: string): Buffer => hash('sha256', `cursor ${key}`, 'buffer').subarray(0, CHECK_BYTES);
