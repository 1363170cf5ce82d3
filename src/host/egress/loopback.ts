/**
 * Loopback: how the egress reaches URLs of its own service without a socket.
 *
 * An integration calls the API and other endpoints at URLs of this service. Their addresses are on
 * loopback, in a private network or behind the operator's proxy, which the policy refuses. So these
 * fetches enter the listeners in process.
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';

/**
 * The header by which a listener marks an answer in process: the request failed for a reason of the
 * platform. Its value is the code of the error. The egress takes it off.
 *
 * Attack: an endpoint answers a fetch of its own installation with the mark, so that all of its
 * failures count as the platform's and are repeated. The name is random, and no code sees it.
 */
export const PLATFORM_FAULT = `annex-platform-fault-${randomUUID()}`;

/** The call behind a connection in process. */
export interface CallBehind {
  /** The call depth of a call that the connection begins. */
  readonly depth: number;
  /** How many tasks are behind the call (`Caller.generation`). */
  readonly generation: number;
  /** The installation that connects. */
  readonly owner: string;
}

/** A URL of this service. */
export interface Loopback {
  /** `product`: below the API's base URL, but not the API; the host product's own API is there. */
  readonly kind: 'api' | 'product' | 'endpoint';
  /** Scope of credentials: endpoints of tenants can share an origin, but no credentials. */
  readonly realm: string;
  /** Path and query as the listener expects them. */
  readonly path: string;
  /** Opens a connection. @returns the end of the tenant */
  connect(from: CallBehind): Duplex;
}

/** @returns undefined if the URL is not of this service */
export type FindLoopback = (url: URL) => Loopback | undefined;
