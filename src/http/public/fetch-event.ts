/**
 * Raw traffic to an endpoint as a `fetch` event (REFERENCE D4, D7): what came in over HTTP, in the shape that an
 * integration's `fetch` handler has its `Request` rebuilt from.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { HOP_BY_HOP } from '../../model/hop-by-hop.ts';
import { eventIds, type Target } from '../../model/target.ts';

/** Annex's own tokens: a client that confuses the doors must not hand them to a tenant. */
const OWN_TOKEN = /annex_(?:admin|platform|organization|run)_/;

export interface RawRequest {
  readonly method: string;
  /** What follows the endpoint: empty, or a path with its query. */
  readonly pathAndQuery: string;
  readonly headers: IncomingHttpHeaders;
}

/** JSON text of the event. The URL is built on the configured public URL; the `Host` header decides nothing. */
export function fetchEvent(eventId: string, target: Target, request: RawRequest): Buffer {
  return Buffer.from(
    JSON.stringify({
      eventId,
      type: 'fetch',
      ...eventIds(target),
      request: {
        method: request.method,
        url: target.publicEndpoint + request.pathAndQuery,
        headers: endToEnd(request.headers),
      },
    }),
  );
}

function endToEnd(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = Object.create(null);
  // A header that `Connection` names is hop-by-hop too; smuggling it through would let a client undo a proxy's.
  const connection = headers.connection?.toLowerCase() ?? '';
  const named = connection === '' || connection === 'keep-alive' ? undefined : listed(connection);
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || HOP_BY_HOP.has(name) || named?.has(name)) continue;
    if (name === 'authorization' && OWN_TOKEN.test(String(value))) continue;
    kept[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return kept;
}

/**
 * The elements of a list in a header, without the blanks around them. No regular expression: one for the blanks on both sides
 * of a comma takes quadratic time over a header that is all blanks, 0.3 s of the event loop for one request.
 */
function listed(value: string): Set<string> {
  const elements = new Set<string>();
  for (const element of value.split(',')) elements.add(element.trim());
  return elements;
}
