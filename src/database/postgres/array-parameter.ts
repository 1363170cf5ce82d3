/**
 * Writes the values of a column as an array in the binary format of PostgreSQL.
 *
 * Payloads are texts full of quotes: as the text of an array each quote is escaped here and parsed
 * there, character by character. In the binary format a text is its length and its bytes. See
 * `array_recv` in the source of PostgreSQL; the format has been the same since version 7.4.
 */
import type { ColumnValue, ValueType } from '../bulk.ts';

/** Object ids of the types of elements. */
const ELEMENTS: Readonly<Record<ValueType['type'], number>> = { text: 25, bigint: 20 };
/** Number of dimensions, a flag, the type, and the size and first index of the only dimension. */
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const BIGINT_BYTES = 8;
/** In place of the length of an element that is null. */
const NULL = -1;
const TWO_TO_32 = 2 ** 32;

/** @throws TypeError for a value that is not of the type */
export function arrayParameter(type: ValueType['type'], values: readonly ColumnValue[]): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + sizeOf(type, values));
  const hasNulls = values.includes(null) ? 1 : 0;
  let at = 0;
  for (const word of [1, hasNulls, ELEMENTS[type], values.length, 1]) at = bytes.writeInt32BE(word, at);
  for (const value of values) {
    if (value === null) at = bytes.writeInt32BE(NULL, at);
    else if (type === 'bigint') at = writeWhole(bytes, value, at);
    else at = writeText(bytes, String(value), at);
  }
  return bytes;
}

function sizeOf(type: ValueType['type'], values: readonly ColumnValue[]): number {
  let size = values.length * LENGTH_BYTES;
  for (const value of values)
    if (value !== null) size += type === 'bigint' ? BIGINT_BYTES : Buffer.byteLength(String(value));
  return size;
}

function writeWhole(bytes: Buffer, value: string | number, at: number): number {
  if (!Number.isSafeInteger(value)) throw new TypeError(`A whole number of a statement is ${typeof value}.`);
  const whole = value as number;
  const high = Math.floor(whole / TWO_TO_32);
  const after = bytes.writeInt32BE(BIGINT_BYTES, at);
  return bytes.writeUInt32BE(whole - high * TWO_TO_32, bytes.writeInt32BE(high, after));
}

function writeText(bytes: Buffer, text: string, at: number): number {
  const start = at + LENGTH_BYTES;
  const length = bytes.write(text, start);
  bytes.writeInt32BE(length, at);
  return start + length;
}
