/**
 * New pairs of keys, and primes. All of it is work of the isolate: a key of RSA of 2,048 bits takes
 * some hundred milliseconds. Where that is too long, `crypto.subtle` makes one.
 */
import type { Bytes } from './buffer.ts';
import { bytesOf as viewOf } from './buffer-view.ts';
import { answer, type Done } from './callback.ts';
import { opensslError } from './crypto-bytes.ts';
import { bytesOfNumber, der, derInteger, numberOf, SEQUENCE } from './crypto-der.ts';
import { groupNamed } from './crypto-exchange.ts';
import { digestNamed } from './crypto-hash.ts';
import { encodingOf, type Half, PrivateKeyObject, PublicKeyObject, written } from './crypto-keys.ts';
import { edwards, nist } from './crypto-lazy.ts';
import {
  algorithmOf,
  curveNamed,
  type Encoding,
  ecMaterial,
  edwardsMaterial,
  isEdwards,
  type Kind,
  Material,
  rsaPrivateBytes,
} from './crypto-material.ts';
import { bitsOf, inverse, isPrime, primeOf, randomBelow } from './crypto-numbers.ts';
import { pssAlgorithm } from './crypto-rsa.ts';
import {
  invalidArgType,
  invalidArgValue,
  nodeError,
  outOfRange,
  validateBoolean,
  validateBuffer,
  validateFunction,
  validateInt32,
  validateObject,
  validateString,
  validateUint32,
} from './errors.ts';

type Options = Readonly<Record<string, unknown>>;
const MODULUS_BITS_MIN = 512;
const MODULUS_BITS_MAX = 16_384;

function rsaNumbers(bits: number, e: bigint): bigint[] {
  const half = bits >> 1;
  for (;;) {
    const [one, other] = [primeOf(bits - half), primeOf(half)];
    const [p, q] = one > other ? [one, other] : [other, one];
    const d = inverse(e, (p - 1n) * (q - 1n));
    const qi = inverse(q, p);
    if (d === undefined || qi === undefined || bitsOf(p * q) !== bits) continue;
    return [p * q, e, d, p, q, d % (p - 1n), d % (q - 1n), qi];
  }
}

function rsaPair(kind: 'rsa' | 'rsa-pss', options: Options): () => Material {
  const { modulusLength: bits, publicExponent = 0x10001 } = options;
  validateUint32(bits, 'options.modulusLength');
  validateUint32(publicExponent ?? 0x10001, 'options.publicExponent');
  const algorithm = kind === 'rsa' ? algorithmOf('rsa') : pssAlgorithmOf(options);
  return () => {
    const e = BigInt((publicExponent ?? 0x10001) as number);
    if ((bits as number) < MODULUS_BITS_MIN)
      throw opensslError('1C8000AB', 'Provider routines', 'key size too small');
    if ((bits as number) > MODULUS_BITS_MAX)
      throw opensslError('02000069', 'rsa routines', 'modulus too large');
    if (e < 3n || e % 2n === 0n) throw opensslError('020000B2', 'rsa routines', 'pub exponent out of range');
    return new Material(algorithm, { private: rsaPrivateBytes(rsaNumbers(bits as number, e)) });
  };
}

