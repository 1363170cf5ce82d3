/**
 * A decoder of Brotli (RFC 7932) for `node:zlib`. It takes its input in pieces of any size: each
 * step reads all bits that it needs before it changes anything, and is begun again where they have
 * not come yet.
 *
 * It runs in the isolate, so that its CPU and memory are the call's own. The window grows with what
 * was decoded, whatever the input says of its size.
 */
import tables from 'node-tables/brotli.json';
import constants from 'node-tables/zlib.json';
import { inflateRaw } from 'pako';
import { COPIES, INSERTS, type Ranges, rangesFrom } from './brotli-encoder.ts';
import { Buffer } from './buffer.ts';

/** Thrown where the input ends in the middle of a step. */
const MORE = Symbol('more');

/** Data that is not valid, with the name that Node.js has for the reason. */
function invalid(reason: string): Error {
  const name = `_ERROR_FORMAT_${reason}`;
  const errno = constants[`BROTLI_DECODER${name}`];
  return Object.assign(new Error('Decompression failed'), { errno, code: `ERR_${name}` });
}

/** Blocks of this many commands or bytes (section 6). */
const COUNTS = /* @__PURE__ */ rangesFrom(
  1,
  [2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 7, 8, 9, 10, 11, 12, 13, 24],
);
const LENGTH_ORDER = [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/** The codes of both lengths that a group of 64 symbols begins with. */
const INSERT_CELLS = [0, 0, 0, 0, 8, 8, 0, 16, 8, 16, 16];
const COPY_CELLS = [0, 8, 0, 8, 0, 8, 16, 0, 16, 8, 16];
/** Which of the last distances a short code means, and what is added to it (section 4). */
const SHORT_FROM = [0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1];
const SHORT_PLUS = [0, 0, 0, 0, -1, 1, -2, 2, -3, 3, -1, 1, -2, 2, -3, 3];
/** Binary digits of the number of words of a length, and where they begin (section 8). */
const WORD_BITS = [0, 0, 0, 0, 10, 10, 11, 11, 10, 10, 10, 10, 10, 9, 9, 8, 7, 7, 8, 7, 7, 6, 6, 5, 5];
const WORDS_AT = /* @__PURE__ */ WORD_BITS.map((_, length) =>
  WORD_BITS.slice(0, length).reduce((sum, bits, at) => sum + (bits > 0 ? at * 2 ** bits : 0), 0),
);

let words: Uint8Array | undefined;
const dictionary = (): Uint8Array => {
  words ??= inflateRaw(Buffer.from(tables.words, 'base64'));
  return words;
};

/** Classes of ASCII as the last byte, where the context is text (section 7.1). */
const LAST =
  '000000000110010000000000000000002343353467338393bbbbbbbbbb886a733cdddcdddcdddddcdddddcddddd637333efffefffefffffefffffefffff63730';
const textClass = (byte: number): number =>
  byte < 128 ? Number.parseInt(LAST[byte] as string, 16) * 4 : (byte & 1) + (byte < 192 ? 0 : 2);
function textClassBefore(byte: number): number {
  if (byte > 127) return byte < 224 ? 0 : 2;
  if (byte < 33 || byte === 127) return 0;
  const character = String.fromCharCode(byte);
  return /[a-z]/.test(character) ? 3 : /[A-Z0-9]/.test(character) ? 2 : 1;
}
/** The same for numbers. */
const signedClass = (byte: number): number =>
  [1, 16, 64, 128, 192, 240, 255].filter((from) => byte >= from).length;

type ByByte = (byte: number) => number;
/** Mode → what the last byte and the one before say of the context. */
const CONTEXTS: readonly (readonly [last: ByByte, before: ByByte])[] = [
  [(byte) => byte & 63, () => 0],
  [(byte) => byte >> 2, () => 0],
  [textClass, textClassBefore],
  [(byte) => signedClass(byte) << 3, signedClass],
];
const contextTables: Uint8Array[][] = [];
function contextsOf(mode: number): Uint8Array[] {
  contextTables[mode] ??= (CONTEXTS[mode] ?? []).map((classOf) =>
    Uint8Array.from({ length: 256 }, (_, byte) => classOf(byte)),
  );
  return contextTables[mode];
}

interface Tree {
  /** Symbol and length, by the bits that come next. */
  readonly table: Uint16Array;
  readonly mask: number;
}

/** @param lengths of the codes of the symbols */
function treeOf(lengths: readonly number[]): Tree {
  const most = Math.max(...lengths);
  const table = new Uint16Array(2 ** most);
  let code = 0;
  for (let length = 1; length <= most; length++, code <<= 1) {
    for (const [symbol, own] of lengths.entries()) {
      if (own !== length) continue;
      let bits = 0;
      for (let at = 0; at < length; at++) bits |= ((code >> at) & 1) << (length - 1 - at);
      for (; bits < table.length; bits += 2 ** length) table[bits] = (symbol << 4) | length;
      code += 1;
    }
  }
  return { table, mask: table.length - 1 };
}
/** A symbol that takes no bits. */
const loneTree = (symbol: number): Tree => ({ table: Uint16Array.of(symbol << 4), mask: 0 });

/** What changes its type after some commands, literals or distances. */
interface Blocks {
  readonly count: number;
  readonly types: Tree | undefined;
  readonly counts: Tree | undefined;
  left: number;
  type: number;
  before: number;
}
interface Metablock {
  readonly isLast: boolean;
  readonly blocks: readonly [literal: Blocks, command: Blocks, distance: Blocks];
  readonly postfix: number;
  readonly direct: number;
  readonly modes: readonly number[];
  readonly maps: readonly [literal: Uint8Array, distance: Uint8Array];
  readonly trees: readonly [literal: readonly Tree[], command: readonly Tree[], distance: readonly Tree[]];
}

/** A word with a prefix and a suffix, in upper case, or without some of its bytes. */
function transformed(word: Uint8Array, transform: readonly [string, number, string]): Uint8Array {
  const [prefix, kind, suffix] = transform;
  const part = word.slice(
    kind < 0 ? -kind : 0,
    kind > 0 && kind < 10 ? Math.max(0, word.length - kind) : undefined,
  );
  for (let at = 0; kind >= 10 && at < (kind === 10 ? 1 : part.length); ) {
    const byte = part[at] as number;
    const [size, place, flip] = byte < 0xc0 ? [1, 0, 32] : byte < 0xe0 ? [2, 1, 32] : [3, 2, 5];
    if (size > 1 || (byte >= 97 && byte <= 122)) (part[at + place] as number) ^= flip;
    at += size;
  }
  return Buffer.concat([Buffer.from(prefix, 'latin1'), part, Buffer.from(suffix, 'latin1')]);
}

export class BrotliDecoder {
  #input: Uint8Array = new Uint8Array(0);
  #bit = 0;
  /** Up to where the bits have had their effect. */
  #mark = 0;
  #window = new Uint8Array(2 ** 10);
  #windowBits = 0;
  #total = 0;
  #output: Uint8Array = new Uint8Array(0);
  #made = 0;
  #next: () => void = this.#readWindow;
  #metablock: Metablock | undefined;
  #left = 0;
  #isLast = false;
  #insert = 0;
  #copy = 0;
  #isSame = false;
  #distance = 0;
  #lasts = [4, 11, 15, 16];
  #word: Uint8Array = new Uint8Array(0);
  isEnded = false;

  /** Decodes until the output is full, or the input used. @returns what was read and made */
  run(input: Uint8Array, output: Uint8Array, from: number): { used: number; made: number } {
    const waiting = this.#input.length;
    this.#input = waiting === 0 ? input : Buffer.concat([this.#input, input]);
    [this.#output, this.#made, this.#mark] = [output, from, this.#bit];
    let isShort = false;
    try {
      while (!this.isEnded && this.#room > 0) {
        this.#next();
        this.#mark = this.#bit;
      }
    } catch (error) {
      if (error !== MORE) throw error;
      isShort = true;
    }
    const read = (this.#mark + (this.isEnded ? 7 : 0)) >>> 3;
    // What is not kept is given again.
    const isKept = isShort || read < waiting;
    const kept = isKept ? this.#input.slice(this.#mark >>> 3) : new Uint8Array(0);
    const used = isKept ? input.length : read - waiting;
    [this.#input, this.#bit] = [kept, this.#mark & 7];
    return { used, made: this.#made - from };
  }

  get #room(): number {
    return this.#output.length - this.#made;
  }

  #put(byte: number): void {
    if (this.#total === this.#window.length && this.#total < 2 ** this.#windowBits) {
      const grown = new Uint8Array(this.#total * 2);
      grown.set(this.#window);
      this.#window = grown;
    }
    this.#window[this.#total & (this.#window.length - 1)] = byte;
    this.#output[this.#made] = byte;
    this.#total += 1;
    this.#made += 1;
    this.#left -= 1;
  }

  #back(distance: number): number {
    return distance > this.#total
      ? 0
      : (this.#window[(this.#total - distance) & (this.#window.length - 1)] as number);
  }

  /** The bits that come next, at least 25; zeros behind the end. */
  #peek(): number {
    // Undefined is 0 between bits.
    const bytes = this.#input as unknown as { readonly [at: number]: number };
    const at = this.#bit >>> 3;
    const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
    const high = (bytes[at + 2] as number) | ((bytes[at + 3] as number) << 8);
    return (low | (high << 16)) >>> (this.#bit & 7);
  }

  #skip(count: number): void {
    if (this.#bit + count > this.#input.length * 8) throw MORE;
    this.#bit += count;
  }

  #bits(count: number): number {
    const value = this.#peek() & (2 ** count - 1);
    this.#skip(count);
    return value;
  }

  #symbol({ table, mask }: Tree): number {
    const entry = table[this.#peek() & mask] as number;
    this.#skip(entry & 15);
    return entry >> 4;
  }

  #ranged({ first, bits }: Ranges, code: number): number {
    return (first[code] as number) + this.#bits(bits[code] as number);
  }

  /** From 1 to 256. */
  #number(): number {
    if (this.#bits(1) === 0) return 1;
    const count = this.#bits(3);
    return 2 ** count + 1 + this.#bits(count);
  }

  #align(reason: string): void {
    if (this.#bits(-this.#bit & 7) !== 0) throw invalid(reason);
  }

  #tree(size: number): Tree {
    const skipped = this.#bits(2);
    return skipped === 1 ? this.#simpleTree(size) : this.#tableTree(size, skipped);
  }

  #simpleTree(size: number): Tree {
    const count = this.#bits(2) + 1;
    const width = (size - 1).toString(2).length;
    const symbols = Array.from({ length: count }, () => this.#bits(width));
    if (symbols.some((symbol) => symbol >= size)) throw invalid('SIMPLE_HUFFMAN_ALPHABET');
    if (new Set(symbols).size < count) throw invalid('SIMPLE_HUFFMAN_SAME');
    if (count === 1) return loneTree(symbols[0] as number);
    const isDeep = count === 4 && this.#bits(1) === 1;
    const shape = count === 2 ? [1, 1] : count === 3 ? [1, 2, 2] : isDeep ? [1, 2, 3, 3] : [2, 2, 2, 2];
    const lengths = new Array<number>(size).fill(0);
    for (const [at, symbol] of symbols.entries()) lengths[symbol] = shape[at] as number;
    return treeOf(lengths);
  }

  #tableTree(size: number, skipped: number): Tree {
    const kinds = new Array<number>(18).fill(0);
    let space = 32;
    for (let at = skipped; at < 18 && space > 0; at++) {
      const length = this.#symbol(LENGTHS);
      kinds[LENGTH_ORDER[at] as number] = length;
      if (length > 0) space -= 32 >> length;
    }
    const lone = kinds.findIndex((length) => length > 0);
    const isLone = lone >= 0 && kinds.lastIndexOf(kinds[lone] as number) === lone && space > 0;
    if (space !== 0 && !(isLone && kinds.filter((length) => length > 0).length === 1))
      throw invalid('CL_SPACE');
    return treeOf(this.#lengths(size, space === 0 ? treeOf(kinds) : loneTree(lone)));
  }

  /** The lengths of the codes of a tree. */
  #lengths(size: number, kinds: Tree): number[] {
    const lengths: number[] = [];
    let [space, before, repeated, run] = [2 ** 15, 8, -1, 0];
    while (lengths.length < size && space > 0) {
      const kind = this.#symbol(kinds);
      if (kind < 16) {
        lengths.push(kind);
        if (kind > 0) [before, space] = [kind, space - ((2 ** 15) >> kind)];
        run = 0;
        continue;
      }
      const value = kind === 16 ? before : 0;
      if (repeated !== value) run = 0;
      repeated = value;
      const done = run;
      run = (run > 0 ? (run - 2) << (kind - 14) : 0) + this.#bits(kind - 14) + 3;
      if (lengths.length + run - done > size) throw invalid('HUFFMAN_SPACE');
      for (let at = done; at < run; at++) lengths.push(value);
      if (value > 0) space -= (run - done) << (15 - value);
    }
    if (space !== 0) throw invalid('HUFFMAN_SPACE');
    return lengths;
  }

  #readWindow(): void {
    let bits = 16;
    if (this.#bits(1) === 1) {
      const three = this.#bits(3);
      const others = three === 0 ? this.#bits(3) : 0;
      if (others === 1) throw invalid('WINDOW_BITS');
      bits = three > 0 ? 17 + three : others > 0 ? 8 + others : 17;
    }
    this.#windowBits = bits;
    this.#next = this.#readMetablock;
  }

  #readMetablock(): void {
    const isLast = this.#bits(1) === 1;
    if (isLast && this.#bits(1) === 1) return this.#end();
    const nibbles = this.#bits(2) + 4;
    if (nibbles === 7) return this.#readMetadata(isLast);
    let length = 1;
    for (let at = 0; at < nibbles; at++) {
      const nibble = this.#bits(4);
      if (at > 3 && at === nibbles - 1 && nibble === 0) throw invalid('EXUBERANT_NIBBLE');
      length += nibble * 16 ** at;
    }
    if (!isLast && this.#bits(1) === 1) {
      this.#align('PADDING_1');
      this.#next = this.#copyInput;
    } else {
      this.#metablock = this.#readHeader(isLast);
      this.#next = this.#readCommand;
    }
    [this.#left, this.#isLast] = [length, isLast];
  }

  #readHeader(isLast: boolean): Metablock {
    const blocks = [this.#readBlocks(), this.#readBlocks(), this.#readBlocks()] as const;
    const postfix = this.#bits(2);
    const direct = this.#bits(4) << postfix;
    const modes = Array.from({ length: blocks[0].count }, () => this.#bits(2));
    const [literals, literalMap] = this.#readMap(blocks[0].count * 64);
    const [distances, distanceMap] = this.#readMap(blocks[2].count * 4);
    const trees = (count: number, size: number) => Array.from({ length: count }, () => this.#tree(size));
    return {
      ...{ isLast, blocks, postfix, direct, modes, maps: [literalMap, distanceMap] },
      trees: [
        trees(literals, 256),
        trees(blocks[1].count, 704),
        trees(distances, 16 + direct + (48 << postfix)),
      ],
    };
  }

  #readBlocks(): Blocks {
    const count = this.#number();
    const state = { count, type: 0, before: 1 };
    if (count === 1) return { ...state, types: undefined, counts: undefined, left: Number.POSITIVE_INFINITY };
    const [types, counts] = [this.#tree(count + 2), this.#tree(26)];
    return { ...state, types, counts, left: this.#ranged(COUNTS, this.#symbol(counts)) };
  }

  /** Which tree is for a context. */
  #readMap(size: number): [trees: number, map: Uint8Array] {
    const trees = this.#number();
    const map = new Uint8Array(size);
    if (trees === 1) return [trees, map];
    const runs = this.#bits(1) === 1 ? this.#bits(4) + 1 : 0;
    const tree = this.#tree(trees + runs);
    for (let at = 0; at < size; ) {
      const symbol = this.#symbol(tree);
      if (symbol > runs) map[at++] = symbol - runs;
      else at += symbol === 0 ? 1 : 2 ** symbol + this.#bits(symbol);
      if (at > size) throw invalid('CONTEXT_MAP_REPEAT');
    }
    if (this.#bits(1) === 0) return [trees, map];
    const order = Array.from({ length: 256 }, (_, at) => at);
    for (const [at, index] of map.entries()) {
      const [value = 0] = order.splice(index, 1);
      map[at] = value;
      order.unshift(value);
    }
    return [trees, map];
  }

  #readMetadata(isLast: boolean): void {
    if (this.#bits(1) === 1) throw invalid('RESERVED');
    const bytes = this.#bits(2);
    let length = 0;
    for (let at = 0; at < bytes; at++) {
      const byte = this.#bits(8);
      if (at > 0 && at === bytes - 1 && byte === 0) throw invalid('EXUBERANT_META_NIBBLE');
      length += byte * 256 ** at;
    }
    this.#align('PADDING_1');
    [this.#left, this.#isLast] = [bytes === 0 ? 0 : length + 1, isLast];
    this.#next = this.#skipInput;
  }

  #skipInput(): void {
    for (; this.#left > 0; this.#left--) {
      this.#skip(8);
      this.#mark = this.#bit;
    }
    this.#endMetablock();
  }

  #copyInput(): void {
    while (this.#left > 0 && this.#room > 0) {
      this.#put(this.#bits(8));
      this.#mark = this.#bit;
    }
    if (this.#left === 0) this.#endMetablock();
  }

  #endMetablock(): void {
    if (this.#isLast) this.#end();
    else this.#next = this.#readMetablock;
  }

  #end(): void {
    this.#next = this.#end;
    this.#align('PADDING_2');
    this.isEnded = true;
  }

  /** @returns whether its type is another one now */
  #switch(blocks: Blocks): boolean {
    if (blocks.left > 0) return false;
    const code = this.#symbol(blocks.types as Tree);
    const left = this.#ranged(COUNTS, this.#symbol(blocks.counts as Tree));
    const type = code === 0 ? blocks.before : code === 1 ? (blocks.type + 1) % blocks.count : code - 2;
    Object.assign(blocks, { left, type, before: blocks.type });
    this.#mark = this.#bit;
    return true;
  }

  #readCommand(): void {
    const { blocks, trees } = this.#metablock as Metablock;
    this.#switch(blocks[1]);
    const symbol = this.#symbol(trees[1][blocks[1].type] as Tree);
    const cell = symbol >> 6;
    const insert = this.#ranged(INSERTS, (INSERT_CELLS[cell] as number) + ((symbol >> 3) & 7));
    this.#copy = this.#ranged(COPIES, (COPY_CELLS[cell] as number) + (symbol & 7));
    if (insert > this.#left) throw invalid('BLOCK_LENGTH_1');
    this.#insert = insert;
    this.#isSame = cell < 2;
    blocks[1].left -= 1;
    this.#next = this.#readLiterals;
  }

  #readLiterals(): void {
    const { blocks, modes, maps, trees } = this.#metablock as Metablock;
    const [literal] = blocks;
    while (this.#insert > 0) {
      if (this.#room === 0) return;
      this.#switch(literal);
      const [one, two] = contextsOf(modes[literal.type] as number) as [Uint8Array, Uint8Array];
      const context = (one[this.#back(1)] as number) | (two[this.#back(2)] as number);
      const byte = this.#symbol(trees[0][maps[0][literal.type * 64 + context] as number] as Tree);
      literal.left -= 1;
      this.#insert -= 1;
      this.#put(byte);
      this.#mark = this.#bit;
    }
    if (this.#left === 0) this.#endMetablock();
    else this.#next = this.#readDistance;
  }

  #readDistance(): void {
    const { blocks, maps, trees } = this.#metablock as Metablock;
    let code = 0;
    if (!this.#isSame) {
      this.#switch(blocks[2]);
      const context = this.#copy > 4 ? 3 : this.#copy - 2;
      code = this.#symbol(trees[2][maps[1][blocks[2].type * 4 + context] as number] as Tree);
    }
    const distance = this.#distanceOf(code);
    if (distance <= 0) throw invalid('DISTANCE');
    if (!this.#isSame) blocks[2].left -= 1;
    const reach = Math.min(2 ** this.#windowBits - 16, this.#total);
    if (distance > reach) return this.#takeWord(distance - reach - 1);
    if (this.#copy > this.#left) throw invalid('BLOCK_LENGTH_2');
    if (code !== 0) this.#lasts = [distance, ...this.#lasts.slice(0, 3)];
    this.#distance = distance;
    this.#next = this.#copyBack;
  }

  #distanceOf(code: number): number {
    const { direct, postfix } = this.#metablock as Metablock;
    if (code < 16) return (this.#lasts[SHORT_FROM[code] as number] as number) + (SHORT_PLUS[code] as number);
    if (code < 16 + direct) return code - 15;
    const rest = code - 16 - direct;
    const bits = 1 + (rest >> (postfix + 1));
    const start = ((2 + ((rest >> postfix) & 1)) << bits) - 4;
    return ((start + this.#bits(bits)) << postfix) + (rest & (2 ** postfix - 1)) + direct + 1;
  }

  #copyBack(): void {
    for (; this.#copy > 0 && this.#room > 0; this.#copy--) this.#put(this.#back(this.#distance));
    if (this.#copy === 0) this.#endCommand();
  }

  #takeWord(id: number): void {
    const bits = WORD_BITS[this.#copy] ?? 0;
    if (bits === 0) throw invalid('DICTIONARY');
    const transform = tables.transforms[id >> bits];
    if (transform === undefined) throw invalid('TRANSFORM');
    const at = (WORDS_AT[this.#copy] as number) + (id & (2 ** bits - 1)) * this.#copy;
    const word = transformed(dictionary().subarray(at, at + this.#copy), transform);
    if (word.length > this.#left) throw invalid('BLOCK_LENGTH_2');
    this.#word = word;
    this.#next = this.#copyWord;
  }

  #copyWord(): void {
    const count = Math.min(this.#word.length, this.#room);
    for (const byte of this.#word.subarray(0, count)) this.#put(byte);
    this.#word = this.#word.subarray(count);
    if (this.#word.length === 0) this.#endCommand();
  }

  #endCommand(): void {
    if (this.#left === 0) this.#endMetablock();
    else this.#next = this.#readCommand;
  }
}

/** The fixed code for the lengths of the code for lengths. */
const LENGTHS: Tree = {
  table: Uint16Array.of(2, 66, 50, 35, 2, 66, 50, 20, 2, 66, 50, 35, 2, 66, 50, 84),
  mask: 15,
};
