/**
 * DER (X.690) as far as keys and signatures need it, and PEM (RFC 7468).
 */
import { Buffer, type Bytes } from './buffer.ts';

export const [INTEGER, BIT_STRING, OCTET_STRING, NULL, OID, SEQUENCE] = [2, 3, 4, 5, 6, 0x30] as const;
/** The tag of a constructed member that only its number names. */
export const numbered = (number: number): number => 0xa0 + number;

export function der(tag: number, ...parts: readonly Uint8Array[]): Bytes {
  const content = Buffer.concat(parts);
  const size = content.length;
  const digits = size < 128 ? '' : bytesOfNumber(BigInt(size)).toString('hex');
  const length = digits === '' ? [size] : [0x80 + digits.length / 2, ...Buffer.from(digits, 'hex')];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

export const derOid = (hex: string): Bytes => der(OID, Buffer.from(hex, 'hex'));
export const derNull = (): Bytes => der(NULL);
export const derBits = (bytes: Uint8Array): Bytes => der(BIT_STRING, Buffer.from([0]), bytes);
export function derInteger(value: bigint): Bytes {
  const bytes = bytesOfNumber(value);
  return der(INTEGER, (bytes[0] as number) > 127 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

/** The elements of some DER, one after the other. */
export class DerReader {
  readonly #bytes: Bytes;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset as never, bytes.length);
  }

  /** The tag of the next element; undefined at the end. */
  get tag(): number | undefined {
    return this.#bytes[this.#at];
  }

  /** The whole next element. @param tag that it must have */
  element(tag = this.tag): Bytes {
    const [from, end] = this.#content(tag);
    const whole = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return from <= end ? whole : fail();
  }

  /** What is in the next element. @param tag that it must have */
  content(tag: number): Bytes {
    const [from, end] = this.#content(tag);
    this.#at = end;
    return this.#bytes.subarray(from, end);
  }

  inner(tag: number): DerReader {
    return new DerReader(this.content(tag));
  }

  integer(): bigint {
    return numberOf(this.content(INTEGER));
  }

  oid(): string {
    return this.content(OID).toString('hex');
  }

  bits(): Bytes {
    return this.content(BIT_STRING).subarray(1);
  }

  #content(tag: number | undefined): [from: number, end: number] {
    const bytes = this.#bytes;
    if (tag === undefined || bytes[this.#at] !== tag) return fail();
    const first = bytes[this.#at + 1] ?? fail();
    const digits = first < 128 ? 0 : first - 128;
    const from = this.#at + 2 + digits;
    const size = digits === 0 ? first : Number(numberOf(bytes.subarray(this.#at + 2, from)));
    return from + size <= bytes.length ? [from, from + size] : fail();
  }
}

function fail(): never {
  throw new RangeError('not DER');
}

export const numberOf = (bytes: Uint8Array): bigint =>
  bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`);

/** @param size of the result; as few bytes as possible without it */
export function bytesOfNumber(value: bigint, size = 0): Bytes {
  const digits = value.toString(16);
  return Buffer.from(digits.padStart(Math.max(size * 2, digits.length + (digits.length % 2)), '0'), 'hex');
}

export interface Pem {
  readonly label: string;
  readonly headers: string;
  readonly bytes: Bytes;
}

/** The first block of a text; undefined where there is none. */
export function readPem(text: string): Pem | undefined {
  const start = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(text);
  if (start === null) return undefined;
  const [line, label = ''] = start;
  const body = text.slice(start.index + line.length);
  const end = body.indexOf(`-----END ${label}-----`);
  if (end < 0) return undefined;
  const [, headers = '', base64 = ''] = /^(\s*(?:[\w-]+: [^\n]*\n)*)([^:]*)$/.exec(body.slice(0, end)) ?? [];
  return { label, headers, bytes: Buffer.from(base64, 'base64') };
}

export function writePem(label: string, bytes: Bytes, headers = ''): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...(headers === '' ? [] : [headers, '']), ...lines]
    .concat(`-----END ${label}-----`, '')
    .join('\n');
}
