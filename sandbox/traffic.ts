/**
 * The streams of one call, by number, on the isolate's side: 0 is the call's own (its upload one way, its answer the
 * other), the others are those of its fetches. What the host says of them is handed to the one it is for.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import { Inbound } from './inbound.ts';
import { Outbound } from './outbound.ts';
import { OutboundWhole } from './outbound-whole.ts';
import { MapIntrinsic, mapForEach, mapGet, mapSet } from './web/primordials.ts';
import type { ByteSource } from './web/streams/byte-source.ts';

/** The call's own streams. */
export const OWN_STREAM = 0;

export class Traffic {
  readonly #call: number;
  readonly #emit: Emit;
  readonly #inbound: Map<number, Inbound> = new MapIntrinsic();
  readonly #outbound: Map<number, Outbound | OutboundWhole> = new MapIntrinsic();

  constructor(call: number, emit: Emit) {
    this.#call = call;
    this.#emit = emit;
  }

  /** Opens a stream that comes to the isolate. */
  receive(stream: number): Inbound {
    const inbound = new Inbound(this.#call, stream, this.#emit);
    mapSet(this.#inbound, stream, inbound);
    return inbound;
  }

  /** Opens a stream that leaves the isolate; `run` sends it. */
  send(stream: number, source: ByteSource, bytesMax: number): Outbound {
    const outbound = new Outbound(this.#call, stream, this.#emit, source, bytesMax);
    mapSet(this.#outbound, stream, outbound);
    return outbound;
  }

  /** Opens a stream that leaves the isolate, of a body that is there as a whole; `send` begins it. */
  sendWhole(stream: number, body: string | ArrayBuffer, onDone?: () => void): OutboundWhole {
    const outbound = new OutboundWhole(this.#call, stream, this.#emit, body, onDone);
    mapSet(this.#outbound, stream, outbound);
    return outbound;
  }

  chunk(stream: number, bytes: ArrayBuffer): void {
    mapGet(this.#inbound, stream)?.chunk(bytes);
  }

  /** @param error empty where that was all */
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

  /** Breaks one stream off, both ways. */
  abandon(stream: number, reason: unknown): void {
    mapGet(this.#inbound, stream)?.fail(reason);
    this.drop(stream, reason);
  }

  /** The call is over: what is still on its way comes to nothing. */
  end(reason: unknown): void {
    mapForEach(this.#inbound, (inbound) => inbound.fail(reason));
    mapForEach(this.#outbound, (outbound) => outbound.drop(reason));
  }
}
