/**
 * Makes the `fetch` event of a request to an endpoint (docs/contract/calls.md#raw-traffic). The
 * isolate builds the `Request` of the integration's `fetch` handler from it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { HOP_BY_HOP } from '../../../model/hop-by-hop.ts';
import { eventIds, type Target } from '../../../model/target.ts';
import { withoutSessions } from '../page-session.ts';

/**
 * Attack, or a mistake: one of Annex's own tokens that a client sends to an endpoint, for the
 * tenant to use.
 */
const OWN_TOKEN = /annex_(?:admin|platform|organization|run)_/;

export interface RawRequest {
  readonly method: string;
  /** The rest of the URL after the endpoint: empty, or a path with its query. */
  readonly pathAndQuery: string;
  /** Whether it came to the origin without cookies. */
  readonly isContent?: boolean;
  readonly headers: IncomingHttpHeaders;
}

/** @returns JSON text of the event. Its URL is built on the configured public URL, not on `Host` */
export function fetchEvent(eventId: string, target: Target, request: RawRequest): Buffer {
  const { isContent = false } = request;
  return Buffer.from(
    JSON.stringify({
      eventId,
      type: 'fetch',
      ...eventIds(target),
      request: {
        method: request.method,
        url: (isContent ? target.publicContentEndpoint : target.publicEndpoint) + request.pathAndQuery,
        headers: endToEnd(request.headers, isContent),
      },
    }),
  );
}

/**
 * @param isContent whether cookies are left out. Attack: a page of another integration, or of the
 * host product above this domain, whose cookies the content origin would get
 */
function endToEnd(headers: IncomingHttpHeaders, isContent: boolean): Record<string, string> {
  const kept: Record<string, string> = Object.create(null);
  // A header that `Connection` names is hop-by-hop too. Attack: a client that has a proxy's header
  // removed, or its own kept.
  const connection = headers.connection?.toLowerCase() ?? '';
  const named = connection === '' || connection === 'keep-alive' ? undefined : listed(connection);
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || HOP_BY_HOP.has(name) || named?.has(name)) continue;
    if (isContent && name === 'cookie') continue;
    if (name === 'authorization' && OWN_TOKEN.test(String(value))) continue;
    const text = Array.isArray(value) ? value.join(', ') : value;
    kept[name] = name === 'cookie' ? withoutSessions(text) : text;
  }
  return kept;
}

/**
 * The elements of a list in a header, trimmed. No regular expression: one for the blanks on both
 * sides of a comma takes quadratic time over a header of blanks, 0.3 s of the event loop for one
 * request.
 */
function listed(value: string): Set<string> {
  const elements = new Set<string>();
  for (const element of value.split(',')) elements.add(element.trim());
  return elements;
}
