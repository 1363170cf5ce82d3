/**
 * Requests whose bodies come in chunks: joins small ones before any other code sees them, and reads no further from an
 * address that sends too many (see `small-chunks.ts`).
 *
 * Node's parser calls `push` of the request for each chunk. Everything behind it, the streams, the doors and the cells, has
 * a cost for each piece, so it is there that pieces are joined. A sender that is held back looks slow, and is ended as such
 * where it goes on.
 */
import { IncomingMessage } from 'node:http';
import { type SmallChunkRate, SmallChunks } from '../model/small-chunks.ts';
import type { AddressList } from './address-list.ts';
import { addressKey, clientAddress } from './client-address.ts';

export interface ChunkedRequestParts {
  readonly rate: SmallChunkRate;
  readonly trustedProxies: AddressList;
  /** Told once of each body that is held back. */
  held(address: string): void;
}

/** The class of a server's requests. */
export function chunkedRequests({ rate, trustedProxies, held }: ChunkedRequestParts): typeof IncomingMessage {
  return class ChunkedRequest extends IncomingMessage {
    /** Made with the first chunk of a body that comes in chunks. */
    #chunks: SmallChunks | undefined;
    #isTold = false;

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
      // With `false`, Node reads no further from the connection until the body is asked for more.
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
      // An integration's own, which comes in process, has spent CPU of its call on each chunk.
      const holdMs = address === undefined ? 0 : rate.chargeLot(addressKey(address));
      if (address !== undefined && holdMs > 0 && !this.#isTold) {
        this.#isTold = true;
        held(address);
      }
      return holdMs;
    }
  };
}
