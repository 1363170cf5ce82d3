/**
 * `context.storage` and `context.integration.storage`: values that the platform keeps for the code
 * (docs/contract/storage.md).
 *
 * Operations do not travel over HTTP: the platform hands the script a function for them. This file
 * turns values into text or bytes and back, and errors into `StorageError`.
 */

/** Anything that JSON can express. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue | undefined };

/** What can be stored: any JSON value, or bytes, which are read as a `Uint8Array`. */
export type StorableValue = JsonValue | Uint8Array | ArrayBuffer;

/** A stored value with what is known of it. */
export interface StoredEntry<Value = unknown> {
  /** The value as it was stored. */
  readonly value: Value;
  /** Changes with the value; no value of the key has the same one again. */
  readonly version: number;
  /** When it expires, if it does. */
  readonly expiresAt?: Date;
}

/** A key in a list. */
export interface StoredKey {
  /** The key as it was given. */
  readonly key: string;
  /** What its value is. */
  readonly kind: 'json' | 'bytes';
  /** Size of key and value together. */
  readonly bytes: number;
  /** Version of its value. */
  readonly version: number;
  /** When it expires, if it does. */
  readonly expiresAt?: Date;
  /** When the value was stored. */
  readonly updatedAt: Date;
}

/** When a value is stored, and for how long. */
export interface PutOptions {
  /** Seconds until the value expires; never, if absent. */
  readonly expiresIn?: number;
  /** Stores it only if this is the present version; 0 if there must be no value. */
  readonly ifVersion?: number;
}

/** Which keys a list has. */
export interface ListOptions {
  /** Only keys that begin with it. */
  readonly prefix?: string;
  /** Keys at most, up to 1,000; 100 by default. */
  readonly limit?: number;
  /** `cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/**
 * Thrown by storage for what it refuses (docs/contract/storage.md#limits).
 *
 * @example
 * try {
 *   await context.storage.put('owner', id, { ifVersion: 0 });
 * } catch (error) {
 *   if (!(error instanceof StorageError) || error.code !== 'STORED_VALUE_CHANGED') throw error;
 * }
 */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  /** Error code, such as `STORED_VALUE_CHANGED` or `STORAGE_FULL`. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The function of the platform. @param request JSON @param value JSON text, or bytes */
export type RunStorage = (
  request: string,
  value?: string | ArrayBuffer,
) => Promise<readonly [answer: string, value?: ArrayBuffer]>;

/** Tries of `update` until it gives up: each means that another call has changed the value. */
const TRIES_MAX = 50;
const BACK_OFF_MS_MAX = 64;

/**
 * Values under keys: of an installation (`context.storage`), or of the integration, shared by its
 * installations (`context.integration.storage`).
 *
 * What is stored is there as soon as the promise resolves, for every other call, and outlives
 * calls, versions and restarts.
 *
 * @example
 * const { storage } = context;
 * await storage.put('team', { id: 'T1', members: 7 });
 * const team = await storage.get<{ id: string }>('team');
 */
export class Storage {
  readonly #run: RunStorage | undefined;
  readonly #area: 'installation' | 'integration';

  constructor(run: RunStorage | undefined, area: 'installation' | 'integration') {
    this.#run = run;
    this.#area = area;
  }

  /**
   * Reads a value.
   *
   * @returns undefined if there is none, or it has expired; bytes as a `Uint8Array`
   */
  async get<Value = unknown>(key: string): Promise<Value | undefined> {
    return (await this.getEntry<Value>(key))?.value;
  }

