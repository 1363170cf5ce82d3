/**
 * Decoded views of a text, in which secrets are searched: JSON escapes removed once or twice,
 * percent- and form-decoded, base64-decoded at any offset.
 *
 * The text is decoded instead of encoding each secret, so the number of views does not depend on
 * the number of secrets. Each view maps every byte to its offset in the text. A view is only built
 * if there is something to decode, takes linear time, and is no longer than the text.
 */
import { NO_BYTE, type View } from './secret-search.ts';

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const PLUS = 0x2b;
const BLANK = 0x20;
const SMALL_U = 0x75;
const SMALL_X = 0x78;
/** Minimum length of a base64 run: eight characters are six bytes. */
const BASE64_CHARS_MIN = 8;

/**
 * By the letter after a backslash: its character code plus one, or 0. `u` and `x` are handled
 * separately.
 */
const ESCAPES = new Uint8Array(128);
for (const [letter, code] of Object.entries({ b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, 0: 0 }))
  ESCAPES[letter.charCodeAt(0)] = code + 1;
for (const letter of '"\'`\\/') ESCAPES[letter.charCodeAt(0)] = letter.charCodeAt(0) + 1;

/** By character of either base64 alphabet: its six-bit value plus one; 0 for all others. */
const SEXTETS = new Uint8Array(256);
for (const alphabet of ['+/', '-_'])
  for (const [bits, letter] of [
    ...`ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${alphabet}`,
  ].entries())
    SEXTETS[letter.charCodeAt(0)] = bits + 1;

/** A decoded view. In base64, six characters may be only four bytes. */
interface ReadView extends View {
  readonly isBase64: boolean;
}

/**
 * All views except the text itself. Views share memory: each is valid until the next is requested.
 */
export function* viewsOf(text: View): Generator<ReadView, undefined> {
  const { hasBackslash, hasPercent, hasPlus, runs } = survey(text);
  if (hasBackslash) {
    const once = unescaped(text, FIRST);
    yield once;
    if (once.has(BACKSLASH)) yield unescaped(once, SECOND);
  }
  if (hasPercent) yield percentDecoded(text, false);
  if (hasPlus) yield percentDecoded(text, true);
  if (runs.length === 0) return;
  for (let skipped = 0; skipped < 4; skipped += 1) yield base64Decoded(text, runs, skipped);
}

interface Survey {
  hasBackslash: boolean;
  hasPercent: boolean;
  hasPlus: boolean;
  /** Base64 runs, as a flat list: start, end (exclusive), start, … */
  readonly runs: number[];
}

/** Finds what there is to decode, in one pass. */
function survey({ bytes, length }: View): Survey {
  const found: Survey = { hasBackslash: false, hasPercent: false, hasPlus: false, runs: [] };
  let from = 0;
  for (let at = 0; at <= length; at += 1) {
    const code = at < length ? (bytes[at] ?? 0) : 0;
    if (code === PLUS) found.hasPlus = true;
    if (SEXTETS[code] !== 0) continue;
    if (code === BACKSLASH) found.hasBackslash = true;
    else if (code === PERCENT) found.hasPercent = true;
    if (at - from >= BASE64_CHARS_MIN) found.runs.push(from, at);
    from = at + 1;
  }
  return found;
}

/**
 * Reusable memory for views of texts of usual length: allocating it for each log line would take
 * longer than the search.
 */
class Scratch {
  readonly bytes: Uint8Array;
  readonly offsets: Int32Array;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.offsets = new Int32Array(size + 1);
  }
}
const SCRATCH_BYTES = 16 * 1024;
const FIRST = new Scratch(SCRATCH_BYTES);
const SECOND = new Scratch(SCRATCH_BYTES);

/** A view that is being written; never longer than its source. */
class Written implements ReadView {
  readonly bytes: Uint8Array;
  readonly offsets: Int32Array;
  readonly isBase64: boolean;
  readonly #from: View;
  length = 0;

  constructor(from: View, scratch: Scratch, isBase64 = false) {
    const memory = from.length <= SCRATCH_BYTES ? scratch : new Scratch(from.length);
    this.bytes = memory.bytes;
    this.offsets = memory.offsets;
    this.isBase64 = isBase64;
    this.#from = from;
  }

  has(code: number): boolean {
    for (let at = 0; at < this.length; at += 1) if (this.bytes[at] === code) return true;
    return false;
  }

  /** @param at offset of the byte in the source */
  push(code: number, at: number): void {
    this.bytes[this.length] = code;
    this.offsets[this.length] = this.#offset(at);
    this.length += 1;
  }

