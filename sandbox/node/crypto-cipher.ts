/**
 * The ciphers of `node:crypto`, as classes that are streams, too (`crypto-cipher-modes.ts`).
 */
import { Buffer, type Bytes } from './buffer.ts';
import { bytesOfText, dataBytes, sameBytes, secretOf } from './crypto-bytes.ts';
import {
  type CipherInfo,
  cipherNamed,
  fitsIv,
  type Machine,
  machineOf,
  type Sealing,
  seals,
} from './crypto-cipher-modes.ts';
import { invalidArgValue, nodeError, validateString } from './errors.ts';
import { type OldClass, oldClass } from './named.ts';
import { Transform } from './stream.ts';
import { StringDecoder } from './string-decoder.ts';

const NOTHING = new Uint8Array(0);

interface CipherOptions {
  readonly authTagLength?: unknown;
  readonly encoding?: string;
}

/** A number that is neither negative nor broken; undefined where there is none. */
function countOf(options: CipherOptions | undefined, name: string): number | undefined {
  const value = (options as Record<string, unknown> | null | undefined)?.[name];
  if (value === undefined || value === null) return undefined;
  if ((value as number) >>> 0 !== value) throw invalidArgValue(`options.${name}`, value);
  return value as number;
}

const invalidState = (operation: string): Error =>
  nodeError(Error, 'ERR_CRYPTO_INVALID_STATE', `Invalid state${operation}`);
const invalidTag = (length: number): Error =>
  nodeError(TypeError, 'ERR_CRYPTO_INVALID_AUTH_TAG', `Invalid authentication tag length: ${length}`);

function checkTagLength({ mode }: CipherInfo, length: number): void {
  const isGcmTag = length === 4 || length === 8 || (length >= 12 && length <= 16);
  if (mode === 'gcm' ? !isGcmTag : length > 16) throw invalidTag(length);
}

/** The state of a cipher. */
interface Work {
  readonly info: CipherInfo;
  readonly machine: Machine;
  readonly encrypts: boolean;
  readonly tagLength: number;
  tag: Uint8Array | undefined;
  state: 'new' | 'running' | 'done';
}
const WORK = Symbol('work');
interface Cipher {
  [WORK]: Work;
  _decoder: Decoder | null;
  push(bytes: Uint8Array): boolean;
}
type Decoder = InstanceType<typeof StringDecoder> & { encoding: string };
type Done = (error?: unknown) => void;

