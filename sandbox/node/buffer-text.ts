/**
 * The encodings of `node:buffer`: text to bytes and back, as Node.js reads and writes them
 * (https://nodejs.org/api/buffer.html#buffers-and-character-encodings).
 */

type Bytes = Uint8Array<ArrayBuffer>;

export interface Encoding {
  readonly name: string;
  /** Bytes of a text. */
  length(text: string): number;
  bytes(text: string): Bytes;
  text(bytes: Uint8Array): string;
  /** Writes whole characters, as many as fit. @returns bytes */
  write(target: Uint8Array, text: string): number;
}

const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder('utf-8', { ignoreBOM: true });
/** Arguments of one call of `String.fromCharCode`. */
const CODES_MAX = 4_096;

/** A text of the numbers that `at` has for each character. */
function textOfCodes(length: number, at: (index: number) => number): string {
  const parts: string[] = [];
  for (let from = 0; from < length; from += CODES_MAX) {
    const codes: number[] = [];
    for (let index = from; index < Math.min(from + CODES_MAX, length); index++) codes.push(at(index));
    parts.push(String.fromCharCode(...codes));
  }
  return parts.join('');
}

/** An encoding that is written like its bytes: as many as fit, in units of `unit` bytes. */
const whole = (name: string, unit: number, parts: Pick<Encoding, 'length' | 'bytes' | 'text'>): Encoding => ({
  name,
  ...parts,
  write(target, text) {
    const bytes = parts.bytes(text);
    const size = Math.min(bytes.length, target.length - (target.length % unit));
    target.set(size < bytes.length ? bytes.subarray(0, size) : bytes);
    return size;
  },
});

const codeUnits = (text: string): Bytes => {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
};

const utf8: Encoding = {
  name: 'utf8',
  length(text) {
    let bytes = text.length;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code < 0x80) continue;
      bytes += code < 0x800 ? 1 : 2;
      const pair = code >= 0xd800 && code < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
      // Two units are four bytes.
      if (pair) at += 1;
    }
    return bytes;
  },
  bytes: (text) => utf8Encoder.encode(text),
  text: (bytes) => utf8Decoder.decode(bytes),
  write: (target, text) => utf8Encoder.encodeInto(text, target).written,
};

const latin1 = whole('latin1', 1, {
  length: (text) => text.length,
  bytes: codeUnits,
  text: (bytes) => textOfCodes(bytes.length, (at) => bytes[at] as number),
});

const ascii: Encoding = {
  ...latin1,
  name: 'ascii',
  text: (bytes) => textOfCodes(bytes.length, (at) => (bytes[at] as number) & 0x7f),
};

const utf16le = whole('utf16le', 2, {
  length: (text) => text.length * 2,
  bytes(text) {
    const bytes = new Uint8Array(text.length * 2);
    for (let at = 0; at < text.length; at++) {
      bytes[at * 2] = text.charCodeAt(at);
      bytes[at * 2 + 1] = text.charCodeAt(at) >> 8;
    }
    return bytes;
  },
  text: (bytes) =>
    textOfCodes(
      Math.floor(bytes.length / 2),
      (at) => (bytes[at * 2] as number) | ((bytes[at * 2 + 1] as number) << 8),
    ),
});

const hex = whole('hex', 1, {
  length: (text) => text.length >>> 1,
  /** What comes before the first pair that is none. */
  bytes(text) {
    const pairs = new Uint8Array(text.length >>> 1);
    for (let at = 0; at < pairs.length; at++) {
      const byte = digit(text.charCodeAt(at * 2)) * 16 + digit(text.charCodeAt(at * 2 + 1));
      if (Number.isNaN(byte)) return pairs.slice(0, at);
      pairs[at] = byte;
    }
    return pairs;
  },
  text(bytes) {
    const parts: string[] = [];
    for (const byte of bytes) parts.push(HEX[byte] as string);
    return parts.join('');
  },
});
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function digit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const letter = code | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : Number.NaN;
}

const base64 = (name: string, alphabet: string, padding: string): Encoding =>
  whole(name, 1, {
    length(text) {
      const padded = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
      return ((text.length - padded) * 3) >>> 2;
    },
    bytes: bytesOfBase64,
    text(bytes) {
      const parts: string[] = [];
      for (let at = 0; at < bytes.length; at += 3) {
        const [one = 0, two = 0, three = 0] = [bytes[at], bytes[at + 1], bytes[at + 2]];
        const group = (one << 16) | (two << 8) | three;
        const letters = (alphabet[group >> 18] ?? '') + (alphabet[(group >> 12) & 63] ?? '');
        const third = at + 1 < bytes.length ? alphabet[(group >> 6) & 63] : padding;
        parts.push(letters, third ?? '', (at + 2 < bytes.length ? alphabet[group & 63] : padding) ?? '');
      }
      return parts.join('');
    },
  });

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const SEXTETS = new Int8Array(128).fill(-1);
for (const [at, letter] of [...`${LETTERS}+/`].entries()) SEXTETS[letter.charCodeAt(0)] = at;
SEXTETS[45] = 62;
SEXTETS[95] = 63;

/** Reads both alphabets up to the first `=`, and passes over what is in none. */
function bytesOfBase64(text: string): Bytes {
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4));
  let [length, bits, value]: [number, number, number] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 61) break;
    const sextet = SEXTETS[code] ?? -1;
    if (sextet < 0) continue;
    value = ((value << 6) | sextet) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[length++] = value >> bits;
  }
  return length === bytes.length ? bytes : bytes.slice(0, length);
}

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  __proto__: null as never,
  utf8,
  'utf-8': utf8,
  ucs2: utf16le,
  'ucs-2': utf16le,
  utf16le,
  'utf-16le': utf16le,
  latin1,
  binary: latin1,
  ascii,
  hex,
  base64: base64('base64', `${LETTERS}+/`, '='),
  base64url: base64('base64url', `${LETTERS}-_`, ''),
};

/** The encoding of a name, in letters of any case; undefined for an unknown one. */
export const encodingNamed = (name: unknown): Encoding | undefined =>
  name === undefined || name === 'utf8'
    ? utf8
    : (ENCODINGS[String(name)] ?? ENCODINGS[String(name).toLowerCase()]);
