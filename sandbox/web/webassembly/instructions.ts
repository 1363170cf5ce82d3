/**
 * The instructions of WebAssembly 2.0 with tail calls, exceptions and relaxed vectors: how many
 * bytes follow each, how it changes the height of the stack, and what the engine's code for it
 * weighs. An instruction that is not here is refused
 * (https://webassembly.github.io/spec/core/binary/instructions.html).
 */
import type { WebAssemblyNeeds } from './needs.ts';

declare const needs: WebAssemblyNeeds;
const { Int8ArrayIntrinsic, Uint8ArrayIntrinsic } = needs;

/** What follows an instruction. `OTHER` is read by its own rule, `REFUSED` is unknown. */
export const REFUSED = 0;
export const OTHER = 1;
export const NOTHING = 2;
export const INDEX = 3;
export const ADDRESS = 4;
export const INTEGER = 5;
export const FOUR_BYTES = 6;
export const EIGHT_BYTES = 7;
export const TWO_INDICES = 8;
export const SIXTEEN_BYTES = 9;
export const LANE = 10;
export const ADDRESS_AND_LANE = 11;

export interface Instructions {
  readonly count: number;
  readonly follows: Uint8Array;
  /** Change of the height of the stack. */
  readonly height: Int8Array;
  /** Code of the engine, in units of about eight bytes. */
  readonly weight: Uint8Array;
}

/** Rows: first and last instruction, what follows, height, weight. */
type Rows = Readonly<
  Record<string, readonly [last: number, follows: number, height: number, weight?: number]>
>;

function instructions(rows: Rows, count: number): Instructions {
  const follows = new Uint8ArrayIntrinsic(count);
  const height = new Int8ArrayIntrinsic(count);
  const weight = new Uint8ArrayIntrinsic(count);
  for (let first = 0; first < count; first++) {
    const row = rows[first];
    if (row === undefined) continue;
    for (let at = first; at <= row[0]; at++) {
      follows[at] = row[1];
      height[at] = row[2];
      weight[at] = row[3] ?? 1;
    }
  }
  return { count, follows, height, weight };
}

export const PLAIN = instructions(
  {
    __proto__: null as never,
    0: [0x01, NOTHING, 0],
    2: [0x15, OTHER, 0],
    24: [0x19, OTHER, 0],
    26: [0x1a, NOTHING, -1],
    27: [0x1b, NOTHING, -2],
    28: [0x1c, OTHER, -2],
    31: [0x1f, OTHER, 0],
    // Locals, globals, tables.
    32: [0x20, INDEX, 1],
    33: [0x21, INDEX, -1],
    34: [0x22, INDEX, 0],
    35: [0x23, INDEX, 1],
    36: [0x24, INDEX, -1],
    37: [0x25, INDEX, 0, 4],
    38: [0x26, INDEX, -2, 4],
    // Memory.
    40: [0x35, ADDRESS, 0],
    54: [0x3e, ADDRESS, -2],
    63: [0x40, OTHER, 0],
    // Constants.
    65: [0x42, INTEGER, 1],
    67: [0x43, FOUR_BYTES, 1],
    68: [0x44, EIGHT_BYTES, 1],
    // Numbers: comparisons, arithmetic, conversions.
    69: [0x45, NOTHING, 0],
    70: [0x4f, NOTHING, -1],
    80: [0x50, NOTHING, 0],
    81: [0x66, NOTHING, -1],
    103: [0x69, NOTHING, 0],
    106: [0x6c, NOTHING, -1],
    109: [0x70, NOTHING, -1, 6],
    113: [0x78, NOTHING, -1],
    121: [0x7b, NOTHING, 0],
    124: [0x7e, NOTHING, -1],
    127: [0x82, NOTHING, -1, 6],
    131: [0x8a, NOTHING, -1],
    139: [0x91, NOTHING, 0],
    146: [0x98, NOTHING, -1],
    153: [0x9f, NOTHING, 0],
    160: [0xa6, NOTHING, -1],
    167: [0xb1, NOTHING, 0, 10],
    178: [0xc4, NOTHING, 0, 3],
    // References.
    208: [0xd0, OTHER, 1],
    209: [0xd1, NOTHING, 0],
    210: [0xd2, INDEX, 1, 4],
    // The two prefixes.
    252: [0xfd, OTHER, 0],
  },
  256,
);

/** Behind 0xFC: saturating conversions, bulk memory, tables. */
export const BULK = instructions(
  {
    __proto__: null as never,
    0: [7, NOTHING, 0, 10],
    8: [8, TWO_INDICES, -3, 6],
    9: [9, INDEX, 0, 4],
    10: [10, TWO_INDICES, -3, 6],
    11: [11, INDEX, -3, 6],
    12: [12, TWO_INDICES, -3, 6],
    13: [13, INDEX, 0, 4],
    14: [14, TWO_INDICES, -3, 6],
    15: [15, INDEX, -1, 6],
    16: [16, INDEX, 1],
    17: [17, INDEX, -3, 6],
  },
  18,
);

/** Behind 0xFD: vectors. A height may be one too high: an upper bound is what is needed. */
export const VECTOR = instructions(
  {
    __proto__: null as never,
    0: [10, ADDRESS, 0],
    11: [11, ADDRESS, -2],
    12: [12, SIXTEEN_BYTES, 1, 3],
    13: [13, SIXTEEN_BYTES, -1, 6],
    14: [14, NOTHING, -1, 2],
    15: [20, NOTHING, 0, 2],
    21: [22, LANE, 0],
    23: [23, LANE, -1],
    24: [25, LANE, 0],
    26: [26, LANE, -1],
    27: [27, LANE, 0],
    28: [28, LANE, -1],
    29: [29, LANE, 0],
    30: [30, LANE, -1],
    31: [31, LANE, 0],
    32: [32, LANE, -1],
    33: [33, LANE, 0],
    34: [34, LANE, -1],
    35: [76, NOTHING, -1, 2],
    77: [77, NOTHING, 0, 2],
    78: [81, NOTHING, -1, 2],
    82: [82, NOTHING, -2, 2],
    83: [83, NOTHING, 0, 2],
    84: [87, ADDRESS_AND_LANE, -1, 2],
    88: [91, ADDRESS_AND_LANE, -2, 2],
    92: [93, ADDRESS, 0],
    94: [275, NOTHING, 0, 5],
  },
  276,
);
