/**
 * Agreement on a secret: Diffie-Hellman over primes and over elliptic curves.
 */
import { Buffer, type Bytes } from './buffer.ts';
import {
  BYTES,
  bytesOfText,
  inEncoding,
  isKeyed,
  KEY,
  opensslError,
  sameBytes,
  wrongKeyType,
} from './crypto-bytes.ts';
import { bytesOfNumber, DerReader, INTEGER, numberOf } from './crypto-der.ts';
import { materialOf } from './crypto-keys.ts';
import { edwards, nist } from './crypto-lazy.ts';
import { CURVES, type CurveName, curveNamed, dhGroup, type Material } from './crypto-material.ts';
import { bitsOf, bytesOf, isPrime, power, primeOf, randomBelow } from './crypto-numbers.ts';
import { invalidArgValue, nodeError, validateInt32, validateObject, validateString } from './errors.ts';
import { oldClass } from './named.ts';

/** An error of native code of Node.js: its text has no code. */
const failed = (message: string, code = 'ERR_CRYPTO_OPERATION_FAILED', Base = Error): Error =>
  Object.assign(new Base(message), { code });

/** The groups of RFC 2409 and RFC 3526: bits of the prime, and its number among those of pi. */
const GROUPS: Readonly<Record<string, readonly [bits: number, number: number]>> = {
  modp1: [768, 149_686],
  modp2: [1_024, 129_093],
  modp5: [1_536, 741_804],
  modp14: [2_048, 124_476],
  modp15: [3_072, 1_690_314],
  modp16: [4_096, 240_904],
  modp17: [6_144, 929_484],
  modp18: [8_192, 4_743_158],
};

/** As many binary digits of pi behind the point, by the formula of Machin. */
function pi(digits: number): bigint {
  const one = 1n << BigInt(digits + 16);
  const arctangent = (inverse: bigint): bigint => {
    let [term, sum] = [one / inverse, 0n];
    for (let odd = 1n; term !== 0n; odd += 2n) {
      sum += (odd % 4n === 1n ? term : -term) / odd;
      term /= inverse * inverse;
    }
    return sum;
  };
  return (16n * arctangent(5n) - 4n * arctangent(239n)) >> 16n;
}

/** The prime of a group. */
export function groupNamed(name: string): bigint {
  const group = Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined;
  if (group === undefined) throw nodeError(Error, 'ERR_CRYPTO_UNKNOWN_DH_GROUP', 'Unknown DH group');
  const [bits, number] = group;
  const middle = pi(bits - 130) + BigInt(number);
  return (1n << BigInt(bits)) - (1n << BigInt(bits - 64)) - 1n + (middle << 64n);
}

/** What OpenSSL finds wrong with a group. */
const [NO_PRIME, NO_SAFE_PRIME, NO_GENERATOR, SMALL] = [1, 2, 8, 128];
const BITS_MIN = 512;
const CHECKS = 8;

function faultsOf(prime: bigint, generator: bigint): number {
  const faults = bitsOf(prime) < BITS_MIN ? SMALL : 0;
  if (generator < 2n || generator >= prime - 1n) return faults | NO_GENERATOR;
  if (!isPrime(prime, CHECKS)) return faults | NO_PRIME;
  return isPrime(prime >> 1n, CHECKS) ? faults : faults | NO_SAFE_PRIME;
}

/** The state of an agreement over a prime. */
interface Exchange {
  readonly prime: bigint;
  readonly generator: bigint;
  publicKey?: bigint | undefined;
  privateKey?: bigint | undefined;
  /** Whether the private key is newer than the public one. */
  outdated?: boolean;
}
const EXCHANGE = Symbol('exchange');
interface DiffieHellman {
  [EXCHANGE]: Exchange;
}

