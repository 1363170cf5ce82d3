/**
 * `fetch` (https://fetch.spec.whatwg.org/#fetch-method): the tenant's half of a request to the network. The isolate has no
 * network; what leaves is a method, a URL, headers and bytes, and the host decides whether and where they go.
 *
 * A fetch belongs to the call that made it and ends with it. How many a call may make, and how many at once, is counted
 * here, inside, because each would otherwise already hold memory outside the isolate's heap.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import { type Call, type Calls, LOADER_ID } from './call.ts';
import { WHOLE_LENGTH_MAX } from './outbound-whole.ts';
import { utf8Encode } from './web/encoding/utf8.ts';
import { type OutgoingRequest, takeRequest } from './web/fetch/request.ts';
import { isNullBodyStatus, makeResponse, type Response } from './web/fetch/response.ts';
import { abort } from './web/lazy.ts';
import { List, push } from './web/list.ts';
import {
  arrayBufferByteLength,
  MapIntrinsic,
  mapDelete,
  mapForEach,
  mapGet,
  mapSet,
  PromiseIntrinsic,
  typedArrayBuffer,
  Uint8ArrayIntrinsic,
} from './web/primordials.ts';
import { type ByteSource, isByteSource } from './web/streams/byte-source.ts';

/** The head of an answer, as the host sends it. */
export interface FetchedHead {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly redirected: boolean;
  /** `name LF value LF …` */
  readonly headers: string;
}

interface Pending {
  resolve(response: Response): void;
  reject(reason: unknown): void;
  /** Stops listening to the request's signal, which may outlive the exchange by far. */
  readonly unwatch: (() => void) | undefined;
  /** Its answer has no body, whatever its status. */
  readonly head: boolean;
}

/** A fetch that waits for its turn. */
interface Waiting {
  begin(): void;
  gone: boolean;
}

/** What the host says of a fetch that came to nothing. */
class HostFailure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** The fetches of one call. */
export class PendingFetches {
  begun = 0;
  /** Fetches without an answer. */
  inFlight = 0;
  readonly pending: Map<number, Pending> = new MapIntrinsic();
  /** Those that wait for their turn, first come, first served. */
  #waiting = new List<Waiting>();
  #served = 0;

