/**
 * Requests with chunked bodies: joins small chunks before any other code sees them, and stops
 * reading from an address that sends too many (see `small-chunks.ts`).
 *
 * Attack: a body in chunks of one byte. Streams, routes and cells have a cost for each chunk.
 * Node's parser calls `push` of the request for each chunk, so chunks are joined there. A sender
 * that is held back looks slow to `slow-senders.ts`, which ends it if it continues.
 */
import { IncomingMessage } from 'node:http';
import type { AddressList } from '../../model/address-list.ts';
import { type SmallChunkRate, SmallChunks } from '../../model/small-chunks.ts';
import { addressKey, clientAddress } from './client-address.ts';

export interface ChunkedRequestDeps {
  readonly rate: SmallChunkRate;
  readonly trustedProxies: AddressList;
  /** Called once for each body that is held back. */
  held(address: string): void;
}

/** @returns the class that a server uses for its requests */
export function chunkedRequests({ rate, trustedProxies, held }: ChunkedRequestDeps): typeof IncomingMessage {
  return class ChunkedRequest extends IncomingMessage {
    /** Created with the first chunk of a chunked body. */
    #chunks: SmallChunks | undefined;
    #isReported = false;

    override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
      if (this.#chunks === undefined) {
        if (chunk === null || this.headers['transfer-encoding'] === undefined)
          return super.push(chunk, encoding);
        this.#chunks = this.#joining();
      }
      if (chunk === null) {
        this.#chunks.end(() => super.push(null));
        return false;
      }
      this.#chunks.add(chunk);
      // After `false`, Node reads no further from the connection until the body is read.
      const isFull = this.readableLength + this.#chunks.waitingBytes >= this.readableHighWaterMark;
      return !isFull && !this.#chunks.isHeld;
    }

    override _read(size: number): void {
      if (!this.#chunks?.isHeld) super._read(size);
    }

    override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
      this.#chunks?.drop();
      super._destroy(error, done);
    }

    #joining(): SmallChunks {
      return new SmallChunks({
        chargeLot: () => this.#chargeLot(),
        push: (bytes) => void super.push(bytes),
        released: () => undefined,
      });
    }

    #chargeLot(): number {
      const address = clientAddress(this, trustedProxies);
      // A request in process has no address; its integration pays CPU for each chunk.
      const holdMs = address === undefined ? 0 : rate.chargeLot(addressKey(address));
      if (address !== undefined && holdMs > 0 && !this.#isReported) {
        this.#isReported = true;
        held(address);
      }
      return holdMs;
    }
  };
}
