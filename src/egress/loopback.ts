/**
 * What the egress knows of the service it belongs to: that some URLs lead back to it, and how to get there without a socket.
 *
 * An integration calls the API and the endpoints of others at URLs of this very service. Those lie on loopback, in a private
 * network or behind the operator's own proxy, where a tenant's fetch has no business; so they never become connections.
 */
import type { Duplex } from 'node:stream';

/** A place of this service that a URL names. */
export interface Loopback {
  readonly kind: 'api' | 'endpoint';
  /** Whose place it is: tenants' endpoints can share an origin, and credentials for one are not for the next. */
  readonly realm: string;
  /** Path and query as the listener expects them. */
  readonly path: string;
  /**
   * Opens the tenant's end of a connection.
   *
   * @param depth of calls within calls, for the one this may begin
   * @param owner the installation that connects
   */
  connect(depth: number, owner: string): Duplex;
}

/** @returns the place, or `undefined` where the URL is of somebody else */
export type FindLoopback = (url: URL) => Loopback | undefined;
