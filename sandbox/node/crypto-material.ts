/**
 * Pairs of keys as bytes: what SPKI, PKCS #8, PKCS #1, SEC 1, certificates and JSON Web Keys hold,
 * and encryption with a passphrase.
 */
import { pbkdf2 } from '@noble/hashes/pbkdf2.js';
import { Buffer, type Bytes } from './buffer.ts';
import { opensslError } from './crypto-bytes.ts';
import { cipherNamed, machineOf } from './crypto-cipher-modes.ts';
import {
  bytesOfNumber,
  DerReader,
  der,
  derBits,
  derInteger,
  derNull,
  derOid,
  INTEGER,
  numbered,
  numberOf,
  OCTET_STRING,
  readPem,
  SEQUENCE,
  writePem,
} from './crypto-der.ts';
import { hashNamed } from './crypto-hash.ts';
import { edwards, nist } from './crypto-lazy.ts';
import { power } from './crypto-numbers.ts';
import { randomBytes } from './crypto-random.ts';
import { nodeError, validateObject, validateString } from './errors.ts';

/** Kinds of pairs → their object identifiers. */
export const KINDS = {
  rsa: '2a864886f70d010101',
  'rsa-pss': '2a864886f70d01010a',
  dh: '2a864886f70d010301',
  ec: '2a8648ce3d0201',
  x25519: '2b656e',
  x448: '2b656f',
  ed25519: '2b6570',
  ed448: '2b6571',
} as const;
export type Kind = keyof typeof KINDS;
const kindOf = (oid: string): Kind | undefined =>
  (Object.keys(KINDS) as Kind[]).find((kind) => KINDS[kind] === oid);

interface CurveInfo {
  readonly oid: string;
  readonly jwk: string;
  /** Bytes of a coordinate and of a private key. */
  readonly bytes: number;
}
export type CurveName = keyof ReturnType<typeof nist>;
export const CURVES: Readonly<Record<CurveName, CurveInfo>> = {
  prime256v1: { oid: '2a8648ce3d030107', jwk: 'P-256', bytes: 32 },
  secp256k1: { oid: '2b8104000a', jwk: 'secp256k1', bytes: 32 },
  secp384r1: { oid: '2b81040022', jwk: 'P-384', bytes: 48 },
  secp521r1: { oid: '2b81040023', jwk: 'P-521', bytes: 66 },
};
/** The curve of a name, also of the name in a JSON Web Key; undefined for others. */
export const curveNamed = (name: string): CurveName | undefined =>
  (Object.keys(CURVES) as CurveName[]).find((one) => one === name || CURVES[one].jwk === name);

export const algorithmOf = (kind: Kind, ...parameters: readonly Uint8Array[]): Bytes =>
  der(SEQUENCE, derOid(KINDS[kind]), ...(kind === 'rsa' ? [derNull()] : parameters));

/** The keys of a curve of Edwards or Montgomery. */
type EdwardsKind = keyof ReturnType<typeof edwards>;
export const isEdwards = (kind: Kind): kind is EdwardsKind => /^(?:x|ed)\d/.test(kind);
const EDWARDS_BYTES: Readonly<Record<EdwardsKind, number>> = { ed25519: 32, ed448: 57, x25519: 32, x448: 56 };

export interface RsaNumbers {
  readonly n: bigint;
  readonly e: bigint;
  readonly d?: bigint;
  readonly primes?: readonly [p: bigint, q: bigint, dp: bigint, dq: bigint, qi: bigint];
}

/** A pair of keys, or its public half. */
export class Material {
  readonly kind: Kind;
  /** The identifier of the algorithm with its parameters, as SPKI and PKCS #8 have it. */
  readonly algorithm: Bytes;
  /** What PKCS #8 has of the private key; undefined for a public one. */
  readonly private: Bytes | undefined;
  #public: Bytes | undefined;
  #numbers: RsaNumbers | undefined;

