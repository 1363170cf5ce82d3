/**
 * The streams of one call on the isolate's side, by number: 0 is the call's own (its upload in, its
 * answer out), the others belong to its fetches. Routes the host's stream messages to them.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import { Inbound } from './inbound.ts';
import { Outbound } from './outbound.ts';
import { OutboundBuffered } from './outbound-buffered.ts';
import { MapIntrinsic, mapForEach, mapGet, mapSet } from './web/primordials.ts';
import type { ByteSource } from './web/streams/byte-source.ts';

/** The call's own streams. */
export const OWN_STREAM = 0;

export class IsolateStreams {
  readonly #call: number;
  readonly #emit: Emit;
  readonly #inbound: Map<number, Inbound> = new MapIntrinsic();
  readonly #outbound: Map<number, Outbound | OutboundBuffered> = new MapIntrinsic();

  constructor(call: number, emit: Emit) {
    this.#call = call;
    this.#emit = emit;
  }

  /** Opens a stream into the isolate. */
  receive(stream: number): Inbound {
    const inbound = new Inbound(this.#call, stream, this.#emit);
    mapSet(this.#inbound, stream, inbound);
    return inbound;
  }

  /** Opens a stream out of the isolate; `run` sends it. */
  send(stream: number, source: ByteSource): Outbound {
    const outbound = new Outbound(this.#call, stream, this.#emit, source);
    mapSet(this.#outbound, stream, outbound);
    return outbound;
  }

  /** Opens a stream out of the isolate for a body in memory; `send` begins it. */
  sendWhole(stream: number, body: string | ArrayBuffer): OutboundBuffered {
    const outbound = new OutboundBuffered(this.#call, stream, this.#emit, body);
    mapSet(this.#outbound, stream, outbound);
    return outbound;
  }

  chunk(stream: number, bytes: ArrayBuffer): void {
    mapGet(this.#inbound, stream)?.chunk(bytes);
  }

  /** @param error empty at a regular end */
  close(stream: number, error: string): void {
    const inbound = mapGet(this.#inbound, stream);
    if (error === '') inbound?.end();
    else inbound?.fail(new TypeError(error));
  }

  credit(stream: number, chunks: number): void {
    mapGet(this.#outbound, stream)?.credit(chunks);
  }

  drop(stream: number, reason: unknown): void {
    mapGet(this.#outbound, stream)?.drop(reason);
  }

  /** Aborts one stream in both directions. */
  abandon(stream: number, reason: unknown): void {
    mapGet(this.#inbound, stream)?.fail(reason);
    this.drop(stream, reason);
  }

  /** Bodies that somebody reads. */
  awaited(): number {
    let count = 0;
    mapForEach(this.#inbound, (inbound) => {
      if (inbound.isAwaited && !inbound.isSubscription) count += 1;
    });
    return count;
  }

  /** The call has ended: aborts all streams. */
  end(reason: unknown): void {
    mapForEach(this.#inbound, (inbound) => inbound.fail(reason));
    mapForEach(this.#outbound, (outbound) => outbound.drop(reason));
  }
}
