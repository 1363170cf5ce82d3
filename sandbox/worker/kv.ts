/**
 * The stores of `kv` in a manifest, with the API of Workers KV, over the storage of the
 * installation (docs/contract/plain-workers.md#stores).
 *
 * A key is stored below `kv/{binding}/`. A value without metadata is stored as its bytes; one with
 * metadata as JSON, so that a list knows which values it has to read.
 */
import type { Storage, StoredEntry, StoredKey } from '../sdk/storage.ts';

type ValueType = 'text' | 'json' | 'arrayBuffer' | 'stream';
type TypeOption = ValueType | { readonly type?: ValueType };

interface PutOptions {
  /** Unix time in seconds. */
  readonly expiration?: number;
  /** Seconds. */
  readonly expirationTtl?: number;
  readonly metadata?: unknown;
}

interface ListOptions {
  readonly prefix?: string | null;
  readonly limit?: number;
  readonly cursor?: string | null;
}

/** A stored value that has metadata. */
interface Enveloped {
  readonly metadata: unknown;
  readonly text?: string;
  readonly base64?: string;
}

/** Shortest life of a value, and most bytes of metadata, of Workers KV. */
const TTL_S_MIN = 60;
const METADATA_BYTES_MAX = 1_024;
const KEYS_MAX = 100;
const MS_PER_S = 1_000;

export class KvNamespace {
  readonly #storage: () => Storage;
  readonly #prefix: string;

  /** @param storage of the call that runs */
  constructor(storage: () => Storage, binding: string) {
    this.#storage = storage;
    this.#prefix = `kv/${binding}/`;
  }

  /** The value of a key, or null; of several keys, a `Map`. */
  async get(key: string | readonly string[], type?: TypeOption): Promise<unknown> {
    if (typeof key === 'string') return (await this.getWithMetadata(key, type)).value;
    const found = await this.#many(key, type);
    return new Map([...found].map(([name, { value }]) => [name, value]));
  }

  /** The same with the metadata of the value. */
  async getWithMetadata(key: string, type?: TypeOption): Promise<Found>;
  async getWithMetadata(key: readonly string[], type?: TypeOption): Promise<Map<string, Found>>;
  async getWithMetadata(key: string | readonly string[], type?: TypeOption) {
    if (typeof key !== 'string') return this.#many(key, type);
    const entry = await this.#storage().getEntry<Uint8Array | Enveloped>(this.#keyOf('GET', key));
    if (entry === undefined) return { value: null, metadata: null, cacheStatus: null };
    const { bytes, metadata } = opened(entry);
    return { value: typed(bytes, type), metadata, cacheStatus: null };
  }

  /** Stores a value: text, bytes, or a stream of bytes. */
  async put(key: string, value: unknown, options: PutOptions = {}): Promise<void> {
    const stored = this.#keyOf('PUT', key);
    const { metadata } = options ?? {};
    const expiresIn = lifeOf(options ?? {});
    const bytes = await bytesOf(value);
    const written = metadata === undefined || metadata === null ? bytes : enveloped(value, bytes, metadata);
    await this.#storage().put(stored, written, expiresIn === undefined ? {} : { expiresIn });
  }

  async delete(key: string): Promise<void> {
    await this.#storage().delete(this.#keyOf('DELETE', key));
  }

  /** Keys in their order, up to 1,000. */
  async list(options: ListOptions = {}) {
    const { prefix, limit = 1_000, cursor } = options ?? {};
    const page = await this.#storage().list({
      prefix: this.#prefix + (prefix ?? ''),
      limit,
      ...(cursor && { cursor }),
    });
    const keys = await Promise.all(page.items.map((item) => this.#listed(item)));
    if (page.cursor === undefined) return { keys, list_complete: true, cacheStatus: null };
    return { keys, list_complete: false, cursor: page.cursor, cacheStatus: null };
  }

  async #listed({ key, kind, expiresAt }: StoredKey) {
    // A value that is removed meanwhile has no metadata any more.
    const entry = kind === 'json' ? await this.#storage().getEntry<Enveloped>(key) : undefined;
    return {
      name: key.slice(this.#prefix.length),
      ...(expiresAt !== undefined && { expiration: Math.floor(expiresAt.getTime() / MS_PER_S) }),
      ...(entry !== undefined && { metadata: entry.value.metadata }),
    };
  }

  async #many(keys: readonly string[], type?: TypeOption): Promise<Map<string, Found>> {
    const unique = [...new Set(keys)];
    if (unique.length > KEYS_MAX) throw new Error(`KV GET_BULK failed: at most ${KEYS_MAX} keys`);
    const found = await Promise.all(unique.map((key) => this.getWithMetadata(key, type)));
    return new Map(unique.map((key, index) => [key, found[index] as Found]));
  }

  #keyOf(verb: string, key: unknown): string {
    const name = String(key);
    if (name === '' || name === '.' || name === '..')
      throw new TypeError(`KV ${verb} failed: a key cannot be ${JSON.stringify(name)}`);
    return this.#prefix + name;
  }
}

interface Found {
  readonly value: unknown;
  readonly metadata: unknown;
  readonly cacheStatus: null;
}

function lifeOf({ expiration, expirationTtl }: PutOptions): number | undefined {
  const ttl =
    expirationTtl === undefined && expiration !== undefined
      ? Math.ceil(Number(expiration) - Date.now() / MS_PER_S)
      : expirationTtl;
  if (ttl === undefined || ttl === null) return undefined;
  const seconds = Number(ttl);
  if (Number.isInteger(seconds) && seconds >= TTL_S_MIN) return seconds;
  throw new Error(
    `KV PUT failed: 400 Invalid expiration of ${ttl} seconds. It must be at least ${TTL_S_MIN} seconds.`,
  );
}

async function bytesOf(value: unknown): Promise<Uint8Array> {
  if (typeof value === 'string') return new TextEncoder().encode(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ReadableStream) return new Response(value).bytes();
  throw new TypeError('KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams.');
}

function enveloped(value: unknown, bytes: Uint8Array, metadata: unknown): Enveloped {
  const size = new TextEncoder().encode(JSON.stringify(metadata)).byteLength;
  if (size > METADATA_BYTES_MAX)
    throw new Error(`KV PUT failed: 413 Metadata of ${size} bytes; the limit is ${METADATA_BYTES_MAX}.`);
  if (typeof value === 'string') return { metadata, text: value };
  let latin1 = '';
  for (const byte of bytes) latin1 += String.fromCharCode(byte);
  return { metadata, base64: btoa(latin1) };
}

function opened({ value }: StoredEntry<Uint8Array | Enveloped>): { bytes: Uint8Array; metadata: unknown } {
  if (value instanceof Uint8Array) return { bytes: value, metadata: null };
  const { metadata, text, base64 = '' } = value;
  if (text !== undefined) return { bytes: new TextEncoder().encode(text), metadata };
  return { bytes: Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)), metadata };
}

function typed(bytes: Uint8Array, asked: TypeOption = 'text'): unknown {
  const type = (typeof asked === 'string' ? asked : asked?.type) ?? 'text';
  if (type === 'arrayBuffer') return new Uint8Array(bytes).buffer;
  if (type === 'stream') return new Response(new Uint8Array(bytes)).body;
  const text = new TextDecoder().decode(bytes);
  if (type === 'text') return text;
  if (type === 'json') return JSON.parse(text);
  throw new TypeError(
    'Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".',
  );
}
