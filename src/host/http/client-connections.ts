/**
 * Bounds a listener's connections, and closes those whose clients do not read their answers.
 *
 * Attack: one machine that opens connections until the host has no sockets left, or that asks for
 * large answers and reads nothing. Such an answer stays in the host's memory after its call has
 * ended, where no limit of a call applies. Sockets are checked twice a second, so a request pays
 * nothing for it.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../../limits.ts';
import type { AddressList } from '../../model/address-list.ts';
import { addressKey, clientAddress } from './client-address.ts';
import { PACE_CHECK_MS, Pace } from './slow-senders.ts';

export interface ClientConnectionsDeps {
  readonly limits: Pick<
    Limits,
    'connections' | 'connectionsPerAddress' | 'answerStallMs' | 'paceBytesPerSecond'
  >;
  /** Connections from these proxies carry requests of many clients; only the total is bounded. */
  readonly trustedProxies: AddressList;
  /** Monotonic, in milliseconds. */
  readonly monotonicNow: () => number;
}

export class ClientConnections {
  readonly #deps: ClientConnectionsDeps;
  readonly #paces = new Map<Socket, Pace>();
  readonly #perAddress = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #lastAt: number;

  constructor(deps: ClientConnectionsDeps) {
    this.#deps = deps;
    this.#lastAt = deps.monotonicNow();
    this.#timer = setInterval(() => this.pass(), PACE_CHECK_MS).unref();
  }

  /** Bounds the connections of this server, and stops when it closes. */
  guard(server: Server): void {
    server.on('connection', (socket) => this.#open(socket));
    server.once('close', () => clearInterval(this.#timer));
  }

  /** Checks all connections once; resets those whose clients read too slowly. */
  pass(): void {
    const now = this.#deps.monotonicNow();
    const elapsedMs = now - this.#lastAt;
    this.#lastAt = now;
    for (const [socket, pace] of this.#paces) {
      const { bytesWritten, writableLength } = socket;
      if (writableLength === 0) pace.reset(bytesWritten);
      // `bytesWritten` includes bytes that still wait in `writableLength`; only the rest has left.
      else if (pace.isTooSlow(bytesWritten - writableLength, elapsedMs)) socket.resetAndDestroy();
    }
  }

  #open(socket: Socket): void {
    const { limits, trustedProxies } = this.#deps;
    const address = clientAddress({ socket, headers: {} }, trustedProxies);
    // A connection without an address is in process.
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