  /** Appends a character, in UTF-8. */
  pushCharacter(character: number, at: number): void {
    if (character < 0x80) return this.push(character, at);
    if (character < 0x800) {
      this.push(0xc0 | (character >> 6), at);
    } else {
      if (character < 0x10000) {
        this.push(0xe0 | (character >> 12), at);
      } else {
        this.push(0xf0 | (character >> 18), at);
        this.push(0x80 | ((character >> 12) & 63), at);
      }
      this.push(0x80 | ((character >> 6) & 63), at);
    }
    return this.push(0x80 | (character & 63), at);
  }

  /** Ends the view. @param at offset of its end in the source */
  end(at = this.#from.length): this {
    this.offsets[this.length] = this.#offset(at);
    return this;
  }

  #offset(at: number): number {
    return this.#from.offsets ? (this.#from.offsets[at] ?? 0) : at;
  }
}

/** Removes one level of JSON and JavaScript escapes. Other text is unchanged. */
function unescaped(text: View, scratch: Scratch): Written {
  const { bytes, length } = text;
  const into = new Written(text, scratch);
  for (let at = 0; at < length; ) {
    const code = bytes[at] ?? 0;
    const letter = at + 1 < length ? (bytes[at + 1] ?? 0) : 0;
    const simple = code === BACKSLASH && letter < 128 ? (ESCAPES[letter] ?? 0) : 0;
    if (simple > 0) {
      into.push(simple - 1, at);
      at += 2;
    } else if (code === BACKSLASH && (letter === SMALL_U || letter === SMALL_X)) {
      at = pushHexadecimal(text, at, letter === SMALL_U ? 4 : 2, into);
    } else {
      into.push(code, at);
      at += 1;
    }
  }
  return into.end();
}

/**
 * Decodes `\u` and `\x` escapes, including surrogate pairs.
 * @returns the offset after the escape
 */
function pushHexadecimal(text: View, at: number, digits: number, into: Written): number {
  const high = hexadecimal(text, at + 2, digits);
  const end = at + 2 + digits;
  if (high === -1) {
    into.push(BACKSLASH, at);
    return at + 1;
  }
  const isPair =
    high >= 0xd800 && high < 0xdc00 && text.bytes[end] === BACKSLASH && text.bytes[end + 1] === SMALL_U;
  const low = isPair ? hexadecimal(text, end + 2, 4) : -1;
  if (low >= 0xdc00 && low < 0xe000) {
    into.pushCharacter(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), at);
    return end + 6;
  }
  into.pushCharacter(high >= 0xd800 && high < 0xe000 ? 0xfffd : high, at);
  return end;
}

/** @param toBlanks whether a plus is a blank, as in form encoding */
function percentDecoded(text: View, toBlanks: boolean): Written {
  const { bytes, length } = text;
  const into = new Written(text, FIRST);
  for (let at = 0; at < length; ) {
    const code = bytes[at] ?? 0;
    const byte = code === PERCENT ? hexadecimal(text, at + 1, 2) : -1;
    into.push(byte === -1 ? (toBlanks && code === PLUS ? BLANK : code) : byte, at);
    at += byte === -1 ? 1 : 3;
  }
  return into.end();
}

/** @returns the number, or -1 where there are fewer hexadecimal digits */
function hexadecimal({ bytes, length }: View, from: number, digits: number): number {
  if (from + digits > length) return -1;
  let number = 0;
  for (let at = from; at < from + digits; at += 1) {
    const code = bytes[at] ?? 0;
    const letter = code | 0x20;
    if (code >= 0x30 && code <= 0x39) number = number * 16 + code - 0x30;
    else if (letter >= 0x61 && letter <= 0x66) number = number * 16 + letter - 0x57;
    else return -1;
  }
  return number;
}

/**
 * @param skipped characters to skip at the start of each run: its alignment to groups of four is
 * unknown
 */
function base64Decoded(text: View, runs: readonly number[], skipped: number): Written {
  const into = new Written(text, FIRST, true);
  for (let run = 0; run < runs.length; run += 2) {
    const end = runs[run + 1] ?? 0;
    let held = 0;
    let bits = 0;
    let from = (runs[run] ?? 0) + skipped;
    for (let at = from; at < end; at += 1) {
      held = ((held << 6) | ((SEXTETS[text.bytes[at] ?? 0] ?? 1) - 1)) & 0xffff;
      bits += 6;
      if (bits < 8) continue;
      bits -= 8;
      into.push((held >> bits) & 0xff, from);
      // The remaining bits belong to the next byte.
      from = bits === 0 ? at + 1 : at;
    }
    into.push(NO_BYTE, end);
  }
  return into.end();
}
