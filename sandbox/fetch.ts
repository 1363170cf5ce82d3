/**
 * `fetch` (https://fetch.spec.whatwg.org/#fetch-method): the isolate's half of an outbound request.
 *
 * The isolate has no network. Method, URL, headers and bytes leave it, and the host decides whether
 * and where they are sent (docs/contract/runtime.md#outbound-fetch). A fetch belongs to the call
 * that made it and ends with it.
 */
import type { Emit, Entry } from '../src/protocol/bridge.ts';
import { type Call, type Calls, LOADER_ID } from './call.ts';
import { WHOLE_LENGTH_MAX } from './outbound-buffered.ts';
import { type PendingFetch, PendingFetches } from './pending-fetches.ts';
import { atob } from './web/encoding/base64.ts';
import { utf8Encode } from './web/encoding/utf8.ts';
import type { DataUrlNeeds } from './web/fetch/data-url.ts';
import { trimHttpSpace } from './web/fetch/header-list.ts';
import { parseMimeType, serializeMimeType } from './web/fetch/mime-type.ts';
import { type OutgoingRequest, takeRequest } from './web/fetch/request.ts';
import {
  isNullBodyStatus,
  makeResponse,
  type Response,
  Response as ResponseClass,
} from './web/fetch/response.ts';
import { abort } from './web/lazy.ts';
import { part } from './web/parts.ts';
import {
  arrayBufferByteLength,
  indexOf,
  mapDelete,
  mapGet,
  mapSet,
  PromiseIntrinsic,
  slice,
  typedArrayBuffer,
  Uint8ArrayIntrinsic,
  uncurryGetter,
} from './web/primordials.ts';
import { type ByteSource, isByteSource } from './web/streams/byte-source.ts';
import { fetchLog, sinceOrigin } from './web/time/clock.ts';

type FetchedEntry = Extract<Entry, [kind: 'fetched', ...unknown[]]>;

const DATA = 'data:';
const EVENT_STREAM = 'text/event-stream';
const DATA_URL_NEEDS: DataUrlNeeds = {
  atob,
  makeResponse,
  parseMimeType,
  serializeMimeType,
  trimHttpSpace,
  utf8Encode,
};

const statusOf = uncurryGetter<number>(ResponseClass.prototype, 'status');

type Origin = Pick<PendingFetch, 'ofScript' | 'place'>;

/** A failure that the host reports. */
class HostFailure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

const lengthOf = (body: string | ArrayBuffer): number =>
  typeof body === 'string' ? body.length : arrayBufferByteLength(body);

/** The fetches of all calls of an isolate. */
export class Fetches {
  readonly #calls: Calls;
  readonly #emit: Emit;

  constructor(calls: Calls, emit: Emit) {
    this.#calls = calls;
    this.#emit = emit;
  }