function secretWith({ prime, privateKey }: Exchange, publicKey: bigint): bigint {
  const isSmall = publicKey <= 1n;
  if (isSmall || publicKey >= prime - 1n) {
    const message = `Supplied key is too ${isSmall ? 'small' : 'large'}`;
    throw nodeError(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', message);
  }
  if (privateKey === undefined) throw failed('Failed to compute shared secret');
  return power(publicKey, privateKey, prime);
}

function have(value: bigint | undefined, name: string): Bytes {
  if (value !== undefined) return bytesOfNumber(value);
  const message = `No ${name} key - did you forget to generate one?`;
  throw nodeError(Error, 'ERR_CRYPTO_INVALID_STATE', message);
}

const GROUP_METHODS = {
  generateKeys(this: DiffieHellman, encoding?: unknown): Bytes | string {
    const state = this[EXCHANGE];
    const { prime, generator } = state;
    if (prime < 5n) throw failed('Key generation failed');
    if (state.publicKey === undefined || state.outdated) {
      state.privateKey ??= randomBelow(prime - 1n);
      state.publicKey = power(generator, state.privateKey, prime);
      state.outdated = false;
    }
    return inEncoding(bytesOfNumber(state.publicKey, bytesOf(prime)), encoding);
  },
  computeSecret(this: DiffieHellman, key: unknown, from?: unknown, to?: unknown): Bytes | string {
    const bytes = bytesOfText(key, 'key', from);
    const state = this[EXCHANGE];
    return inEncoding(bytesOfNumber(secretWith(state, numberOf(bytes)), bytesOf(state.prime)), to);
  },
  getPrime(this: DiffieHellman, encoding?: unknown): Bytes | string {
    return inEncoding(bytesOfNumber(this[EXCHANGE].prime), encoding);
  },
  getGenerator(this: DiffieHellman, encoding?: unknown): Bytes | string {
    return inEncoding(bytesOfNumber(this[EXCHANGE].generator), encoding);
  },
  getPublicKey(this: DiffieHellman, encoding?: unknown): Bytes | string {
    return inEncoding(have(this[EXCHANGE].publicKey, 'public'), encoding);
  },
  getPrivateKey(this: DiffieHellman, encoding?: unknown): Bytes | string {
    return inEncoding(have(this[EXCHANGE].privateKey, 'private'), encoding);
  },
};

const SETTERS = {
  setPublicKey(this: DiffieHellman, key: unknown, encoding?: unknown): DiffieHellman {
    this[EXCHANGE].publicKey = numberOf(bytesOfText(key, 'key', encoding));
    return this;
  },
  setPrivateKey(this: DiffieHellman, key: unknown, encoding?: unknown): DiffieHellman {
    this[EXCHANGE].privateKey = numberOf(bytesOfText(key, 'key', encoding));
    this[EXCHANGE].outdated = true;
    return this;
  },
};

/** Gives an object its group. Whether the group is good is found out when code asks for it. */
function begin(made: DiffieHellman, prime: bigint, generator: bigint, faults?: number): void {
  let found = faults;
  Object.defineProperty(made, EXCHANGE, { value: { prime, generator } });
  Object.defineProperty(made, 'verifyError', {
    enumerable: true,
    get: () => {
      found ??= faultsOf(prime, generator);
      return found;
    },
  });
}

const NUMBER_OR_BYTES = ['number', 'string', ...BYTES];
const dhError = (number: string, reason: string): Error =>
  opensslError(`028000${number}`, 'Diffie-Hellman routines', reason);

function generatorOf(value: unknown, encoding: unknown): bigint {
  if (!value) return 2n;
  const badGenerator = () => dhError('65', 'bad generator');
  if (typeof value === 'number') {
    validateInt32(value, 'generator');
    if (value <= 1) throw badGenerator();
    return BigInt(value);
  }
  const number = numberOf(bytesOfText(value, 'generator', encoding, NUMBER_OR_BYTES));
  if (number <= 1n) throw badGenerator();
  return number;
}

export const DiffieHellman = /* @__PURE__ */ oldClass<DiffieHellman>(
  'DiffieHellman',
  Object,
  { ...GROUP_METHODS, ...SETTERS },
  function (sizeOrKey: unknown, ...rest: unknown[]) {
    if (typeof sizeOrKey === 'number') validateInt32(sizeOrKey, 'sizeOrKey');
    else bytesOfText(sizeOrKey, 'sizeOrKey', undefined, NUMBER_OR_BYTES);
    const isEncoding = !rest[0] || rest[0] === 'buffer' || Buffer.isEncoding(rest[0]);
    const [encoding, generator, generatorEncoding] = isEncoding ? rest : [undefined, ...rest];
    const base = generatorOf(generator, generatorEncoding);
    if (typeof sizeOrKey !== 'number')
      return begin(this, numberOf(bytesOfText(sizeOrKey, 'sizeOrKey', encoding)), base);
    if (sizeOrKey < BITS_MIN) throw dhError('7E', 'modulus too small');
    begin(this, primeOf(sizeOrKey, { safe: true }), base, 0);
  },
);

export const DiffieHellmanGroup = /* @__PURE__ */ oldClass<DiffieHellman>(
  'DiffieHellmanGroup',
  Object,
  GROUP_METHODS,
  function (name: unknown) {
    if (typeof name !== 'string')
      throw nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', 'Group name must be a string');
    begin(this, groupNamed(name), 2n, 0);
  },
);

export const createDiffieHellman = (...parts: unknown[]): DiffieHellman => new DiffieHellman(...parts);
export const createDiffieHellmanGroup = (name: unknown): DiffieHellman => new DiffieHellmanGroup(name);
export const getDiffieHellman = createDiffieHellmanGroup;

/** The state of an agreement over a curve. */
const CURVE = Symbol('curve');
interface Ecdh {
  [CURVE]: {
    readonly name: CurveName;
    point?: Uint8Array;
    scalar?: Uint8Array<ArrayBuffer>;
    /** Whether the point was set by itself, and may belong to another scalar. */
    isForeign?: boolean;
  };
}

function curveOf(name: unknown): CurveName {
  validateString(name, 'curve');
  const found = curveNamed(name);
  if (found !== undefined) return found;
  throw nodeError(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
}

const FORMATS = [undefined, 'compressed', 'uncompressed', 'hybrid'];
function checkFormat(format: unknown): void {
  if (!format || FORMATS.includes(format as string)) return;
  throw nodeError(TypeError, 'ERR_CRYPTO_ECDH_INVALID_FORMAT', `Invalid ECDH format: ${String(format)}`);
}

/** A point in another form. */
function pointIn(curve: CurveName, point: Uint8Array, format: unknown): Bytes {
  const isHybrid = point.length > 0 && (point[0] === 6 || point[0] === 7);
  const plain = isHybrid ? Uint8Array.from(point).fill(4, 0, 1) : point;
  let parsed: { toBytes(compressed: boolean): Uint8Array };
  try {
    parsed = nist()[curve].Point.fromBytes(plain as Uint8Array<ArrayBuffer>);
  } catch {
    throw failed('Failed to convert Buffer to EC_POINT');
  }
  const bytes = Buffer.from(parsed.toBytes(format === 'compressed'));
  if (format === 'hybrid') bytes[0] = 6 + ((bytes[bytes.length - 1] as number) & 1);
  return bytes;
}

export const ECDH = /* @__PURE__ */ Object.assign(
  oldClass<Ecdh>(
    'ECDH',
    Object,
    {
      generateKeys(this: Ecdh & { getPublicKey: Function }, encoding?: unknown, format?: unknown) {
        const { name } = this[CURVE];
        const scalar = nist()[name].utils.randomSecretKey();
        const point = nist()[name].getPublicKey(scalar, false);
        Object.assign(this[CURVE], { scalar, point, isForeign: false });
        return this.getPublicKey(encoding, format);
      },
      computeSecret(this: Ecdh, key: unknown, from?: unknown, to?: unknown): Bytes | string {
        const { name, scalar, point: own, isForeign } = this[CURVE];
        const bytes = bytesOfText(key, 'key', from);
        if (isForeign && scalar && !sameBytes(own as Bytes, nist()[name].getPublicKey(scalar, false)))
          throw failed('Invalid key pair', 'ERR_CRYPTO_INVALID_KEYPAIR', RangeError);
        const message = 'Public key is not valid for specified curve';
        let point: Bytes;
        try {
          point = pointIn(name, bytes, undefined);
        } catch {
          throw nodeError(Error, 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', message);
        }
        if (scalar === undefined) throw failed('Failed to compute ECDH key');
        return inEncoding(nist()[name].getSharedSecret(scalar, point, true).subarray(1), to);
      },
      getPublicKey(this: Ecdh, encoding?: unknown, format?: unknown): Bytes | string {
        checkFormat(format);
        const { name, point } = this[CURVE];
        if (point === undefined) throw failed('Failed to get ECDH public key');
        return inEncoding(pointIn(name, point, format), encoding);
      },
      getPrivateKey(this: Ecdh, encoding?: unknown): Bytes | string {
        const { scalar } = this[CURVE];
        if (scalar === undefined) throw failed('Failed to get ECDH private key');
        return inEncoding(bytesOfNumber(numberOf(scalar)), encoding);
      },
      setPrivateKey(this: Ecdh, key: unknown, encoding?: unknown): Ecdh {
        const state = this[CURVE];
        const value = numberOf(bytesOfText(key, 'key', encoding));
        const size = CURVES[state.name].bytes;
        const message = 'Private key is not valid for specified curve.';
        if (bytesOf(value) > size || !nist()[state.name].utils.isValidSecretKey(bytesOfNumber(value, size)))
          throw failed(message, 'ERR_CRYPTO_INVALID_KEYTYPE', RangeError);
        state.scalar = bytesOfNumber(value, size);
        state.point = nist()[state.name].getPublicKey(state.scalar, false);
        state.isForeign = false;
        return this;
      },
      setPublicKey(this: Ecdh, key: unknown, encoding?: unknown): Ecdh {
        const point = pointIn(this[CURVE].name, bytesOfText(key, 'key', encoding), undefined);
        Object.assign(this[CURVE], { point, isForeign: true });
        return this;
      },
    },
    function (curve: unknown) {
      Object.defineProperty(this, CURVE, { value: { name: curveOf(curve) } });
    },
  ),
  {
    /** The arguments of Node.js: key, curve, the encodings of both, and the form of the point. */
    convertKey(...[key, curve, from, to, format]: unknown[]): Bytes | string {
      validateString(curve, 'curve');
      const bytes = bytesOfText(key, 'key', from);
      checkFormat(format);
      return inEncoding(pointIn(curveOf(curve), bytes, format), to || from);
    },
  },
);
export const createECDH = (curve: unknown): Ecdh => new ECDH(curve);
export const getCurves = (): string[] => Object.keys(CURVES);

const AGREEING = ['dh', 'ec', 'x25519', 'x448'];
const mismatch = (): Error => opensslError('1C8000CB', 'Provider routines', 'mismatching domain parameters');

/** The secret of two keys: of the private one of one side, and of the public one of the other. */
export function diffieHellman(options: unknown): Bytes {
  validateObject(options, 'options');
  const { privateKey, publicKey } = options as Record<string, unknown>;
  if (!isKeyed(privateKey)) throw invalidArgValue('options.privateKey', privateKey);
  if (!isKeyed(publicKey)) throw invalidArgValue('options.publicKey', publicKey);
  if (privateKey[KEY].type !== 'private') throw wrongKeyType(privateKey[KEY].type, 'private');
  const [own, other] = [materialOf(privateKey), materialOf(publicKey)];
  if (own.kind !== other.kind || !AGREEING.includes(own.kind)) {
    const message = `Incompatible key types for Diffie-Hellman: ${own.kind} and ${other.kind}`;
    throw nodeError(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY', message);
  }
  return Buffer.from(agreed(own, other));
}

function agreed(own: Material, other: Material): Uint8Array {
  if (own.kind === 'x25519' || own.kind === 'x448')
    return edwards()[own.kind].getSharedSecret(own.scalar as Uint8Array<ArrayBuffer>, other.public);
  if (own.kind === 'ec') {
    if (own.curve !== other.curve) throw mismatch();
    const point = pointIn(own.curve, other.public, undefined);
    return nist()[own.curve].getSharedSecret(own.scalar, point, true).subarray(1);
  }
  const [prime, generator] = dhGroup(own);
  if (dhGroup(other)[0] !== prime) throw mismatch();
  const [privateKey, publicKey] = [own.private as Bytes, other.public].map((bytes) =>
    numberOf(new DerReader(bytes).content(INTEGER)),
  ) as [bigint, bigint];
  return bytesOfNumber(secretWith({ prime, generator, privateKey }, publicKey), bytesOf(prime));
}
