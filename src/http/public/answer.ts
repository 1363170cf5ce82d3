/**
 * An integration's answer onto the wire: status, every header in its order, body, as given. What belongs to the
 * connection (framing, keep-alive) is the host's, whatever the integration says.
 */
import type { ServerResponse } from 'node:http';
import type { CallResponse } from '../../runtime/dispatch.ts';
import { HOP_BY_HOP } from './hop-by-hop.ts';

/** What an integration may not set: it would break the framing of the connection, or smuggle a second answer. */
const isHostOwned = (name: string): boolean => name === 'content-length' || HOP_BY_HOP.has(name);

/** Answers that have no body, whatever was given (RFC 9110, sections 6.4.1, 15.3.5, 15.3.6, 15.4.5). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** Bodies up to this size are joined with the head. */
const JOIN_BYTES_MAX = 16 * 1024;

export function sendAnswer(
  raw: ServerResponse,
  method: string,
  { status, headers, body }: CallResponse,
): void {
  const flat: string[] = [];
  for (const [name, value] of headers) {
    if (!isHostOwned(name.toLowerCase())) flat.push(name, value);
  }
  if (!BODILESS.has(status)) flat.push('content-length', String(body.byteLength));
  raw.writeHead(status, flat);
  if (method === 'HEAD' || BODILESS.has(status)) raw.end();
  // As a Latin-1 string, byte for byte, a small body leaves in one write with the head.
  else if (body.byteLength <= JOIN_BYTES_MAX) raw.end(body.toString('latin1'), 'latin1');
  else raw.end(body);
}
