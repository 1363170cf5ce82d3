/**
 * Checks whether bytes are JSON in UTF-8 (RFC 8259) that is not nested too deep: in steps, and
 * without building values.
 *
 * Attack: eight mebibytes of `{},{},…`. Parsing them makes millions of objects, and blocks the
 * event loop for half a second. For answers that are passed on; what is read is parsed.
 */
import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { JSON_DEPTH_MAX } from './json-depth.ts';

/** Bytes between two turns of the event loop. */
export const BYTES_PER_STEP = 256 * 1024;

/** `broken`: it is not JSON, or not UTF-8. `tooMany`: it has more objects and lists than may be. */
export type JsonForm = 'json' | 'tooDeep' | 'tooMany' | 'broken';

type Expected = 'value' | 'valueOrEnd' | 'name' | 'nameOrEnd' | 'colon' | 'comma' | 'nothing';

/** ASCII. */
const [TAB, LINE_FEED, RETURN, BLANK, QUOTE, BACKSLASH] = [0x09, 0x0a, 0x0d, 0x20, 0x22, 0x5c] as const;
const [COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d,
] as const;
const [PLUS, MINUS, DOT, ZERO, NINE, CAPITAL_E, SMALL_E, SMALL_U] = [
  0x2b, 0x2d, 0x2e, 0x30, 0x39, 0x45, 0x65, 0x75,
] as const;
const ESCAPED: ReadonlySet<number | undefined> = new Set(Buffer.from('"\\/bfnrtu'));
const HEX = /^[0-9a-fA-F]{4}$/;
const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word));

/** @param objectsMax objects and lists that it may have */
export async function jsonForm(text: Buffer, objectsMax?: number): Promise<JsonForm> {
  const steps = jsonSteps(text, objectsMax);
  let step = steps.next();
  for (; !step.done; step = steps.next()) await nextTurn();
  return step.value;
}

/** The same in steps, between which the caller yields to the event loop. */
export function* jsonSteps(
  text: Buffer,
  objectsMax = Number.POSITIVE_INFINITY,
): Generator<void, JsonForm, void> {
  if (!isUtf8(text)) return 'broken';
  const open: number[] = [];
  let expected: Expected = 'value';
  let objects = 0;
  let step = BYTES_PER_STEP;
  for (let at = 0; ; ) {
    while (isSpace(text[at])) at += 1;
    if (at >= step) {
      step = at + BYTES_PER_STEP;
      yield;
    }
    if (at >= text.length) return expected === 'nothing' ? 'json' : 'broken';
    const first = text[at] ?? 0;
    const inside = open[open.length - 1];
    if (first === OPEN_LIST || first === OPEN_OBJECT) {
      if (expected !== 'value' && expected !== 'valueOrEnd') return 'broken';
      if (open.push(first) > JSON_DEPTH_MAX) return 'tooDeep';
      objects += 1;
      if (objects > objectsMax) return 'tooMany';
      expected = first === OPEN_LIST ? 'valueOrEnd' : 'nameOrEnd';
      at += 1;
    } else if (first === CLOSE_LIST || first === CLOSE_OBJECT) {
      const isList = first === CLOSE_LIST;
      if (inside !== (isList ? OPEN_LIST : OPEN_OBJECT)) return 'broken';
      if (expected !== 'comma' && expected !== (isList ? 'valueOrEnd' : 'nameOrEnd')) return 'broken';
      open.pop();
      expected = open.length === 0 ? 'nothing' : 'comma';
      at += 1;
    } else if (first === COMMA || first === COLON) {
      if (expected !== (first === COMMA ? 'comma' : 'colon')) return 'broken';
      expected = first === COMMA && inside === OPEN_OBJECT ? 'name' : 'value';
      at += 1;
    } else {
      const isName: boolean = expected === 'name' || expected === 'nameOrEnd';
      if (!isName && expected !== 'value' && expected !== 'valueOrEnd') return 'broken';
      if (isName && first !== QUOTE) return 'broken';
      const end: number = first === QUOTE ? endOfString(text, at) : endOfPlain(text, at);
      if (end < 0) return 'broken';
      const after = inside === undefined ? 'nothing' : 'comma';
      expected = isName ? 'colon' : after;
      at = end;
    }
  }
}

/** @returns where it ends; negative if it is none */
function endOfString(text: Buffer, from: number): number {
  for (let at = from + 1; ; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) return at + 1;
    // Also the end of the text.
    if (byte < BLANK) return -1;
    if (byte !== BACKSLASH) continue;
    at += 1;
    if (!ESCAPED.has(text[at])) return -1;
    if (text[at] !== SMALL_U) continue;
    if (!HEX.test(text.toString('latin1', at + 1, at + 5))) return -1;
    at += 4;
  }
}

/** Of a number, or of `true`, `false` or `null`. @returns where it ends; negative if it is none */
function endOfPlain(text: Buffer, from: number): number {
  const word = WORDS.find(([first]) => first === text[from]);
  if (word !== undefined)
    return word.every((byte, index) => byte === text[from + index]) ? from + word.length : -1;
  let at = text[from] === MINUS ? from + 1 : from;
  at = text[at] === ZERO ? at + 1 : endOfDigits(text, at);
  if (at >= 0 && text[at] === DOT) at = endOfDigits(text, at + 1);
  if (at < 0 || (text[at] !== SMALL_E && text[at] !== CAPITAL_E)) return at;
  return endOfDigits(text, text[at + 1] === PLUS || text[at + 1] === MINUS ? at + 2 : at + 1);
}

/** @returns where they end; negative if there is none */
function endOfDigits(text: Buffer, from: number): number {
  let end = from;
  for (let byte = text[end] ?? 0; byte >= ZERO && byte <= NINE; byte = text[end] ?? 0) end += 1;
  return end === from ? -1 : end;
}

const isSpace = (byte: number | undefined): boolean =>
  byte === BLANK || byte === LINE_FEED || byte === RETURN || byte === TAB;
