/**
 * What one does with pairs of keys: `sign` and `verify`, as functions and as streams, and the
 * encryption of RSA.
 */
import { Buffer, type Bytes } from './buffer.ts';
import { answer, type Done } from './callback.ts';
import { bytesOfText, dataBytes, inEncoding, wrongKeyKind } from './crypto-bytes.ts';
import { digestNamed, type HashFunction, hashNamed, type Running } from './crypto-hash.ts';
import { asymmetricKey } from './crypto-keys.ts';
import { edwards, nist } from './crypto-lazy.ts';
import { isEdwards, type Material } from './crypto-material.ts';
import {
  decryptPublicly,
  decryptRsa,
  type EncryptionPadding,
  encryptPrivately,
  encryptRsa,
  invalidDigest,
  OAEP,
  type Padding,
  PKCS1,
  signRsa,
  verifyRsa,
} from './crypto-rsa.ts';
import { invalidArgValue, nodeError, validateFunction, validateString } from './errors.ts';
import { type OldClass, oldClass } from './named.ts';
import { Writable } from './stream.ts';

interface Manner extends Padding {
  /** The form of a signature of an elliptic curve. */
  readonly form: 'der' | 'compact';
}

function intOption(options: object, name: string): number | undefined {
  const value = (options as Record<string, unknown>)[name];
  if (value === undefined || value === (value as number) >> 0) return value as number | undefined;
  throw invalidArgValue(`options.${name}`, value);
}

function mannerOf(options: unknown): Manner {
  const given = typeof options === 'object' && options !== null ? options : {};
  const { dsaEncoding = 'der' } = given as { dsaEncoding?: unknown };
  if (dsaEncoding !== 'der' && dsaEncoding !== 'ieee-p1363')
    throw invalidArgValue('options.dsaEncoding', dsaEncoding);
  const form = dsaEncoding === 'der' ? 'der' : 'compact';
  return { padding: intOption(given, 'padding'), saltLength: intOption(given, 'saltLength'), form };
}

const ECDSA = { prehash: false, lowS: false } as const;
function signDigest(material: Material, hash: HashFunction, digest: Uint8Array, how: Manner): Bytes {
  if (material.kind === 'rsa' || material.kind === 'rsa-pss') return signRsa(material, hash, digest, how);
  if (material.kind !== 'ec') throw wrongKeyKind();
  const options = { ...ECDSA, format: how.form, extraEntropy: true };
  return Buffer.from(nist()[material.curve].sign(digest, material.scalar, options));
}

