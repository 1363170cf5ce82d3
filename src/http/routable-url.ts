/**
 * Makes any URL that a client may send acceptable to the router, also below the path of the public
 * URL.
 *
 * A target may have scheme and host in front, as clients send it to proxies (RFC 9112, section
 * 3.2.2): its path is the URL then. The path behind an endpoint belongs to the integration, even if
 * it is not valid percent-encoding (`/%zz`), but the router refuses such a path. It gets this URL
 * instead; the routes read the one that was sent, which the framework keeps as `originalUrl`.
 */
import type { IncomingMessage } from 'node:http';
import { hasOwnOrigins } from '../model/endpoint-url.ts';

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/i;

/**
 * Replaces an absolute target by its path. One for another host than that of `Host` stays, and is
 * refused with the head.
 *
 * Attack: a proxy in front goes by `Host`, for its cache or its rules, while the routes go by the
 * target.
 */
function toPath(request: IncomingMessage & { originalUrl?: string }): string {
  const { url = '/', headers } = request;
  if (url.startsWith('/')) return url;
  const [, authority, path = ''] = ABSOLUTE.exec(url) ?? [];
  const host = headers.host ?? authority;
  if (authority === undefined || host?.toLowerCase() !== authority.toLowerCase()) return url;
  headers.host = host;
  request.originalUrl = path.startsWith('/') ? path : `/${path}`;
  return request.originalUrl;
}

/** @returns the URL; if its path cannot be decoded, with each percent sign encoded */
export function routableUrl(url: string): string {
  if (!url.includes('%')) return url;
  try {
    decodeURIComponent(url.split(/[?#]/, 1)[0] ?? '');
    return url;
  } catch {
    return url.replaceAll('%', '%25');
  }
}

/**
 * The path of a public URL on which endpoints share an origin; empty if there is none. With origins
 * of their own, a path belongs to the endpoint.
 */
export const sharedBase = (publicUrl: string | undefined): string =>
  publicUrl === undefined || hasOwnOrigins(publicUrl) ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');

/** Paths of the public listener itself: an endpoint's, and a redirect URL of OAuth. */
const OWN_PATH = /^\/(?:[a-z2-7]{32}(?:[/?]|$)|oauth\/[^/?]+\/callback(?:\?|$))/;

/**
 * Takes the path of the public URL off. A proxy in front may do that itself, or not (nginx does if
 * its `proxy_pass` ends in a slash).
 *
 * @param base `/annex`; empty if the public URL has no path
 */
function withoutBase(url: string, base: string): string {
  if (base === '' || !url.startsWith(base) || OWN_PATH.test(url)) return url;
  const rest = url.slice(base.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url;
}

/** The path of a request as the routes read it. @param base as for `withoutBase` */
export function pathBelow(request: IncomingMessage & { originalUrl?: string }, base: string): string {
  const path = toPath(request);
  const below = withoutBase(path, base);
  if (below !== path) request.originalUrl = below;
  return below;
}
