/**
 * The globals of Web Crypto, for the type checker (https://www.w3.org/TR/WebCryptoAPI/). Bounds of
 * this runtime: 16 MiB for one operation, PBKDF2 with 100,000 iterations, RSA keys of 4,096 bits;
 * the time of an operation counts as CPU of its call.
 */

type KeyFormat = 'raw' | 'pkcs8' | 'spki' | 'jwk';
type KeyUsage =
  | 'encrypt'
  | 'decrypt'
  | 'sign'
  | 'verify'
  | 'deriveKey'
  | 'deriveBits'
  | 'wrapKey'
  | 'unwrapKey';
type HashAlgorithmIdentifier = string | { name: string };

/**
 * A name, or an object with a name and the parameters of the algorithm: `iv`, `hash`, `namedCurve`,
 * …
 */
type AlgorithmIdentifier =
  | string
  | {
      name: string;
      additionalData?: BufferSource;
      counter?: BufferSource;
      hash?: HashAlgorithmIdentifier;
      info?: BufferSource;
      iterations?: number;
      iv?: BufferSource;
      label?: BufferSource;
      length?: number;
      modulusLength?: number;
      namedCurve?: string;
      public?: CryptoKey;
      publicExponent?: Uint8Array;
      salt?: BufferSource;
      saltLength?: number;
      tagLength?: number;
    };

interface JsonWebKey {
  alg?: string;
  crv?: string;
  d?: string;
  dp?: string;
  dq?: string;
  e?: string;
  ext?: boolean;
  k?: string;
  key_ops?: string[];
  kty?: string;
  n?: string;
  p?: string;
  q?: string;
  qi?: string;
  use?: string;
  x?: string;
  y?: string;
}

/** A key; its material never leaves the cell unless `extractable`. */
declare class CryptoKey {
  private constructor();
  readonly algorithm: {
    name: string;
    hash?: { name: string };
    length?: number;
    modulusLength?: number;
    namedCurve?: string;
    publicExponent?: Uint8Array<ArrayBuffer>;
  };
  readonly extractable: boolean;
  readonly type: 'public' | 'private' | 'secret';
  readonly usages: KeyUsage[];
}

interface CryptoKeyPair {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

declare class SubtleCrypto {
  private constructor();
  decrypt(algorithm: AlgorithmIdentifier, key: CryptoKey, data: BufferSource): Promise<ArrayBuffer>;
  deriveBits(
    algorithm: AlgorithmIdentifier,
    baseKey: CryptoKey,
    length?: number | null,
  ): Promise<ArrayBuffer>;
  deriveKey(
    algorithm: AlgorithmIdentifier,
    baseKey: CryptoKey,
    derivedKeyType: AlgorithmIdentifier,
    extractable: boolean,
    keyUsages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  digest(algorithm: AlgorithmIdentifier, data: BufferSource): Promise<ArrayBuffer>;
  encrypt(algorithm: AlgorithmIdentifier, key: CryptoKey, data: BufferSource): Promise<ArrayBuffer>;
  exportKey(format: 'jwk', key: CryptoKey): Promise<JsonWebKey>;
  exportKey(format: Exclude<KeyFormat, 'jwk'>, key: CryptoKey): Promise<ArrayBuffer>;
  generateKey(
    algorithm: AlgorithmIdentifier,
    extractable: boolean,
    keyUsages: Iterable<KeyUsage>,
  ): Promise<CryptoKey | CryptoKeyPair>;
  importKey(
    format: KeyFormat,
    keyData: BufferSource | JsonWebKey,
    algorithm: AlgorithmIdentifier,
    extractable: boolean,
    keyUsages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  sign(algorithm: AlgorithmIdentifier, key: CryptoKey, data: BufferSource): Promise<ArrayBuffer>;
  unwrapKey(
    format: KeyFormat,
    wrappedKey: BufferSource,
    unwrappingKey: CryptoKey,
    unwrapAlgorithm: AlgorithmIdentifier,
    unwrappedKeyAlgorithm: AlgorithmIdentifier,
    extractable: boolean,
    keyUsages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  verify(
    algorithm: AlgorithmIdentifier,
    key: CryptoKey,
    signature: BufferSource,
    data: BufferSource,
  ): Promise<boolean>;
  wrapKey(
    format: KeyFormat,
    key: CryptoKey,
    wrappingKey: CryptoKey,
    wrapAlgorithm: AlgorithmIdentifier,
  ): Promise<ArrayBuffer>;
}

declare class Crypto {
  private constructor();
  readonly subtle: SubtleCrypto;
  /** Fills an array of integers, of 65,536 bytes at most. */
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
}

declare class QuotaExceededError extends DOMException {
  constructor(message?: string, options?: { quota?: number; requested?: number });
  readonly quota: number | null;
  readonly requested: number | null;
}

declare var crypto: Crypto;