function pssAlgorithmOf(options: Options): Bytes {
  const { hash, mgf1Hash, hashAlgorithm, mgf1HashAlgorithm, saltLength } = options;
  if (saltLength !== undefined) validateInt32(saltLength, 'options.saltLength', 0);
  for (const name of ['hashAlgorithm', 'mgf1HashAlgorithm', 'hash', 'mgf1Hash']) {
    if (options[name] !== undefined) validateString(options[name], `options.${name}`);
  }
  if (hash !== undefined && hashAlgorithm !== undefined && hash !== hashAlgorithm)
    throw invalidArgValue('options.hash', hash);
  if (mgf1Hash !== undefined && mgf1HashAlgorithm !== undefined && mgf1Hash !== mgf1HashAlgorithm)
    throw invalidArgValue('options.mgf1Hash', mgf1Hash);
  const name = (hashAlgorithm ?? hash) as string | undefined;
  const mgfName = (mgf1HashAlgorithm ?? mgf1Hash) as string | undefined;
  if (name === undefined && mgfName === undefined && saltLength === undefined) return algorithmOf('rsa-pss');
  const found = pssDigest(name ?? 'sha1', 'digest');
  const mgf = pssDigest(mgfName ?? name ?? 'sha1', 'MGF1 digest');
  return algorithmOf('rsa-pss', pssAlgorithm(found, mgf, (saltLength as number) ?? found.outputLen));
}
function pssDigest(name: string, what: string) {
  try {
    return digestNamed(name);
  } catch {
    const kind = what === 'digest' ? '' : 'MGF1 ';
    throw nodeError(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid ${kind}digest: ${name}`);
  }
}

function ecPair({ namedCurve, paramEncoding }: Options): () => Material {
  validateString(namedCurve, 'options.namedCurve');
  if (paramEncoding !== undefined && paramEncoding !== null && paramEncoding !== 'named')
    throw invalidArgValue('options.paramEncoding', paramEncoding);
  const curve = curveNamed(namedCurve);
  if (curve === undefined) throw nodeError(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
  return () => {
    const scalar = nist()[curve].utils.randomSecretKey();
    return ecMaterial(curve, { point: nist()[curve].getPublicKey(scalar, false), scalar });
  };
}

const INCOMPATIBLE = 'ERR_INCOMPATIBLE_OPTION_PAIR';
const incompatible = (one: string, other: string): Error =>
  nodeError(TypeError, INCOMPATIBLE, `Option "${one}" cannot be used in combination with option "${other}"`);

function dhPair(options: Options): () => Material {
  const { group, prime, primeLength, generator } = options;
  const isGiven = (name: string): boolean => options[name] !== undefined && options[name] !== null;
  if (isGiven('group')) {
    for (const other of ['prime', 'primeLength', 'generator']) {
      if (isGiven(other)) throw incompatible('group', other);
    }
    validateString(group, 'options.group');
    groupNamed(group);
  } else if (isGiven('prime')) {
    if (isGiven('primeLength')) throw incompatible('prime', 'primeLength');
    validateBuffer(prime, 'options.prime');
  } else if (isGiven('primeLength')) {
    validateInt32(primeLength, 'options.primeLength', 0);
  } else {
    const message = 'At least one of the group, prime, or primeLength options is required';
    throw nodeError(TypeError, 'ERR_MISSING_OPTION', message);
  }
  if (isGiven('generator')) validateInt32(generator, 'options.generator', 0);
  return () => {
    const p = isGiven('group')
      ? groupNamed(group as string)
      : isGiven('prime')
        ? numberOf(prime as Uint8Array)
        : primeOf(primeLength as number, { safe: true });
    const parameters = der(SEQUENCE, derInteger(p), derInteger(BigInt((generator ?? 2) as number)));
    const secret = derInteger(randomBelow(p - 1n));
    return new Material(algorithmOf('dh', parameters), { private: secret });
  };
}

/** What makes a pair, once its options have been checked. */
function pairOf(type: unknown, options: Options | undefined): () => Material {
  if (type === 'dsa' || !['rsa', 'rsa-pss', 'ec', 'dh', ...Object.keys(EDWARDS)].includes(type as string))
    throw invalidArgValue('type', type, 'must be a supported key type');
  const kind = type as Kind;
  if (isEdwards(kind)) return () => edwardsMaterial(kind, edwards()[kind].utils.randomSecretKey());
  validateObject(options, 'options');
  if (kind === 'ec') return ecPair(options as Options);
  return kind === 'dh' ? dhPair(options as Options) : rsaPair(kind, options as Options);
}
const EDWARDS = { ed25519: 1, ed448: 1, x25519: 1, x448: 1 };

function encodingFor(kind: Kind, options: Options | undefined, half: Half): Encoding | undefined {
  const name = `${half}KeyEncoding`;
  const value = options?.[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object') throw invalidArgValue(`options.${name}`, value);
  return encodingOf(value, `options.${name}`, half, kind);
}

interface Pair {
  readonly publicKey: unknown;
  readonly privateKey: unknown;
}

function job(type: unknown, options: Options | undefined): () => Pair {
  validateString(type, 'type');
  const asked = (['public', 'private'] as const).map((half) => encodingFor(type as Kind, options, half));
  if (options !== undefined) validateObject(options, 'options');
  const make = pairOf(type, options);
  const [outer, inner] = asked;
  return () => {
    const pair = make();
    return {
      publicKey: outer === undefined ? new PublicKeyObject(pair.publicHalf) : written(pair, outer, 'public'),
      privateKey: inner === undefined ? new PrivateKeyObject(pair) : written(pair, inner, 'private'),
    };
  };
}

export const generateKeyPairSync = (type: unknown, options?: Options): Pair => job(type, options)();

type PairDone = (error: Error | null, publicKey?: unknown, privateKey?: unknown) => void;
export function generateKeyPair(type: unknown, given?: Options | PairDone, callback?: PairDone): void {
  const [options, done] = typeof given === 'function' ? [undefined, given] : [given, callback];
  validateFunction(done, 'callback');
  const make = job(type, options);
  answer<Pair>((error, pair) => {
    if (error !== null) return (done as unknown as PairDone)(error);
    (done as unknown as PairDone)(null, pair?.publicKey, pair?.privateKey);
  }, make);
}
Object.defineProperty(generateKeyPair, Symbol.for('nodejs.util.promisify.custom'), {
  value: (type: unknown, options: Options) =>
    new Promise((resolve, reject) => {
      generateKeyPair(type, options, (error, publicKey, privateKey) =>
        error === null ? resolve({ publicKey, privateKey }) : reject(error),
      );
    }),
});

const PRIME_TYPES = ['ArrayBuffer', 'TypedArray', 'Buffer', 'DataView', 'bigint'];
/** A number as one or as its bytes. */
function numberFrom(value: unknown, name: string): bigint {
  if (typeof value === 'bigint') {
    if (value < 0n) throw outOfRange(name, '>= 0', value);
    return value;
  }
  const bytes = viewOf(value);
  if (bytes === undefined) throw invalidArgType(name, PRIME_TYPES, value);
  return numberOf(bytes);
}

function primeJob(size: unknown, options: Options): () => ArrayBuffer | bigint {
  validateInt32(size, 'size', 1);
  const bits = size as number;
  validateObject(options, 'options');
  const { safe = false, bigint = false } = options;
  validateBoolean(safe, 'options.safe');
  validateBoolean(bigint, 'options.bigint');
  const [add, rem] = ['add', 'rem'].map((name) =>
    options[name] === undefined ? undefined : numberFrom(options[name], `options.${name}`),
  );
  return () => {
    if (add !== undefined && bitsOf(add) > bits) throw outOfPrimes('invalid options.add');
    if (add !== undefined && rem !== undefined && add <= rem) throw outOfPrimes('invalid options.rem');
    const prime =
      bits < 3
        ? BigInt(bits + 1)
        : primeOf(bits, { safe, ...(add !== undefined && { add }), ...(rem !== undefined && { rem }) });
    return bigint ? prime : new Uint8Array(bytesOfNumber(prime, Math.ceil(bits / 8))).buffer;
  };
}
const outOfPrimes = (reason: string): Error => nodeError(RangeError, 'ERR_OUT_OF_RANGE', reason);

export const generatePrimeSync = (size: unknown, options: Options = {}): ArrayBuffer | bigint =>
  primeJob(size, options)();
export function generatePrime(size: unknown, given: unknown, callback?: unknown): void {
  const [options, done] = typeof given === 'function' ? [{}, given] : [given, callback];
  const make = primeJob(size, (options ?? {}) as Options);
  validateFunction(done, 'callback');
  answer(done as unknown as Done<ArrayBuffer | bigint>, make);
}

function checkJob(candidate: unknown, options: Options): () => boolean {
  const value = numberFrom(candidate, 'candidate');
  validateObject(options, 'options');
  const { checks = 0 } = options;
  validateInt32(checks, 'options.checks', 0);
  return () => isPrime(value, (checks as number) || 20);
}
export const checkPrimeSync = (candidate: unknown, options: Options = {}): boolean =>
  checkJob(candidate, options)();
export function checkPrime(candidate: unknown, given: unknown, callback?: unknown): void {
  const [options, done] = typeof given === 'function' ? [{}, given] : [given, callback];
  const make = checkJob(candidate, (options ?? {}) as Options);
  validateFunction(done, 'callback');
  answer(done as unknown as Done<boolean>, make);
}
