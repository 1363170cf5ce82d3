/**
 * AES in the modes CBC, CFB, CTR, ECB, GCM, OFB and as a key wrap, and ChaCha20 with and without
 * Poly1305. The block functions, MACs and key wraps are those of `@noble/ciphers`; the modes are
 * here, because its own take a whole message at once.
 */
import table from 'node-tables/ciphers.json';
import { Buffer } from './buffer.ts';
import { opensslError } from './crypto-bytes.ts';
import { ciphers } from './crypto-lazy.ts';
import { invalidArgType, validateInt32, validateObject } from './errors.ts';

const BLOCK_BYTES = 16;
const NOTHING = new Uint8Array(0);

type BlockFunction = (block: Uint8Array) => unknown;

/** What takes a message through a cipher, piece by piece. */
export interface Machine {
  update(data: Uint8Array): Uint8Array;
  final(): Uint8Array;
  padding?: boolean;
}

/** A machine that authenticates its message. */
export interface Sealing extends Machine {
  addData(data: Uint8Array): void;
  tag(): Uint8Array;
}

function xor(target: Uint8Array, other: Uint8Array): void {
  for (let at = 0; at < target.length; at++) target[at] = (target[at] as number) ^ (other[at] as number);
}

/** Adds one to the big-endian number in the bytes of a block from `first` on. */
function increment(block: Uint8Array, first: number): void {
  for (let at = block.length - 1; at >= first; at--) {
    block[at] = (block[at] as number) + 1;
    if (block[at] !== 0) return;
  }
}

/** ECB and CBC: whole blocks, of which the last one is padded (PKCS #7). */
function blockMachine(step: BlockFunction, encrypts: boolean): Machine {
  let rest: Uint8Array = NOTHING;
  const through = (blocks: Uint8Array): Uint8Array => {
    for (let at = 0; at < blocks.length; at += BLOCK_BYTES) step(blocks.subarray(at, at + BLOCK_BYTES));
    return blocks;
  };
  return {
    padding: true,
    update(data) {
      const all = Buffer.concat([rest, data]);
      let end = all.length - (all.length % BLOCK_BYTES);
      // The last block may be the one that says how much of it is padding.
      if (!encrypts && this.padding && end === all.length && end > 0) end -= BLOCK_BYTES;
      rest = all.slice(end);
      return through(all.subarray(0, end));
    },
    final() {
      const missing = BLOCK_BYTES - rest.length;
      if (encrypts && this.padding) return through(Buffer.concat([rest, Buffer.alloc(missing, missing)]));
      if (!this.padding && rest.length === 0) return rest;
      if (missing !== 0) throw opensslError('1C80006B', 'Provider routines', 'wrong final block length');
      const block = through(new Uint8Array(rest));
      const padded = block[BLOCK_BYTES - 1] as number;
      const fits = padded > 0 && padded <= BLOCK_BYTES;
      if (!fits || block.subarray(BLOCK_BYTES - padded).some((byte) => byte !== padded)) {
        throw opensslError('1C800064', 'Provider routines', 'bad decrypt');
      }
      return block.subarray(0, BLOCK_BYTES - padded);
    },
  };
}

/**
 * A stream of bytes that a message is combined with.
 *
 * @param block the last piece of the stream, which `next` replaces by the next one
 * @param keeps what the block holds afterwards: the stream itself, or the ciphertext (CFB)
 */
function streamMachine(block: Uint8Array, next: BlockFunction, keeps?: 'input' | 'output'): Machine {
  let used = block.length;
  return {
    update(data) {
      const output = new Uint8Array(data.length);
      for (let at = 0; at < data.length; at++) {
        if (used === block.length) {
          next(block);
          used = 0;
        }
        const byte = data[at] as number;
        output[at] = byte ^ (block[used] as number);
        if (keeps !== undefined) block[used] = keeps === 'input' ? byte : (output[at] as number);
        used++;
      }
      return output;
    },
    final: () => NOTHING,
  };
}

