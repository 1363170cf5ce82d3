/**
 * Connection pools: one for each owner and origin.
 *
 * Owners share no connections: an owner that keeps its connections to an API busy delays only its
 * own fetches, and a connection carries nothing of another owner. Unused pools are closed after a
 * few seconds, or at once if a connection is needed. All connections together are bounded, because
 * each costs the host a descriptor and buffers.
 */
import type { Socket } from 'node:net';
import type { buildConnector, Pool } from 'undici';
import type { LimitMet } from '../../limits.ts';
import { overLimit } from './egress-error.ts';
import { KEEP_ALIVE_MS, newHttpPool } from './http-pool.ts';
import type { Loopback } from './loopback.ts';
import type { Target } from './policy.ts';

export interface ConnectionPoolsDeps {
  /** The bound on all connections together. */
  readonly limit: LimitMet;
  readonly connectionsPerOrigin: number;
  readonly headerBytes: number;
  connectorTo(target: Target, owner: string): buildConnector.connector;
}

/** A connection in process. */
export interface InProcess {
  readonly loopback: Loopback;
  /** Depth of the call that it begins. */
  readonly depth: number;
  /** How many tasks are behind that call. */
  readonly generation: number;
}

/** A pool in use. */
export interface PoolLease {
  readonly pool: Pool;
  /** Ends the use; a second call does nothing. */
  release(): void;
}

interface Entry {
  readonly pool: Pool;
  users: number;
  idle?: NodeJS.Timeout;
}

export class ConnectionPools {
  readonly #deps: ConnectionPoolsDeps;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #open = 0;

  constructor(deps: ConnectionPoolsDeps) {
    this.#deps = deps;
  }

  /** Number of pools. */
  get pools(): number {
    return this.#entries.size;
  }

  /** Connections that are open or being made. */
  get open(): number {
    return this.#open;
  }

  /** @param inProcess the loopback of a URL of this service, and what is behind the call */
  lease(owner: string, url: URL, inProcess?: InProcess): PoolLease {
    const key = `${owner} ${url.origin}${inProcess === undefined ? '' : suffixOf(inProcess)}`;
    const dial = () =>
      inProcess === undefined
        ? this.#deps.connectorTo(targetOf(url), owner)
        : loopbackConnector(inProcess, owner);
    const entry = this.#entries.get(key) ?? { pool: this.#newPool(url, dial()), users: 0 };
    clearTimeout(entry.idle);
    entry.users += 1;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      entry.users -= 1;
      if (entry.users > 0 || this.#entries.get(key) !== entry) return;
      // Attack: fetches of many origins that never connect. A pool without a connection is not
      // kept.
      if (entry.pool.stats.connected === 0) void this.#drop(key, entry);
      else entry.idle = setTimeout(() => this.#drop(key, entry), KEEP_ALIVE_MS).unref();
    };
    return { pool: entry.pool, release };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries].map(([key, entry]) => this.#drop(key, entry)));
  }

  #newPool(url: URL, dial: buildConnector.connector): Pool {
    const { connectionsPerOrigin: connections, headerBytes } = this.#deps;
    return newHttpPool(url.origin, { connect: this.#counted(dial), connections, headerBytes });
  }

  #counted(dial: buildConnector.connector): buildConnector.connector {
    return (options, callback) => {
      const { limit } = this.#deps;
      if (this.#open >= limit.max && !this.#dropIdle()) {
        callback(overLimit(limit, 'shed'), null);
        return;
      }
      this.#open += 1;
      dial(options, (...result) => {
        const [error, socket] = result;
        if (error === null) socket.once('close', () => (this.#open -= 1));
        else this.#open -= 1;
        callback(...result);
      });
    };
  }

  /** Closes a pool that is not in use. @returns false if all are in use */
  #dropIdle(): boolean {
    for (const [key, entry] of this.#entries) {
      if (entry.users > 0) continue;
      void this.#drop(key, entry);
      return true;
    }
    return false;
  }

  #drop(key: string, entry: Entry): Promise<void> {
    clearTimeout(entry.idle);
    this.#entries.delete(key);
    return entry.pool.destroy();
  }
}

/**
 * One pool per depth, and per generation: a connection has its own, and a chain of calls must not
 * wait for its first one.
 */
const suffixOf = ({ loopback, depth, generation }: InProcess): string =>
  ` ${loopback.kind} ${depth} ${generation}`;

/** undici needs only a stream, although its type is a socket, and is not ready for one at once. */
const loopbackConnector =
  ({ loopback, depth, generation }: InProcess, owner: string): buildConnector.connector =>
  (_options, callback) =>
    process.nextTick(() => callback(null, loopback.connect({ depth, generation, owner }) as Socket));

/** The host and port that a connection for a URL goes to. */
export const targetOf = ({ hostname, port, protocol }: URL): Target => ({
  host: hostname.replace(/^\[(.*)\]$/, '$1'),
  port: Number(port || (protocol === 'https:' ? 443 : 80)),
});