  /** Settles when one more may be on its way; rejects where the signal is aborted before, and the place goes to another. */
  turn(atOnceMax: number, signal: OutgoingRequest['signal']): Promise<void> | undefined {
    if (this.inFlight < atOnceMax) {
      this.inFlight += 1;
      return undefined;
    }
    return new PromiseIntrinsic((resolve, reject) => {
      const unwatch =
        signal &&
        abort().onAbort(signal, () => {
          waiting.gone = true;
          reject(abort().abortReason(signal));
        });
      const waiting: Waiting = {
        begin: () => {
          unwatch?.();
          resolve();
        },
        gone: false,
      };
      push(this.#waiting, waiting);
    });
  }

  /** One has its answer, or never will: its place goes to the next. */
  leave(): void {
    for (let next = this.#waiting[this.#served]; next !== undefined; next = this.#waiting[this.#served]) {
      delete this.#waiting[this.#served];
      this.#served += 1;
      if (next.gone) continue;
      next.begin();
      return;
    }
    this.inFlight -= 1;
  }

  /** The call is over. */
  end(reason: unknown): void {
    mapForEach(this.pending, ({ reject, unwatch }) => {
      unwatch?.();
      reject(reason);
    });
  }
}

export interface Fetches {
  /** The global. */
  readonly fetch: (input: unknown, init?: unknown) => Promise<Response>;
  /** The host's answer. With `more`, its body follows as a stream. */
  answered(call: number, id: number, head: FetchedHead, body: ArrayBuffer | undefined, more: boolean): void;
  failed(call: number, id: number, message: string): void;
}

const lengthOf = (body: string | ArrayBuffer): number =>
  typeof body === 'string' ? body.length : arrayBufferByteLength(body);

export function createFetches(calls: Calls, emit: Emit): Fetches {
  async function run(input: unknown, init: unknown): Promise<Response> {
    const outgoing = takeRequest(input, init);
    try {
      const { signal } = outgoing;
      if (signal !== undefined && abort().isAborted(signal)) throw abort().abortReason(signal);
      const call = calls.running();
      if (call === undefined) throw new TypeError('fetch was called after the call had ended');
      // The host knows calls, and has given this isolate none yet.
      if (call.id === LOADER_ID)
        throw new TypeError('fetch cannot be used while the script loads, only by its handlers');
      call.fetches ??= new PendingFetches();
      const fetches = call.fetches;
      fetches.begun += 1;
      const id = fetches.begun;
      const { fetchesPerCall, fetchesInFlightPerCall } = calls.settings;
      if (id > fetchesPerCall) {
        calls.meet(call, 'fetchesPerCall');
        throw new TypeError(
          `fetch: the call makes too many requests; the limit is ${fetchesPerCall} (fetchesPerCall)`,
        );
      }
      const turn = fetches.turn(fetchesInFlightPerCall, signal);
      if (turn !== undefined) {
        calls.meet(call, 'fetchesInFlightPerCall');
        await turn;
      }
      try {
        if (signal !== undefined && abort().isAborted(signal)) throw abort().abortReason(signal);
        if (calls.get(call.id) !== call) throw new TypeError('The call ended before its fetch could begin');
        return await send(call, id, fetches, outgoing);
      } finally {
        fetches.leave();
      }
    } catch (thrown) {
      // Made here, in the tenant's own chain of awaits, so that its stack has the line that called `fetch`.
      const reason = thrown instanceof HostFailure ? new TypeError(thrown.message) : thrown;
      // What was to be sent is for nobody, whether or not any of it has left.
      if (isByteSource(outgoing.body)) outgoing.body.cancel(reason);
      throw reason;
    }
  }

  /** To be thrown. */
  function tooLarge(call: Call): TypeError {
    const { fetchRequestBodyBytes } = calls.settings;
    calls.meet(call, 'fetchRequestBodyBytes');
    return new TypeError(
      `fetch: the request body is too large; the limit is ${fetchRequestBodyBytes} bytes (fetchRequestBodyBytes)`,
    );
  }

  /** A body that is there already, within its limit: what is over it must not leave the isolate. */
  function wholeBody(call: Call, body: string | ArrayBuffer | undefined): string | ArrayBuffer | undefined {
    const { fetchRequestBodyBytes } = calls.settings;
    if (body === undefined) return undefined;
    // A character is at most three bytes of UTF-8: a short text need not be encoded to be measured.
    if (typeof body === 'string' && body.length * 3 <= fetchRequestBodyBytes) return body;
    const bytes = typeof body === 'string' ? typedArrayBuffer(utf8Encode(body)) : body;
    if (arrayBufferByteLength(bytes) > fetchRequestBodyBytes) throw tooLarge(call);
    return bytes;
  }

  /** Settles with the head of the answer. An abort ends the exchange at any time, its bodies included. */
  function send(
    call: Call,
    id: number,
    fetches: PendingFetches,
    { method, url, redirect, headers, body, signal }: OutgoingRequest,
  ): Promise<Response> {
    const source = isByteSource(body) ? body : undefined;
    const whole = isByteSource(body) ? undefined : wholeBody(call, body);
    return new PromiseIntrinsic((resolve, reject) => {
      const unwatch =
        signal &&
        abort().onAbort(signal, () => {
          const reason = abort().abortReason(signal);
          mapDelete(fetches.pending, id);
          reject(reason);
          if (calls.get(call.id) !== call) return;
          emit('drop', call.id, id);
          calls.traffic(call).abandon(id, reason);
        });
      mapSet(fetches.pending, id, { resolve, reject, unwatch, head: method === 'HEAD' });
      const inPieces = whole !== undefined && lengthOf(whole) > WHOLE_LENGTH_MAX;
      const inOne = inPieces ? undefined : whole;
      const more = source !== undefined || inPieces;
      emit('fetch', call.id, id, method, url, redirect, headers, inOne, more, inPieces);
      if (source !== undefined) void upload(call, id, fetches, source);
      else if (inPieces) calls.traffic(call).sendWhole(id, whole).send();
    });
  }

  /** A body that breaks, or is too large, takes its fetch with it. */
  async function upload(call: Call, id: number, fetches: PendingFetches, source: ByteSource): Promise<void> {
    const { fetchRequestBodyBytes } = calls.settings;
    const outbound = calls.traffic(call).send(id, source, fetchRequestBodyBytes);
    const end = await outbound.run();
    if (end !== 'failed' && end !== 'large') return;
    if (end === 'large') emit('drop', call.id, id);
    const pending = mapGet(fetches.pending, id);
    mapDelete(fetches.pending, id);
    pending?.unwatch?.();
    pending?.reject(end === 'failed' ? outbound.reason : tooLarge(call));
  }

  /** Takes the one that waits for this answer; undefined where nobody does any more. */
  function take(callId: number, id: number): { call: Call; pending: Pending } | undefined {
    const call = calls.get(callId);
    const pending = call?.fetches && mapGet(call.fetches.pending, id);
    if (call?.fetches === undefined || pending === undefined) return undefined;
    mapDelete(call.fetches.pending, id);
    return { call, pending };
  }

  return {
    // Not async itself: a promise in a promise is unwrapped through a `then` that the tenant may have replaced.
    fetch: function fetch(input: unknown, init: unknown = undefined) {
      return run(input, init);
    },
    answered(callId, id, head, body, more) {
      const taken = take(callId, id);
      if (taken === undefined) return;
      const stream = more ? calls.traffic(taken.call).receive(id) : undefined;
      if (stream === undefined) taken.pending.unwatch?.();
      else stream.onOver = taken.pending.unwatch;
      // A body of no bytes is a body all the same, with a stream that ends at once.
      const isBodiless = taken.pending.head || isNullBodyStatus(head.status);
      const none = isBodiless ? undefined : typedArrayBuffer(new Uint8ArrayIntrinsic());
      // Attack: a getter `type` on `Object.prototype` is handed these parts, and with them the source of the body.
      const parts = { __proto__: null, ...head, body: stream ?? body ?? none };
      taken.pending.resolve(makeResponse(parts));
    },
    failed(callId, id, message) {
      const error = new TypeError(message);
      // Its body is for nobody.
      calls.get(callId)?.traffic?.abandon(id, error);
      const pending = take(callId, id)?.pending;
      pending?.unwatch?.();
      pending?.reject(new HostFailure(message));
    },
  };
}