  /** The same with its version, for `ifVersion`, and when it expires. */
  async getEntry<Value = unknown>(key: string): Promise<StoredEntry<Value> | undefined> {
    const [answer, bytes = new ArrayBuffer()] = await this.#ask({ do: 'get', key });
    if (answer.version === undefined) return undefined;
    const { kind, version, expiresAt } = answer;
    const value = kind === 'bytes' ? new Uint8Array(bytes) : JSON.parse(new TextDecoder().decode(bytes));
    return { value, version, ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }) };
  }

  /**
   * Reads several values, each on its own: another call may change one in between.
   *
   * @returns key → value, of those that are there, in the order of the keys
   */
  async getMany<Value = unknown>(keys: readonly string[]): Promise<Map<string, Value>> {
    const unique = [...new Set(keys)];
    const values = await Promise.all(unique.map((key) => this.get<Value>(key)));
    return new Map(
      unique.flatMap((key, index) => (values[index] === undefined ? [] : [[key, values[index]] as const])),
    );
  }

  /**
   * Stores a value. Without `expiresIn` it does not expire, whatever the one before did.
   *
   * @returns its version
   * @throws StorageError `STORED_VALUE_CHANGED` if `ifVersion` is not the present version,
   *   `STORAGE_FULL`, `REQUEST_TOO_LARGE`, `REQUEST_RATE_EXCEEDED`
   * @throws TypeError if JSON cannot express the value, or it is too large
   *
   * @example
   * await context.storage.put('session', { user }, { expiresIn: 3600 });
   * await context.storage.put('owner', id, { ifVersion: 0 }); // only if there is none
   */
  async put<Value = StorableValue>(
    key: string,
    value: Value,
    options: PutOptions = {},
  ): Promise<{ version: number }> {
    const { expiresIn, ifVersion } = options;
    const bytes = bytesOf(value);
    const sent = bytes ?? jsonOf(value);
    const kind = bytes === undefined ? 'json' : 'bytes';
    const [{ version = 0 }] = await this.#ask({ do: 'put', key, kind, expiresIn, ifVersion }, sent);
    return { version };
  }

  /**
   * Deletes a value.
   *
   * @returns whether there was one
   * @throws StorageError `STORED_VALUE_CHANGED` if `ifVersion` is not the present version
   */
  async delete(key: string, { ifVersion }: Pick<PutOptions, 'ifVersion'> = {}): Promise<boolean> {
    const [{ was = false }] = await this.#ask({ do: 'delete', key, ifVersion });
    return was;
  }

  /**
   * Lists keys in their order, without values.
   *
   * @example
   * let cursor: string | undefined;
   * do {
   *   const page = await context.storage.list({ prefix: 'job/', cursor });
   *   for (const { key } of page.items) await work(key);
   *   cursor = page.cursor;
   * } while (cursor !== undefined);
   */
  async list(options: ListOptions = {}): Promise<{ items: StoredKey[]; cursor?: string }> {
    const { prefix, limit, cursor } = options;
    const [{ items = [], cursor: next }] = await this.#ask({ do: 'list', prefix, limit, cursor });
    return {
      items: items.map(({ expiresAt, updatedAt, ...item }) => ({
        ...item,
        ...(expiresAt !== null && { expiresAt: new Date(expiresAt) }),
        updatedAt: new Date(updatedAt),
      })),
      ...(next !== undefined && { cursor: next }),
    };
  }

  /**
   * Changes a value by what it is: reads it, and stores what `change` makes of it, if it is still
   * the same; otherwise again. So no change of another call is lost. `change` may run several
   * times, and should only compute.
   *
   * @param change gets the present value, or undefined, and returns the new one
   * @returns what was stored
   * @throws StorageError `STORED_VALUE_CHANGED` if other calls change it without a pause
   *
   * @example
   * await context.storage.update<string[]>('seen', (seen = []) => [...seen, id].slice(-100));
   */
  async update<Value = StorableValue>(
    key: string,
    change: (value: Value | undefined) => Value | Promise<Value>,
    options: Pick<PutOptions, 'expiresIn'> = {},
  ): Promise<Value> {
    for (let tries = 1; ; tries += 1) {
      const entry = await this.getEntry<Value>(key);
      const value = await change(entry?.value);
      try {
        await this.put(key, value, { ...options, ifVersion: entry?.version ?? 0 });
        return value;
      } catch (error) {
        if (!(error instanceof StorageError) || error.code !== 'STORED_VALUE_CHANGED' || tries === TRIES_MAX)
          throw error;
      }
      // At random, so that calls which collide do not do so again.
      const waitMs = Math.random() * Math.min(2 ** tries, BACK_OFF_MS_MAX);
      await new Promise<void>((resolve) => setTimeout(resolve, waitMs));
    }
  }

  /**
   * Adds to a whole number. One that is not there begins at 0; when it expires stays as it is.
   *
   * @param by a whole number, which may be negative
   * @returns the sum
   * @throws StorageError `STORED_VALUE_NOT_WHOLE` if the value, or the sum, is no whole number that
   *   a number holds exactly
   */
  async increment(key: string, by = 1): Promise<number> {
    const [{ value = 0 }] = await this.#ask({ do: 'increment', key, by });
    return value;
  }

  async #ask(
    request: object,
    value?: string | ArrayBuffer,
  ): Promise<readonly [answer: StorageAnswer, value: ArrayBuffer | undefined]> {
    if (this.#run === undefined)
      throw new TypeError(
        'Storage needs a service of Annex that has it, and a script that it runs by itself.',
      );
    const [text, found] = await this.#run(JSON.stringify({ ...request, area: this.#area }), value);
    const answer = JSON.parse(text) as StorageAnswer;
    if (answer.error !== undefined) throw new StorageError(answer.error.message, answer.error.code);
    return [answer, found];
  }
}

/** Members depend on the operation. */
interface StorageAnswer {
  readonly error?: { readonly code: string; readonly message: string };
  readonly kind?: 'json' | 'bytes';
  readonly version?: number;
  readonly expiresAt?: number;
  readonly was?: boolean;
  readonly value?: number;
  readonly items?: readonly (Omit<StoredKey, 'expiresAt' | 'updatedAt'> & {
    readonly expiresAt: number | null;
    readonly updatedAt: number;
  })[];
  readonly cursor?: string;
}

function bytesOf(value: unknown): ArrayBuffer | undefined {
  if (value instanceof ArrayBuffer) return value;
  if (value instanceof Uint8Array) return new Uint8Array(value).buffer;
  return undefined;
}

function jsonOf(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text !== undefined) return text;
  throw new TypeError(`storage: a value of type ${typeof value} cannot be stored; delete removes a key`);
}