  constructor(algorithm: Bytes, parts: { private?: Bytes; public?: Bytes }) {
    this.kind = kindOf(new DerReader(algorithm).inner(SEQUENCE).oid()) ?? unsupported();
    this.algorithm = algorithm;
    this.private = parts.private;
    this.#public = parts.public;
  }

  /** What SPKI has of the public key. */
  get public(): Bytes {
    this.#public ??= this.#derived();
    return this.#public;
  }

  /** The parameters of the algorithm. */
  get parameters(): DerReader {
    const reader = new DerReader(this.algorithm).inner(SEQUENCE);
    reader.oid();
    return reader;
  }

  get curve(): CurveName {
    const oid = this.parameters.oid();
    return (Object.keys(CURVES) as CurveName[]).find((name) => CURVES[name].oid === oid) ?? unsupported();
  }

  /** The bytes of a private key of a curve. */
  get scalar(): Bytes {
    if (this.private === undefined) return unsupported();
    if (this.kind !== 'ec') return new DerReader(this.private).content(OCTET_STRING);
    const reader = new DerReader(this.private).inner(SEQUENCE);
    reader.integer();
    return bytesOfNumber(numberOf(reader.content(OCTET_STRING)), CURVES[this.curve].bytes);
  }

  get rsa(): RsaNumbers {
    this.#numbers ??= this.private === undefined ? publicRsa(this.public) : privateRsa(this.private);
    return this.#numbers;
  }

  get publicHalf(): Material {
    return new Material(this.algorithm, { public: this.public });
  }

  #derived(): Bytes {
    const bytes = this.private ?? unsupported();
    if (this.kind === 'rsa' || this.kind === 'rsa-pss')
      return der(SEQUENCE, derInteger(this.rsa.n), derInteger(this.rsa.e));
    if (isEdwards(this.kind)) return Buffer.from(edwards()[this.kind].getPublicKey(this.scalar));
    if (this.kind === 'dh')
      return derInteger(dhPublic(this, numberOf(new DerReader(bytes).content(INTEGER))));
    const reader = new DerReader(bytes).inner(SEQUENCE);
    reader.integer();
    reader.content(OCTET_STRING);
    if (reader.tag === numbered(1)) return Buffer.from(reader.inner(numbered(1)).bits());
    return Buffer.from(nist()[this.curve].getPublicKey(this.scalar, false));
  }
}

function publicRsa(bytes: Bytes): RsaNumbers {
  const reader = new DerReader(bytes).inner(SEQUENCE);
  return { n: reader.integer(), e: reader.integer() };
}

function privateRsa(bytes: Bytes): RsaNumbers {
  const reader = new DerReader(bytes).inner(SEQUENCE);
  reader.integer();
  const [n, e, d] = [reader.integer(), reader.integer(), reader.integer()];
  const next = () => reader.integer();
  return { n, e, d, primes: [next(), next(), next(), next(), next()] };
}

export const rsaPrivateBytes = (numbers: readonly bigint[]): Bytes =>
  der(SEQUENCE, derInteger(0n), ...numbers.map(derInteger));

/** @param point added to the private key, as OpenSSL does */
export const ecPrivateBytes = (scalar: Uint8Array, point?: Uint8Array, curve?: Uint8Array): Bytes =>
  der(
    SEQUENCE,
    derInteger(1n),
    der(OCTET_STRING, scalar),
    ...(curve === undefined ? [] : [der(numbered(0), curve)]),
    ...(point === undefined ? [] : [der(numbered(1), derBits(point))]),
  );

/** Prime and generator of a key for Diffie-Hellman. */
export function dhGroup(material: Material): readonly [prime: bigint, generator: bigint] {
  const reader = material.parameters.inner(SEQUENCE);
  return [reader.integer(), reader.integer()];
}
const dhPublic = (material: Material, secret: bigint): bigint => {
  const [prime, generator] = dhGroup(material);
  return power(generator, secret, prime);
};

function unsupported(): never {
  throw opensslError('1E08010C', 'DECODER routines', 'unsupported');
}

