/**
 * The connections that are open, in one pool for each owner and origin.
 *
 * Owners do not share: one who keeps all its connections to an API busy delays its own fetches there and nobody else's,
 * and what a connection has carried says nothing about others. Pools that nobody uses are closed shortly after, and at once
 * where room is needed; all connections together are bounded, since each costs the host a descriptor and buffers.
 */
import type { Socket } from 'node:net';
import { type buildConnector, Pool } from 'undici';
import type { LimitMet } from '../limits.ts';
import { overLimit } from './egress-error.ts';
import type { Loopback } from './loopback.ts';
import type { Target } from './policy.ts';

/** Idle connections are kept for the next fetch of the same call or its successor, not longer. */
const KEEP_ALIVE_MS = 4_000;

export interface ConnectionPoolsParts {
  /** The bound on all of them together. */
  readonly limit: LimitMet;
  readonly connectionsPerOrigin: number;
  readonly headerBytes: number;
  connectorTo(target: Target): buildConnector.connector;
}

/** A pool while somebody uses it. */
export interface PoolLease {
  readonly pool: Pool;
  /** Once: the fetch is over. */
  release(): void;
}

interface Entry {
  readonly pool: Pool;
  users: number;
  idle?: NodeJS.Timeout;
}

export class ConnectionPools {
  readonly #parts: ConnectionPoolsParts;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #open = 0;

  constructor(parts: ConnectionPoolsParts) {
    this.#parts = parts;
  }

  /** Pools that are kept. */
  get pools(): number {
    return this.#entries.size;
  }

  /** Connections that are open or being made. */
  get open(): number {
    return this.#open;
  }

  /** @param own where the URL leads back to this service, and how deep the call would be */
  lease(owner: string, url: URL, own?: { readonly door: Loopback; readonly depth: number }): PoolLease {
    // What has a depth stays apart: a connection tells it to the door, and a chain must not wait for its own beginning.
    const key = `${owner} ${url.origin}${own === undefined ? '' : ` ${own.door.kind} ${own.depth}`}`;
    const dial = () => (own === undefined ? this.#parts.connectorTo(targetOf(url)) : inProcess(own, owner));
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
      // A pool that never came to a connection is of no use to the next fetch, and costs tenants nothing to make.
      if (entry.pool.stats.connected === 0) void this.#drop(key, entry);
      else entry.idle = setTimeout(() => this.#drop(key, entry), KEEP_ALIVE_MS).unref();
    };
    return { pool: entry.pool, release };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries].map(([key, entry]) => this.#drop(key, entry)));
  }

  #newPool(url: URL, dial: buildConnector.connector): Pool {
    const { connectionsPerOrigin, headerBytes } = this.#parts;
    return new Pool(url.origin, {
      connect: this.#counted(dial),
      connections: connectionsPerOrigin,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: headerBytes,
      // A fetch has a deadline for the whole: time-outs between pieces would only cut what it still allows.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  #counted(dial: buildConnector.connector): buildConnector.connector {
    return (options, callback) => {
      const { limit } = this.#parts;
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

  /** Makes room. @returns false where every pool is in use */
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

/** The parser of answers wants a stream, undici's type a socket; and its client is not ready for one at once. */
const inProcess =
  (
    { door, depth }: { readonly door: Loopback; readonly depth: number },
    owner: string,
  ): buildConnector.connector =>
  (_options, callback) =>
    process.nextTick(() => callback(null, door.connect(depth, owner) as Socket));

/** Where a URL's connection goes. */
export const targetOf = ({ hostname, port, protocol }: URL): Target => ({
  host: hostname.replace(/^\[(.*)\]$/, '$1'),
  port: Number(port || (protocol === 'https:' ? 443 : 80)),
});
