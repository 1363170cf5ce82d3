/**
 * The connections of a listener: how many there may be, and that whoever asks also reads.
 *
 * A connection costs its owner next to nothing and the host a socket, a parser and what is on its way. Without a bound, one
 * machine takes them all; and a client that stops reading holds an answer in the host's memory when its call is long over,
 * where no limit of a call reaches. Both are kept here, at no cost to a call: sockets are looked at twice a second.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../limits.ts';
import type { AddressList } from './address-list.ts';
import { addressKey, clientAddress } from './client-address.ts';
import { LOOK_EVERY_MS, Pace } from './sender-pace.ts';

export interface ClientConnectionsParts {
  readonly limits: Pick<
    Limits,
    'connections' | 'connectionsPerAddress' | 'answerStallMs' | 'paceBytesPerSecond'
  >;
  /** Their connections carry requests of many, and are bounded only in all. */
  readonly trustedProxies: AddressList;
  /** Milliseconds that only ever grow. */
  readonly clock: () => number;
}

export class ClientConnections {
  readonly #parts: ClientConnectionsParts;
  readonly #paces = new Map<Socket, Pace>();
  readonly #perAddress = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #lastAt: number;

  constructor(parts: ClientConnectionsParts) {
    this.#parts = parts;
    this.#lastAt = parts.clock();
    this.#timer = setInterval(() => this.pass(), LOOK_EVERY_MS).unref();
  }

  /** Bounds the connections of this server from now on. */
  guard(server: Server): void {
    server.on('connection', (socket) => this.#open(socket));
    server.once('close', () => clearInterval(this.#timer));
  }

  /** Looks at all of them once, and ends those whose clients do not read. */
  pass(): void {
    const now = this.#parts.clock();
    const elapsedMs = now - this.#lastAt;
    this.#lastAt = now;
    for (const [socket, pace] of this.#paces) {
      const { bytesWritten, writableLength } = socket;
      if (writableLength === 0) pace.begin(bytesWritten);
      // What has been counted as written may still be waiting: only what is not, has gone.
      else if (pace.isTooSlow(bytesWritten - writableLength, elapsedMs)) socket.resetAndDestroy();
    }
  }

  #open(socket: Socket): void {
    const { limits, trustedProxies } = this.#parts;
    const address = clientAddress({ socket, headers: {} }, trustedProxies);
    // One that did not come over the network is the host's own.
    if (address === undefined) return;
    const key = trustedProxies.has(address) ? undefined : addressKey(address);
    const others = key === undefined ? 0 : (this.#perAddress.get(key) ?? 0);
    if (this.#paces.size >= limits.connections || others >= limits.connectionsPerAddress) {
      socket.resetAndDestroy();
      return;
    }
    const { answerStallMs: stallMs, paceBytesPerSecond } = limits;
    this.#paces.set(socket, new Pace({ stallMs, paceBytesPerSecond }, 0));
    if (key !== undefined) this.#perAddress.set(key, others + 1);
    socket.once('close', () => this.#close(socket, key));
  }

  #close(socket: Socket, key: string | undefined): void {
    this.#paces.delete(socket);
    if (key === undefined) return;
    const left = (this.#perAddress.get(key) ?? 1) - 1;
    if (left === 0) this.#perAddress.delete(key);
    else this.#perAddress.set(key, left);
  }
}
