/**
 * The numbers in a buffer: `readUInt16LE`, `writeDoubleBE` and all others, made of a table. Checks
 * and messages are those of Node.js.
 */
import { invalidArgType, nodeError, outOfRange, validateNumber } from './errors.ts';

type Method = (this: Uint8Array, ...values: never[]) => unknown;

export const outOfBounds = (name?: string): Error =>
  nodeError(
    RangeError,
    'ERR_BUFFER_OUT_OF_BOUNDS',
    name === undefined
      ? 'Attempt to access memory outside buffer bounds'
      : `"${name}" is outside of buffer bounds`,
  );

/** What is wrong with an offset or a size. @param max the largest one */
function beyond(value: number, max: number, name = 'offset'): Error {
  if (!Number.isInteger(value) && Number.isFinite(value)) return outOfRange(name, 'an integer', value);
  if (Number.isNaN(value)) return outOfRange(name, 'an integer', value);
  if (max < 0) return outOfBounds();
  return outOfRange(name, `>= ${name === 'offset' ? 0 : 1} and <= ${max}`, value);
}

function checkOffset(bytes: Uint8Array, offset: unknown, size: number): asserts offset is number {
  validateNumber(offset, 'offset');
  if (bytes[offset] === undefined || bytes[offset + size - 1] === undefined) {
    throw beyond(offset, bytes.length - size);
  }
}

interface Place {
  readonly offset: number;
  readonly size: number;
  readonly little: boolean;
}

/** The bytes as one number without a sign; up to six. */
function unsigned(bytes: Uint8Array, { offset, size, little }: Place): number {
  let value = 0;
  for (let at = 0; at < size; at++) {
    value = value * 256 + (bytes[offset + (little ? size - 1 - at : at)] as number);
  }
  return value;
}

function put(bytes: Uint8Array, { offset, size, little }: Place, value: number): number {
  let rest = value;
  for (let at = 0; at < size; at++) {
    bytes[offset + (little ? at : size - 1 - at)] = rest;
    rest = Math.floor(rest / 256);
  }
  return offset + size;
}

function checkValue(value: number | bigint, bits: number, signed: boolean): void {
  const n = typeof value === 'bigint' ? 'n' : '';
  const [min, max] = signed
    ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]
    : [0n, 2n ** BigInt(bits) - 1n];
  if (!(value < min || value > max)) return;
  const power = `2${n} ** ${signed ? bits - 1 : bits}${n}`;
  const large = signed ? `>= -(${power}) and < ${power}` : `>= 0${n} and < ${power}`;
  throw outOfRange('value', bits > 32 ? large : `>= ${min} and <= ${max}`, value);
}

/** Integers of up to six bytes. `size` is fixed by the name of the method, or its last argument. */
function integers(signed: boolean, little: boolean, fixed?: number): [read: Method, write: Method] {
  const sizeOf = (offset: unknown, given: unknown): number => {
    if (fixed !== undefined) return fixed;
    if (offset === undefined) throw invalidArgType('offset', 'number', offset);
    validateNumber(given, 'byteLength');
    if (!Number.isInteger(given) || given < 1 || given > 6) throw beyond(given, 6, 'byteLength');
    return given;
  };
  return [
    function (this: Uint8Array, given?: unknown, length?: unknown) {
      const size = sizeOf(given, length);
      const offset = given === undefined ? 0 : given;
      checkOffset(this, offset, size);
      const value = unsigned(this, { offset, size, little });
      return signed && value >= 2 ** (size * 8 - 1) ? value - 2 ** (size * 8) : value;
    },
    function (this: Uint8Array, given: unknown, place?: unknown, length?: unknown) {
      const value = Number(given);
      const size = fixed ?? sizeOf(place, length);
      const offset = place === undefined ? 0 : place;
      if (size === 1) validateNumber(offset, 'offset');
      checkValue(value, size * 8, signed);
      checkOffset(this, offset, size);
      return put(this, { offset, size, little }, Number.isFinite(value) ? Math.trunc(value) : 0);
    },
  ];
}

function bigIntegers(signed: boolean, little: boolean): [read: Method, write: Method] {
  return [
    function (this: Uint8Array, offset: unknown = 0) {
      checkOffset(this, offset, 8);
      const low = BigInt(unsigned(this, { offset: offset + (little ? 0 : 4), size: 4, little }));
      const high = BigInt(unsigned(this, { offset: offset + (little ? 4 : 0), size: 4, little }));
      const value = (high << 32n) | low;
      return signed ? BigInt.asIntN(64, value) : value;
    },
    function (this: Uint8Array, value: bigint, offset: unknown = 0) {
      checkValue(value, 64, signed);
      checkOffset(this, offset, 8);
      // `&` and `>>` with a bigint throw a TypeError for a value of another type, as in Node.js.
      put(this, { offset: offset + (little ? 0 : 4), size: 4, little }, Number(value & 0xffffffffn));
      put(this, { offset: offset + (little ? 4 : 0), size: 4, little }, Number((value >> 32n) & 0xffffffffn));
      return offset + 8;
    },
  ];
}

function floats(little: boolean, size: 4 | 8): [read: Method, write: Method] {
  const view = (bytes: Uint8Array, offset: number) =>
    new DataView(bytes.buffer, bytes.byteOffset + offset, size);
  return [
    function (this: Uint8Array, offset: unknown = 0) {
      checkOffset(this, offset, size);
      const data = view(this, offset);
      return size === 4 ? data.getFloat32(0, little) : data.getFloat64(0, little);
    },
    function (this: Uint8Array, given: unknown, offset: unknown = 0) {
      const value = Number(given);
      checkOffset(this, offset, size);
      const data = view(this, offset);
      if (size === 4) data.setFloat32(0, value, little);
      else data.setFloat64(0, value, little);
      return offset + size;
    },
  ];
}

/** All methods of numbers, by their names. */
export function numberMethods(): Record<string, Method> {
  const methods: Record<string, Method> = {};
  const add = (name: string, [read, write]: [Method, Method]): void => {
    for (const alias of new Set([name, name.replace('UInt', 'Uint')])) {
      methods[`read${alias}`] = Object.defineProperty(read, 'name', { value: `read${name}` });
      methods[`write${alias}`] = Object.defineProperty(write, 'name', { value: `write${name}` });
    }
  };
  for (const signed of [false, true]) {
    const kind = signed ? 'Int' : 'UInt';
    add(`${kind}8`, integers(signed, true, 1));
    for (const little of [true, false]) {
      const order = little ? 'LE' : 'BE';
      add(`${kind}${order}`, integers(signed, little));
      add(`${kind}16${order}`, integers(signed, little, 2));
      add(`${kind}32${order}`, integers(signed, little, 4));
      add(`Big${kind}64${order}`, bigIntegers(signed, little));
      if (!signed) continue;
      add(`Float${order}`, floats(little, 4));
      add(`Double${order}`, floats(little, 8));
    }
  }
  return methods;
}