/** @throws Error of OpenSSL where the bytes are something else */
function decoded(read: () => Material): Material {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return unsupported();
    throw error;
  }
}

const fromSpki = (reader: DerReader): Material =>
  new Material(Buffer.from(reader.element(SEQUENCE)), { public: Buffer.from(reader.bits()) });

function fromPkcs8(bytes: Bytes): Material {
  const reader = new DerReader(bytes).inner(SEQUENCE);
  reader.integer();
  const algorithm = Buffer.from(reader.element(SEQUENCE));
  return new Material(algorithm, { private: Buffer.from(reader.content(OCTET_STRING)) });
}

function fromSec1(bytes: Bytes): Material {
  const reader = new DerReader(bytes).inner(SEQUENCE);
  reader.integer();
  reader.content(OCTET_STRING);
  return new Material(algorithmOf('ec', reader.content(numbered(0))), { private: bytes });
}

/** The key that a certificate is about. */
function fromCertificate(bytes: Bytes): Material {
  const reader = new DerReader(bytes).inner(SEQUENCE).inner(SEQUENCE);
  if (reader.tag === numbered(0)) reader.element();
  for (const tag of [INTEGER, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE]) reader.element(tag);
  return fromSpki(reader.inner(SEQUENCE));
}

const CBC: Readonly<Record<string, string>> = {
  '60864801650304012a': 'aes-256-cbc',
  '608648016503040116': 'aes-192-cbc',
  '608648016503040102': 'aes-128-cbc',
};
const [PBES2, PBKDF2, HMAC] = ['2a864886f70d01050d', '2a864886f70d01050c', '2a864886f70d02'];
const HMACS: Readonly<Record<string, string>> = {
  '07': 'sha1',
  '08': 'sha224',
  '09': 'sha256',
  '0a': 'sha384',
  '0b': 'sha512',
};
const ITERATIONS = 2_048;

interface Sealer {
  readonly cipher: string;
  readonly key: Uint8Array;
  readonly iv: Uint8Array;
}