const counting = (counter: Uint8Array, encrypt: BlockFunction, first = 0): Machine =>
  streamMachine(new Uint8Array(BLOCK_BYTES), (block) => {
    block.set(counter);
    encrypt(block);
    increment(counter, first);
  });

/** Poly1305 or GHASH: blocks in, a tag out. */
interface Mac {
  update(data: Uint8Array): unknown;
  digest(): Uint8Array;
}

/**
 * GCM and ChaCha20-Poly1305: the ciphertext and the data beside it, each padded to whole blocks,
 * and their lengths go through a MAC.
 */
function sealingMachine(
  { stream, mac, encrypts }: { stream: Machine; mac: Mac; encrypts: boolean },
  lengths: (data: number, text: number) => Uint8Array,
): Sealing {
  const counts = [0, 0] as [number, number];
  let rest: Uint8Array = NOTHING;
  const add = (kind: 0 | 1, data: Uint8Array): void => {
    counts[kind] += data.length;
    const all = rest.length === 0 ? data : Buffer.concat([rest, data]);
    const end = all.length - (all.length % BLOCK_BYTES);
    mac.update(all.subarray(0, end));
    rest = all.slice(end);
  };
  const pad = (): void => {
    if (rest.length > 0) mac.update(Buffer.concat([rest, NOTHING], BLOCK_BYTES));
    rest = NOTHING;
  };
  return {
    addData: (data) => add(0, data),
    update(data) {
      if (counts[1] === 0) pad();
      const output = stream.update(data);
      add(1, encrypts ? output : data);
      return output;
    },
    final: () => NOTHING,
    tag() {
      pad();
      mac.update(lengths(...counts));
      return mac.digest();
    },
  };
}

function lengthsOf(data: number, text: number, unit: number, littleEndian: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(BLOCK_BYTES));
  view.setBigUint64(0, BigInt(data * unit), littleEndian);
  view.setBigUint64(8, BigInt(text * unit), littleEndian);
  return new Uint8Array(view.buffer);
}

function galoisMachine(encrypt: BlockFunction, iv: Uint8Array, encrypts: boolean): Sealing {
  const { GHASH } = ciphers();
  const key = new Uint8Array(BLOCK_BYTES);
  encrypt(key);
  const start = new Uint8Array(BLOCK_BYTES);
  if (iv.length === 12) {
    start.set(iv);
    start[15] = 1;
  } else {
    const mac = new GHASH(key);
    start.set(
      mac
        .update(iv)
        .update(lengthsOf(0, iv.length, 8, false))
        .digest(),
    );
  }
  const counter = start.slice();
  increment(counter, 12);
  const stream = counting(counter, encrypt, 12);
  const sealing = sealingMachine({ stream, mac: new GHASH(key), encrypts }, (data, text) =>
    lengthsOf(data, text, 8, false),
  );
  const mask = start.slice();
  encrypt(mask);
  const tag = (): Uint8Array => {
    xor(mask, sealing.tag());
    return mask;
  };
  return { ...sealing, tag };
}

function chachaStream(key: Uint8Array, nonce: Uint8Array, first: number): Machine {
  const { chacha20 } = ciphers();
  let count = first;
  const zeros = new Uint8Array(64);
  return streamMachine(new Uint8Array(64), (block) => {
    chacha20(key, nonce, zeros, block, count);
    count = (count + 1) >>> 0;
  });
}

function polyMachine(key: Uint8Array, nonce: Uint8Array, encrypts: boolean): Sealing {
  const { Poly1305 } = ciphers();
  const mac = new Poly1305(chachaStream(key, nonce, 0).update(new Uint8Array(32)));
  return sealingMachine({ stream: chachaStream(key, nonce, 1), mac, encrypts }, (data, text) =>
    lengthsOf(data, text, 1, true),
  );
}

/** A wrap of a key has one piece. */
const wrapMachine = (work: (data: Uint8Array) => Uint8Array): Machine => ({
  update(data) {
    try {
      return work(data);
    } catch {
      throw new Error('Trying to add data in unsupported state');
    }
  },
  final: () => NOTHING,
});

