/**
 * Storage (docs/contract/storage.md): the isolate's half of an operation. The SDK says what it is,
 * and reads the answer; this file counts it, and hands it to the host.
 *
 * An operation belongs to the call that asked for it. A call that ends leaves its answers behind;
 * what the host has begun is done all the same.
 */
import type { Emit, Entry } from '../src/protocol/bridge.ts';
import { type Call, type Calls, LOADER_ID } from './call.ts';
import { PendingFetches, type Stored } from './pending-fetches.ts';
import { copyBytes } from './web/encoding/bytes.ts';
import { utf8Length } from './web/encoding/utf8.ts';
import {
  arrayBufferByteLength,
  mapDelete,
  mapGet,
  mapSet,
  PromiseIntrinsic,
  typedArrayBuffer,
  Uint8ArrayIntrinsic,
} from './web/primordials.ts';

/** `STORE_IN_FLIGHT_MAX` of the wire. */
const IN_FLIGHT_MAX = 32;
/** `WIRE_BOUNDS.storeChars`. */
const REQUEST_CHARS_MAX = 16 * 1024;

export class StorageOperations {
  readonly #calls: Calls;
  readonly #emit: Emit;

  constructor(calls: Calls, emit: Emit) {
    this.#calls = calls;
    this.#emit = emit;
  }

  /**
   * @param request JSON that describes it
   * @param value to store: JSON text, or bytes
   */
  async run(call: Call, request: unknown, value: unknown): Promise<Stored> {
    if (typeof request !== 'string') throw new TypeError('storage: the request must be text');
    if (request.length > REQUEST_CHARS_MAX)
      throw new TypeError('storage: the key, the prefix or the cursor is too large');
    const sent = this.#checked(call, value);
    if (this.#calls.get(call.id) !== call || call.id === LOADER_ID)
      throw new TypeError('storage: the call has ended');
    const operations = this.#count(call);
    const operation = operations.begun;
    const turn = operations.enter(IN_FLIGHT_MAX, undefined);
    if (turn !== undefined) await turn;
    try {
      if (this.#calls.get(call.id) !== call)
        throw new TypeError('storage: the call ended before the operation could begin');
      return await new PromiseIntrinsic<Stored>((resolve, reject) => {
        mapSet(operations.pending, operation, {
          resolve,
          reject,
          unwatch: undefined,
          head: false,
          ofScript: true,
          place: undefined,
        });
        this.#emit('store', call.id, operation, request, sent);
      });
    } finally {
      operations.leave();
    }
  }

  answered([, callId, operation, answer, value]: Extract<Entry, [kind: 'stored', ...unknown[]]>): void {
    const operations = this.#calls.get(callId)?.storage;
    const pending = operations && mapGet(operations.pending, operation);
    if (operations === undefined || pending === undefined) return;
    mapDelete(operations.pending, operation);
    pending.resolve([answer, value]);
  }

  /** Attack: a value of 60 MB. It is refused before it is copied across the bridge. */
  #checked(call: Call, value: unknown): string | ArrayBuffer | undefined {
    if (value === undefined) return undefined;
    const { storageValueBytes: max } = this.#calls.settings;
    const bytes =
      typeof value !== 'string'
        ? arrayBufferByteLength(value as ArrayBuffer)
        : value.length > max || value.length * 3 <= max
          ? value.length
          : utf8Length(value);
    // A copy: the code's own buffer may be one that grows.
    if (bytes <= max)
      return typeof value === 'string'
        ? value
        : typedArrayBuffer(copyBytes(new Uint8ArrayIntrinsic(value as ArrayBuffer)));
    this.#calls.meet(call, 'storageValueBytes');
    throw new TypeError(`storage: the value is too large; the limit is ${max} bytes (storageValueBytes)`);
  }

  /** Counts one more operation of a call. @throws TypeError beyond the limit */
  #count(call: Call): PendingFetches<Stored> {
    call.storage ??= new PendingFetches();
    const operations = call.storage;
    operations.begun += 1;
    const { storageOperationsPerCall: max } = this.#calls.settings;
    if (operations.begun <= max) return operations;
    this.#calls.meet(call, 'storageOperationsPerCall');
    throw new TypeError(
      `storage: the call makes too many operations; the limit is ${max} (storageOperationsPerCall)`,
    );
  }
}