function through({ cipher, key, iv }: Sealer, data: Uint8Array, encrypts: boolean): Bytes {
  const info = cipherNamed(cipher);
  if (info?.mode !== 'cbc') throw nodeError(Error, 'ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
  const machine = machineOf(info, new Uint8Array(key), new Uint8Array(iv), encrypts);
  return Buffer.concat([machine.update(data), machine.final()]);
}
const keyBytesOf = (cipher: string): number => cipherNamed(cipher)?.keyLength ?? 0;

function secretFor(passphrase: Bytes | undefined): Bytes {
  if (passphrase !== undefined) return passphrase;
  throw opensslError('07880109', 'common libcrypto routines', 'interrupted or cancelled');
}

function decrypted(bytes: Bytes, passphrase: Bytes | undefined): Bytes {
  const reader = new DerReader(bytes).inner(SEQUENCE);
  const algorithm = reader.inner(SEQUENCE);
  if (algorithm.oid() !== PBES2) return unsupported();
  const parameters = algorithm.inner(SEQUENCE);
  const derivation = parameters.inner(SEQUENCE);
  if (derivation.oid() !== PBKDF2) return unsupported();
  const options = derivation.inner(SEQUENCE);
  const [salt, iterations] = [options.content(OCTET_STRING), Number(options.integer())];
  if (options.tag === INTEGER) options.integer();
  const hmac = options.tag === SEQUENCE ? options.inner(SEQUENCE).oid() : `${HMAC}07`;
  const hash = hashNamed(HMACS[hmac.slice(HMAC?.length)] ?? '') ?? unsupported();
  const scheme = parameters.inner(SEQUENCE);
  const cipher = CBC[scheme.oid()] ?? unsupported();
  const key = pbkdf2(hash, secretFor(passphrase), salt, { c: iterations, dkLen: keyBytesOf(cipher) });
  const iv = scheme.content(OCTET_STRING);
  return through({ cipher, key, iv }, reader.content(OCTET_STRING), false);
}

function encrypted(bytes: Bytes, cipher: string, passphrase: Bytes): Bytes {
  const name = cipherNamed(cipher)?.name ?? '';
  const [salt, iv] = [randomBytes(16) as Bytes, randomBytes(16) as Bytes];
  const hash = hashNamed('sha256') ?? unsupported();
  const key = pbkdf2(hash, passphrase, salt, { c: ITERATIONS, dkLen: keyBytesOf(name) });
  const data = through({ cipher: name, key, iv }, bytes, true);
  const [oid = ''] = Object.entries(CBC).find(([, one]) => one === name) ?? [];
  const hmac = der(SEQUENCE, derOid(`${HMAC}09`), derNull());
  const options = der(SEQUENCE, der(OCTET_STRING, salt), derInteger(BigInt(ITERATIONS)), hmac);
  const parameters = der(
    SEQUENCE,
    der(SEQUENCE, derOid(PBKDF2 as string), options),
    der(SEQUENCE, derOid(oid), der(OCTET_STRING, iv)),
  );
  return der(SEQUENCE, der(SEQUENCE, derOid(PBES2 as string), parameters), der(OCTET_STRING, data));
}

/** The key of a PEM that is encrypted in the manner of before PKCS #8. */
function oldKey(passphrase: Bytes, iv: Bytes, size: number): Bytes {
  const md5 = hashNamed('md5') ?? unsupported();
  let [key, last] = [Buffer.alloc(0), Buffer.alloc(0)];
  while (key.length < size) {
    last = Buffer.from(md5(Buffer.concat([last, passphrase, iv.subarray(0, 8)])));
    key = Buffer.concat([key, last]);
  }
  return key.subarray(0, size);
}

function oldDecrypted(bytes: Bytes, headers: string, passphrase: Bytes | undefined): Bytes {
  const [, cipher = '', digits = ''] = /^DEK-Info: ([\w-]+),([0-9A-F]+)/m.exec(headers) ?? [];
  if (cipher === '') return bytes;
  const [secret, iv] = [secretFor(passphrase), Buffer.from(digits, 'hex')];
  return through({ cipher, key: oldKey(secret, iv, keyBytesOf(cipher)), iv }, bytes, false);
}

/** How a key is written: `{ format: 'pem', type: 'pkcs8', cipher, passphrase }`. */
export interface Encoding {
  readonly format?: string | undefined;
  readonly type?: string | undefined;
  readonly cipher?: string | undefined;
  readonly passphrase?: Bytes | undefined;
}

/** Reads a private key. */
export const privateMaterial = (bytes: Bytes, { format, type, passphrase }: Encoding): Material =>
  decoded(() => {
    if (format === 'der') {
      if (type === 'pkcs1') return new Material(algorithmOf('rsa'), { private: bytes });
      if (type === 'sec1') return fromSec1(bytes);
      const reader = new DerReader(bytes).inner(SEQUENCE);
      return fromPkcs8(reader.tag === SEQUENCE ? decrypted(bytes, passphrase) : bytes);
    }
    const pem = readPem(bytes.toString('latin1'));
    if (pem?.label === 'ENCRYPTED PRIVATE KEY') return fromPkcs8(decrypted(pem.bytes, passphrase));
    if (pem?.label === 'PRIVATE KEY') return fromPkcs8(pem.bytes);
    const isOld = pem?.label === 'RSA PRIVATE KEY' || pem?.label === 'EC PRIVATE KEY';
    if (pem === undefined || !isOld) return unsupported();
    const plain = oldDecrypted(pem.bytes, pem.headers, passphrase);
    return pem.label.startsWith('EC')
      ? fromSec1(plain)
      : new Material(algorithmOf('rsa'), { private: plain });
  });

/** Reads a public key, or a private one for its public half. */
export const publicMaterial = (bytes: Bytes, encoding: Encoding): Material =>
  decoded(() => {
    const { format, type } = encoding;
    const pem = format === 'der' ? undefined : readPem(bytes.toString('latin1'));
    if (format === 'der' ? type === 'spki' : pem?.label === 'PUBLIC KEY')
      return fromSpki(new DerReader(pem?.bytes ?? bytes).inner(SEQUENCE));
    const isPkcs1 = pem?.label === 'RSA PUBLIC KEY';
    if (isPkcs1 || (type === 'pkcs1' && format === 'der' && !isPrivate(bytes)))
      return new Material(algorithmOf('rsa'), { public: pem?.bytes ?? bytes });
    if (/CERTIFICATE$/.test(pem?.label ?? '')) return fromCertificate(pem?.bytes ?? bytes);
    return privateMaterial(bytes, encoding).publicHalf;
  });

/** Whether a key in PKCS #1 begins with a version. */
function isPrivate(bytes: Bytes): boolean {
  const reader = new DerReader(bytes).inner(SEQUENCE);
  return reader.content(INTEGER).length === 1;
}

const LABELS: Readonly<Record<string, string>> = { pkcs1: 'RSA ', sec1: 'EC ' };

/** Writes the public half. */
export function writePublic(material: Material, { format, type }: Encoding): Bytes | string {
  const isPkcs1 = type === 'pkcs1';
  const bytes = isPkcs1 ? material.public : der(SEQUENCE, material.algorithm, derBits(material.public));
  return format === 'pem' ? writePem(isPkcs1 ? 'RSA PUBLIC KEY' : 'PUBLIC KEY', bytes) : bytes;
}

/** Writes a private key. */
export function writePrivate(material: Material, encoding: Encoding): Bytes | string {
  const { format, type = '', cipher, passphrase } = encoding;
  const bytes = privateBytes(material, type);
  if (cipher === undefined || passphrase === undefined)
    return format === 'pem' ? writePem(`${LABELS[type] ?? ''}PRIVATE KEY`, bytes) : bytes;
  if (cipherNamed(cipher) === undefined)
    throw nodeError(Error, 'ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
  if (type === 'pkcs8') {
    const sealed = encrypted(bytes, cipher, passphrase);
    return format === 'pem' ? writePem('ENCRYPTED PRIVATE KEY', sealed) : sealed;
  }
  const iv = randomBytes(16) as Bytes;
  const sealed = through({ cipher, key: oldKey(passphrase, iv, keyBytesOf(cipher)), iv }, bytes, true);
  const name = cipherNamed(cipher)?.name.toUpperCase();
  const headers = `Proc-Type: 4,ENCRYPTED\nDEK-Info: ${name},${iv.toString('hex').toUpperCase()}`;
  return writePem(`${LABELS[type] ?? ''}PRIVATE KEY`, sealed, headers);
}

function privateBytes(material: Material, type: string): Bytes {
  const { algorithm, private: bytes = unsupported() } = material;
  if (type === 'pkcs1') return bytes;
  if (type === 'sec1')
    return ecPrivateBytes(material.scalar, material.public, derOid(CURVES[material.curve].oid));
  const written = material.kind === 'ec' ? ecPrivateBytes(material.scalar, material.public) : bytes;
  return der(SEQUENCE, derInteger(0n), algorithm, der(OCTET_STRING, written));
}

type Jwk = Readonly<Record<string, unknown>>;
const RSA_MEMBERS = ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const;
const url64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const invalidJwk = (message: string): Error => nodeError(TypeError, 'ERR_CRYPTO_INVALID_JWK', message);

function member(jwk: Jwk, name: string): Bytes {
  validateString(jwk[name], `key.${name}`);
  return Buffer.from(jwk[name], 'base64url');
}

/** Reads a JSON Web Key. */
export function jwkMaterial(jwk: unknown, isPublic: boolean): Material {
  validateObject(jwk, 'key.key');
  const { kty, crv } = jwk as Jwk;
  if (kty === 'RSA') {
    const members = RSA_MEMBERS.slice(0, isPublic ? 2 : undefined);
    const isWhole = members.every((name) => typeof (jwk as Jwk)[name] === 'string');
    if (!isWhole) throw invalidJwk('Invalid JWK RSA key');
    const numbers = members.map((name) => numberOf(member(jwk as Jwk, name)));
    if (isPublic)
      return new Material(algorithmOf('rsa'), { public: der(SEQUENCE, ...numbers.map(derInteger)) });
    return new Material(algorithmOf('rsa'), { private: rsaPrivateBytes(numbers) });
  }
  if (kty !== 'EC' && kty !== 'OKP') throw invalidJwk(`${String(kty)} is not a supported JWK key type`);
  validateString(crv, 'key.crv');
  const x = member(jwk as Jwk, 'x');
  if (kty === 'OKP') {
    const kind = crv.toLowerCase() as Kind;
    if (!Object.hasOwn(KINDS, kind) || !isEdwards(kind)) throw invalidJwk('Unsupported JWK OKP curve');
    const bytes = isPublic ? x : member(jwk as Jwk, 'd');
    if (bytes.length !== EDWARDS_BYTES[kind]) throw invalidJwk('Invalid JWK OKP key');
    return isPublic ? new Material(algorithmOf(kind), { public: x }) : edwardsMaterial(kind, bytes);
  }
  const curve = curveNamed(crv);
  if (curve === undefined || CURVES[curve].jwk !== crv) throw invalidJwk('Unsupported JWK EC curve');
  const size = CURVES[curve].bytes;
  const coordinates = [x, member(jwk as Jwk, 'y')].map((one) => bytesOfNumber(numberOf(one), size));
  const point = Buffer.concat([Buffer.from([4]), ...coordinates]);
  const scalar = isPublic ? undefined : bytesOfNumber(numberOf(member(jwk as Jwk, 'd')), size);
  const isPair = scalar === undefined || nist()[curve].utils.isValidSecretKey(scalar);
  if (!isPair || !nist()[curve].utils.isValidPublicKey(point)) throw invalidJwk('Invalid JWK EC key');
  return ecMaterial(curve, scalar === undefined ? { point } : { point, scalar });
}

export const ecMaterial = (
  curve: CurveName,
  { point, scalar }: { readonly point: Uint8Array; readonly scalar?: Uint8Array },
): Material =>
  new Material(algorithmOf('ec', derOid(CURVES[curve].oid)), {
    public: Buffer.from(point),
    ...(scalar !== undefined && { private: ecPrivateBytes(scalar, point) }),
  });

export const edwardsMaterial = (kind: EdwardsKind, scalar: Uint8Array): Material =>
  new Material(algorithmOf(kind), { private: der(OCTET_STRING, scalar) });

/** Writes a JSON Web Key. */
export function writeJwk(material: Material): object {
  const { kind, private: secret } = material;
  if (kind === 'rsa') {
    const { n, e, d, primes = [] } = material.rsa;
    const numbers = [n, e, ...(d === undefined ? [] : [d, ...primes])];
    const members = numbers.map((value, at) => [RSA_MEMBERS[at], url64(bytesOfNumber(value))] as const);
    return { kty: 'RSA', ...Object.fromEntries(members) };
  }
  if (isEdwards(kind)) {
    const crv = kind[0]?.toUpperCase() + kind.slice(1);
    const scalar = secret === undefined ? {} : { d: url64(material.scalar) };
    return { kty: 'OKP', crv, x: url64(material.public), ...scalar };
  }
  if (kind !== 'ec')
    throw nodeError(Error, 'ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE', 'Unsupported JWK Key Type.');
  const { jwk: crv, bytes } = CURVES[material.curve];
  const [x, y] = [material.public.subarray(1, 1 + bytes), material.public.subarray(1 + bytes)];
  const scalar = secret === undefined ? {} : { d: url64(material.scalar) };
  return { kty: 'EC', x: url64(x), y: url64(y), crv, ...scalar };
}