function begin(
  [cipher, key, iv, options]: readonly [unknown, unknown, unknown, CipherOptions | undefined],
  encrypts: boolean,
): Work {
  validateString(cipher, 'cipher');
  const secret = secretOf(key, options?.encoding);
  const start = iv === null ? undefined : bytesOfText(iv, 'iv');
  const asked = countOf(options, 'authTagLength');
  const info = cipherNamed(cipher);
  if (info === undefined) throw nodeError(Error, 'ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
  if (secret.length !== info.keyLength)
    throw nodeError(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
  if (!fitsIv(info, start?.length ?? 0))
    throw nodeError(TypeError, 'ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector');
  if (seals(info) && asked !== undefined) checkTagLength(info, asked);
  const machine = machineOf(info, new Uint8Array(secret), new Uint8Array(start ?? NOTHING), encrypts);
  return { info, machine, encrypts, tagLength: asked ?? 16, tag: undefined, state: 'new' };
}

function advance(work: Work, data: Uint8Array): Bytes {
  const isSecond = work.state === 'running' && work.info.mode === 'wrap';
  if (work.state === 'done' || isSecond) throw new Error('Trying to add data in unsupported state');
  work.state = 'running';
  return Buffer.from(work.machine.update(data));
}

function finish(work: Work): Bytes {
  if (work.state === 'done') throw invalidState('');
  work.state = 'done';
  const last = work.machine.final();
  if (!seals(work.info)) return Buffer.from(last);
  const tag = (work.machine as Sealing).tag().subarray(0, work.tagLength);
  if (work.encrypts) work.tag = tag;
  else if (work.tag === undefined || !sameBytes(tag.subarray(0, work.tag.length), work.tag)) {
    throw new Error('Unsupported state or unable to authenticate data');
  }
  return Buffer.from(last);
}

/** A result as bytes, or as text in the one encoding of its cipher. */
function result(cipher: Cipher, bytes: Bytes, encoding: unknown, last: boolean): Bytes | string {
  if (!encoding || encoding === 'buffer') return bytes;
  const named = new StringDecoder(encoding) as Decoder;
  cipher._decoder ??= named;
  if (cipher._decoder.encoding !== named.encoding) {
    const reason = `cannot be changed from '${cipher._decoder.encoding}'`;
    throw invalidArgValue('outputEncoding', encoding, reason);
  }
  return last ? cipher._decoder.end(bytes) : cipher._decoder.write(bytes);
}

const METHODS = {
  _transform(this: Cipher, chunk: Uint8Array | string, encoding: string, done: Done): void {
    this.push(advance(this[WORK], dataBytes(chunk, encoding)));
    done();
  },

  _flush(this: Cipher, done: Done): void {
    try {
      this.push(finish(this[WORK]));
    } catch (error) {
      return done(error);
    }
    done();
  },

  update(this: Cipher, data: unknown, inputEncoding?: unknown, outputEncoding?: unknown): Bytes | string {
    return result(this, advance(this[WORK], dataBytes(data, inputEncoding)), outputEncoding, false);
  },

  final(this: Cipher, outputEncoding?: unknown): Bytes | string {
    return result(this, finish(this[WORK]), outputEncoding, true);
  },

  setAutoPadding(this: Cipher, padding?: boolean): Cipher {
    const { machine, state } = this[WORK];
    if (state === 'done') throw invalidState(' for operation setAutoPadding');
    if (machine.padding !== undefined) machine.padding = Boolean(padding);
    return this;
  },

  setAAD(this: Cipher, data: unknown, options?: CipherOptions): Cipher {
    countOf(options, 'plaintextLength');
    const bytes = bytesOfText(data, 'aadbuf', options?.encoding);
    const { info, machine, state } = this[WORK];
    if (!seals(info) || state !== 'new') throw invalidState(' for operation setAAD');
    (machine as Sealing).addData(bytes);
    return this;
  },
};

const cipherClass = (name: string, encrypts: boolean, methods: object): OldClass<Cipher> =>
  oldClass<Cipher>(
    name,
    Transform as unknown as Function,
    { ...METHODS, ...methods },
    function (cipher, key, iv, options) {
      Object.defineProperty(this, WORK, { value: begin([cipher, key, iv, options], encrypts) });
      this._decoder = null;
      (Transform as unknown as Function).call(this, options);
    },
  );

export const Cipheriv = /* @__PURE__ */ cipherClass('Cipheriv', true, {
  getAuthTag(this: Cipher): Bytes {
    const { tag, state } = this[WORK];
    if (tag === undefined || state !== 'done') throw invalidState(' for operation getAuthTag');
    return Buffer.from(tag);
  },
});

export const Decipheriv = /* @__PURE__ */ cipherClass('Decipheriv', false, {
  setAuthTag(this: Cipher, tag: unknown, encoding?: string): Cipher {
    const bytes = bytesOfText(tag, 'buffer', encoding);
    const work = this[WORK];
    if (!seals(work.info) || work.tag !== undefined || work.state === 'done')
      throw invalidState(' for operation setAuthTag');
    if (bytes.length !== work.tagLength) throw invalidTag(bytes.length);
    work.tag = new Uint8Array(bytes);
    return this;
  },
});

export const createCipheriv = (...parts: unknown[]): Cipher => new Cipheriv(...parts);
export const createDecipheriv = (...parts: unknown[]): Cipher => new Decipheriv(...parts);