  /**
   * Runs one fetch of the running call.
   *
   * @param called the function that the script called; undefined for a fetch of the prelude
   * @returns the response; its body follows
   */
  async run(input: unknown, init: unknown, called?: Function): Promise<Response> {
    const outgoing = takeRequest(input, init);
    const origin = { ofScript: called !== undefined, place: called && this.#calls.placeBehind(called) };
    try {
      const { signal } = outgoing;
      if (signal !== undefined && abort().isAborted(signal)) throw abort().abortReason(signal);
      // Nothing leaves the isolate for it, so no call and no limit has a part in it.
      if (slice(outgoing.url, 0, DATA.length) === DATA)
        return part('data-url', DATA_URL_NEEDS).fetchDataUrl(outgoing);
      const call = this.#calls.running();
      if (call === undefined) throw new TypeError('fetch was called after the call had ended');
      // The host knows calls only, and a script that loads is not one.
      if (call.id === LOADER_ID)
        throw new TypeError('fetch cannot be used while the script loads, only by its handlers');
      const fetches = this.#count(call);
      const id = fetches.begun;
      const turn = fetches.enter(this.#calls.settings.fetchesInFlightPerCall, signal);
      if (turn !== undefined) {
        this.#calls.meet(call, 'fetchesInFlightPerCall');
        await turn;
      }
      try {
        if (signal !== undefined && abort().isAborted(signal)) throw abort().abortReason(signal);
        if (this.#calls.get(call.id) !== call)
          throw new TypeError('The call ended before its fetch could begin');
        if (fetchLog === undefined) return await this.#send(call, id, outgoing, origin);
        const began = sinceOrigin();
        const response = await this.#send(call, id, outgoing, origin);
        fetchLog(outgoing.url, began, statusOf(response));
        return response;
      } finally {
        fetches.leave();
      }
    } catch (thrown) {
      // The error is made here, in the tenant's chain of awaits, so that its stack has the line
      // that called `fetch`.
      const reason = thrown instanceof HostFailure ? new TypeError(thrown.message) : thrown;
      // The rest of the body is not needed, whether or not some of it was sent.
      if (isByteSource(outgoing.body)) outgoing.body.cancel(reason);
      throw reason;
    }
  }

  /**
   * The head of an answer has come. With `more` (the last member), its body follows as a stream.
   */
  answered(entry: FetchedEntry): void {
    const id = entry[2];
    const call = this.#calls.get(entry[1]);
    const pending = this.#take(call, id);
    if (call === undefined || pending === undefined) return;
    const stream = entry[9] ? this.#calls.streams(call).receive(id) : undefined;
    if (stream === undefined) pending.unwatch?.();
    else {
      stream.onOver = pending.unwatch;
      // A subscription: whoever reads it waits as long as the call lasts.
      stream.isSubscription = indexOf(entry[7], EVENT_STREAM) >= 0;
    }
    const status = entry[3];
    // An empty body is a body too, with a stream that ends at once.
    const isBodiless = pending.head || isNullBodyStatus(status);
    const none = isBodiless ? undefined : typedArrayBuffer(new Uint8ArrayIntrinsic());
    // Attack: a getter `type` on `Object.prototype` that receives these parts, with the source of
    // the body.
    const parts = {
      __proto__: null,
      status,
      statusText: entry[4],
      url: entry[5],
      redirected: entry[6],
      headers: entry[7],
      body: stream ?? entry[8] ?? none,
    };
    pending.resolve(makeResponse(parts));
  }

  /** The host refused a fetch, or the network failed. */
  failed(callId: number, id: number, message: string): void {
    const error = new TypeError(message);
    const call = this.#calls.get(callId);
    call?.streams?.abandon(id, error);
    const pending = this.#take(call, id);
    pending?.unwatch?.();
    pending?.reject(new HostFailure(message));
  }

  /** Counts one more fetch of a call. @throws TypeError beyond the limit */
  #count(call: Call): PendingFetches {
    call.fetches ??= new PendingFetches();
    const fetches = call.fetches;
    fetches.begun += 1;
    const { fetchesPerCall } = this.#calls.settings;
    if (fetches.begun <= fetchesPerCall) return fetches;
    this.#calls.meet(call, 'fetchesPerCall');
    throw new TypeError(
      `fetch: the call makes too many requests; the limit is ${fetchesPerCall} (fetchesPerCall)`,
    );
  }

  /** @returns the error to throw */
  #tooLarge(call: Call): TypeError {
    const { fetchRequestBodyBytes } = this.#calls.settings;
    this.#calls.meet(call, 'fetchRequestBodyBytes');
    return new TypeError(
      `fetch: the request body is too large; the limit is ${fetchRequestBodyBytes} bytes (fetchRequestBodyBytes)`,
    );
  }

  /** A body that is in memory as a whole. @throws TypeError beyond its limit, before it crosses */
  #wholeBody(call: Call, body: string | ArrayBuffer | undefined): string | ArrayBuffer | undefined {
    const { fetchRequestBodyBytes } = this.#calls.settings;
    if (body === undefined) return undefined;
    // A character is at most three bytes of UTF-8, so a short text need not be encoded.
    if (typeof body === 'string' && body.length * 3 <= fetchRequestBodyBytes) return body;
    const bytes = typeof body === 'string' ? typedArrayBuffer(utf8Encode(body)) : body;
    if (arrayBufferByteLength(bytes) > fetchRequestBodyBytes) throw this.#tooLarge(call);
    return bytes;
  }

  /** Settles with the head of the answer. An abort ends the fetch and its bodies at any time. */
  #send(call: Call, id: number, outgoing: OutgoingRequest, { ofScript, place }: Origin): Promise<Response> {
    const fetches = call.fetches as PendingFetches;
    const { method, url, redirect, headers, body, signal } = outgoing;
    const source = isByteSource(body) ? body : undefined;
    const whole = isByteSource(body) ? undefined : this.#wholeBody(call, body);
    return new PromiseIntrinsic((resolve, reject) => {
      const unwatch =
        signal &&
        abort().onAbort(signal, () => {
          const reason = abort().abortReason(signal);
          mapDelete(fetches.pending, id);
          reject(reason);
          if (this.#calls.get(call.id) !== call) return;
          this.#emit('drop', call.id, id);
          this.#calls.streams(call).abandon(id, reason);
        });
      mapSet(fetches.pending, id, { resolve, reject, unwatch, head: method === 'HEAD', ofScript, place });
      const inPieces = whole !== undefined && lengthOf(whole) > WHOLE_LENGTH_MAX;
      const inOne = inPieces ? undefined : whole;
      const more = source !== undefined || inPieces;
      this.#emit('fetch', call.id, id, method, url, redirect, headers, inOne, more, inPieces);
      if (source !== undefined) void this.#upload(call, id, fetches, source);
      else if (inPieces) this.#calls.streams(call).sendWhole(id, whole).send();
    });
  }

  /** Sends a streamed body. One that fails or is too large ends its fetch. */
  async #upload(call: Call, id: number, fetches: PendingFetches, source: ByteSource): Promise<void> {
    const outbound = this.#calls.streams(call).send(id, source);
    const end = await outbound.run(this.#calls.settings.fetchRequestBodyBytes);
    if (end !== 'failed' && end !== 'large') return;
    if (end === 'large') this.#emit('drop', call.id, id);
    const pending = mapGet(fetches.pending, id);
    mapDelete(fetches.pending, id);
    pending?.unwatch?.();
    pending?.reject(end === 'failed' ? outbound.reason : this.#tooLarge(call));
  }

  /** Removes a pending fetch. @returns undefined if it was aborted, or its call has ended */
  #take(call: Call | undefined, id: number): PendingFetch | undefined {
    const pending = call?.fetches && mapGet(call.fetches.pending, id);
    if (call?.fetches === undefined || pending === undefined) return undefined;
    mapDelete(call.fetches.pending, id);
    return pending;
  }
}