export function machineOf(
  { mode, name }: CipherInfo,
  key: Uint8Array,
  iv: Uint8Array,
  encrypts: boolean,
): Machine {
  if (name === 'chacha20-poly1305') return polyMachine(key, iv, encrypts);
  if (name === 'chacha20') {
    const counter = new DataView(iv.buffer, iv.byteOffset).getUint32(0, true);
    return chachaStream(key, iv.slice(4), counter);
  }
  const { aeskw, aeskwp, unsafe } = ciphers();
  if (mode === 'wrap') {
    const { encrypt, decrypt } = name.endsWith('pad') ? aeskwp(key) : aeskw(key);
    return wrapMachine(encrypts ? encrypt : decrypt);
  }
  const forward = unsafe.expandKeyLE(key);
  const encrypt = (block: Uint8Array) => unsafe.encryptBlock(forward, block);
  if (mode === 'gcm') return galoisMachine(encrypt, iv, encrypts);
  if (mode === 'ctr') return counting(iv, encrypt);
  if (mode === 'ofb') return streamMachine(iv, encrypt);
  if (mode === 'cfb') return streamMachine(iv, encrypt, encrypts ? 'output' : 'input');
  const backward = encrypts ? forward : unsafe.expandKeyDecLE(key);
  const decrypt = (block: Uint8Array) => unsafe.decryptBlock(backward, block);
  if (mode === 'ecb') return blockMachine(encrypts ? encrypt : decrypt, encrypts);
  const chained = (block: Uint8Array): void => {
    xor(block, iv);
    encrypt(block);
    iv.set(block);
  };
  const unchained = (block: Uint8Array): void => {
    const before = new Uint8Array(block);
    decrypt(block);
    xor(block, iv);
    iv.set(before);
  };
  return blockMachine(encrypts ? chained : unchained, encrypts);
}

export interface CipherInfo {
  readonly mode: string;
  readonly name: string;
  readonly nid: number;
  readonly keyLength: number;
  readonly blockSize?: number;
  readonly ivLength?: number;
}

const CIPHERS = table as Readonly<Record<string, CipherInfo>>;
export const seals = ({ mode, name }: CipherInfo): boolean => mode === 'gcm' || name === 'chacha20-poly1305';

export function cipherNamed(name: string): CipherInfo | undefined {
  const lower = name.toLowerCase();
  return Object.hasOwn(CIPHERS, lower) ? CIPHERS[lower] : undefined;
}

export const getCiphers = (): string[] => Object.keys(CIPHERS);

export function fitsIv({ mode, name, ivLength = 0 }: CipherInfo, bytes: number): boolean {
  if (mode === 'gcm') return bytes > 0;
  return name === 'chacha20-poly1305' ? bytes === 12 : bytes === ivLength;
}

/** @param options what lengths are asked for; undefined where the cipher does not take them */
export function getCipherInfo(
  nameOrNid: unknown,
  options?: { readonly keyLength?: number; readonly ivLength?: number },
): object | undefined {
  if (typeof nameOrNid === 'number') validateInt32(nameOrNid, 'nameOrNid');
  else if (typeof nameOrNid !== 'string') throw invalidArgType('nameOrNid', ['string', 'number'], nameOrNid);
  if (options !== undefined) validateObject(options, 'options');
  const { keyLength, ivLength } = options ?? {};
  if (keyLength !== undefined) validateInt32(keyLength, 'options.keyLength');
  if (ivLength !== undefined) validateInt32(ivLength, 'options.ivLength');
  const found =
    typeof nameOrNid === 'string'
      ? cipherNamed(nameOrNid)
      : Object.values(CIPHERS).find(({ nid }) => nid === nameOrNid);
  if (found === undefined || (keyLength ?? found.keyLength) !== found.keyLength) return undefined;
  if (ivLength !== undefined && !fitsIv(found, ivLength)) return undefined;
  return Object.assign(Object.create(null), found, ivLength !== undefined && { ivLength });
}