/** A signature that cannot be read is no error. */
function orFalse(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

interface Signed {
  readonly hash: HashFunction;
  readonly digest: Uint8Array;
  readonly signature: Uint8Array;
}

function verifyDigest(material: Material, signed: Signed, how: Manner): boolean {
  if (material.kind === 'rsa' || material.kind === 'rsa-pss') return verifyRsa(material, signed, how);
  if (material.kind !== 'ec') throw wrongKeyKind();
  const options = { ...ECDSA, format: how.form };
  return orFalse(() =>
    nist()[material.curve].verify(signed.signature, signed.digest, material.public, options),
  );
}

interface Signing {
  readonly _hash: HashFunction;
  _running: Running | undefined;
  update(data: unknown, encoding?: unknown): Signing;
}

const notInitialised = () => nodeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Not initialised');
const noKey = () => nodeError(Error, 'ERR_CRYPTO_SIGN_KEY_REQUIRED', 'No key provided to sign');

function digestOf(signing: Signing): Uint8Array {
  const running = signing._running;
  if (running === undefined) throw notInitialised();
  signing._running = undefined;
  return running.digest();
}

/** Keys that sign a whole message only, and have no class. */
function checkKind({ kind }: Material): void {
  if (isEdwards(kind))
    throw nodeError(Error, 'ERR_CRYPTO_UNSUPPORTED_OPERATION', 'Unsupported crypto operation');
}

const signingClass = (name: string, methods: object): OldClass<Signing> =>
  oldClass<Signing>(
    name,
    Writable as unknown as Function,
    {
      _write(this: Signing, chunk: unknown, encoding: string, done: (error?: unknown) => void): void {
        this.update(chunk, encoding);
        done();
      },
      update(this: Signing, data: unknown, encoding?: unknown): Signing {
        const bytes = dataBytes(data, encoding);
        if (this._running === undefined) throw notInitialised();
        this._running.update(bytes);
        return this;
      },
      ...methods,
    },
    function (algorithm, options) {
      validateString(algorithm, 'algorithm');
      const hash = hashNamed(algorithm);
      if (hash === undefined) throw nodeError(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', 'Invalid digest');
      Object.defineProperty(this, '_hash', { value: hash });
      Object.defineProperty(this, '_running', { value: hash.create(), writable: true });
      (Writable as unknown as Function).call(this, options);
    },
  );

export const Sign = /* @__PURE__ */ signingClass('Sign', {
  sign(this: Signing, options: unknown, encoding?: unknown): Bytes | string {
    if (!options) throw noKey();
    const material = asymmetricKey(options, 'private');
    const how = mannerOf(options);
    const digest = digestOf(this);
    checkKind(material);
    return inEncoding(signDigest(material, this._hash, digest, how), encoding);
  },
});

export const Verify = /* @__PURE__ */ signingClass('Verify', {
  verify(this: Signing, options: unknown, signature: unknown, encoding?: unknown): boolean {
    const material = asymmetricKey(options, 'public or private');
    const how = mannerOf(options);
    const bytes = bytesOfText(signature, 'signature', encoding);
    const digest = digestOf(this);
    checkKind(material);
    return verifyDigest(material, { hash: this._hash, digest, signature: bytes }, how);
  },
});

export const createSign = (...parts: unknown[]): Signing => new Sign(...parts);
export const createVerify = (...parts: unknown[]): Signing => new Verify(...parts);

/** The functions of a curve of Edwards, which hash a message themselves. */
function edwardsOf({ kind }: Material, algorithm: unknown) {
  if (kind !== 'ed25519' && kind !== 'ed448') throw wrongKeyKind();
  if (algorithm !== null && algorithm !== undefined) invalidDigest();
  return edwards()[kind];
}

/** Checks the arguments that `sign` and `verify` share, in the order of Node.js. */
function whole([algorithm, data, key]: readonly unknown[], callback: unknown) {
  if (algorithm !== null && algorithm !== undefined) validateString(algorithm, 'algorithm');
  if (callback !== undefined) validateFunction(callback, 'callback');
  return { algorithm, bytes: bytesOfText(data, 'data'), how: key ? mannerOf(key) : undefined };
}

/** The hash of a whole message; that of the keys where none is named. */
const hashFor = (algorithm: unknown): HashFunction => digestNamed((algorithm as string | null) ?? 'sha256');

function finish<T>(make: () => T, callback: unknown): T | undefined {
  if (callback === undefined) return make();
  answer(callback as Done<T>, make);
  return undefined;
}

export function sign(algorithm: unknown, data: unknown, key: unknown, callback?: unknown): Bytes | undefined {
  const { bytes, how } = whole([algorithm, data, key], callback);
  if (how === undefined) throw noKey();
  const material = asymmetricKey(key, 'private');
  const hash = hashFor(algorithm);
  return finish(() => {
    if (!isEdwards(material.kind)) return signDigest(material, hash, hash(bytes), how);
    return Buffer.from(edwardsOf(material, algorithm).sign(bytes, material.scalar));
  }, callback);
}

/** The arguments of Node.js: algorithm, data, key, signature and callback. */
export function verify(...[algorithm, data, key, signed, callback]: unknown[]): boolean | undefined {
  const { bytes, how = mannerOf(key) } = whole([algorithm, data, key], callback);
  const signature = bytesOfText(signed, 'signature');
  const material = asymmetricKey(key, 'public or private');
  const hash = hashFor(algorithm);
  return finish(() => {
    if (!isEdwards(material.kind))
      return verifyDigest(material, { hash, digest: hash(bytes), signature }, how);
    const curve = edwardsOf(material, algorithm);
    return orFalse(() => curve.verify(signature, bytes, material.public));
  }, callback);
}

/** A function of RSA: a key with its options, and the data. */
function rsaFunction(
  half: 'private' | 'public or private',
  byDefault: number,
  run: (material: Material, data: Uint8Array, how: EncryptionPadding) => Bytes,
) {
  return (options: unknown, data: unknown): Bytes => {
    const material = asymmetricKey(options, half);
    const { padding, oaepHash, oaepLabel, encoding } = (
      typeof options === 'object' && options !== null ? options : {}
    ) as Record<string, unknown>;
    if (oaepHash !== undefined) validateString(oaepHash, 'key.oaepHash');
    const label =
      oaepLabel === undefined ? Buffer.alloc(0) : bytesOfText(oaepLabel, 'key.oaepLabel', encoding);
    const bytes = bytesOfText(data, 'buffer', encoding);
    const hash = hashNamed(oaepHash ?? 'sha1');
    if (hash === undefined) throw nodeError(Error, 'ERR_OSSL_EVP_INVALID_DIGEST', 'Invalid digest used');
    if (material.kind !== 'rsa') throw wrongKeyKind();
    return run(material, bytes, { padding: (padding as number) || byDefault, hash, label });
  };
}

export const publicEncrypt = /* @__PURE__ */ rsaFunction('public or private', OAEP, encryptRsa);
export const privateDecrypt = /* @__PURE__ */ rsaFunction('private', OAEP, decryptRsa);
export const privateEncrypt = /* @__PURE__ */ rsaFunction('private', PKCS1, (material, data, { padding }) =>
  encryptPrivately(material, data, padding),
);
export const publicDecrypt = /* @__PURE__ */ rsaFunction(
  'public or private',
  PKCS1,
  (material, data, { padding }) => decryptPublicly(material, data, padding),
);
