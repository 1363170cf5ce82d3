/**
 * Makes any URL that a client may send acceptable to the router.
 *
 * A target may have scheme and host in front, as clients send it to proxies (RFC 9112, section
 * 3.2.2): its path is the URL then. The path behind an endpoint belongs to the integration, even if
 * it is not valid percent-encoding (`/%zz`), but the router refuses such a path. It gets this URL
 * instead; the routes read the one that was sent, which the framework keeps as `originalUrl`.
 */
import type { IncomingMessage } from 'node:http';

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/i;

/**
 * Replaces an absolute target by its path. One for another host than that of `Host` stays, and is
 * refused with the head.
 *
 * Attack: a proxy in front goes by `Host`, for its cache or its rules, while the routes go by the
 * target.
 */
export function toPath(request: IncomingMessage & { originalUrl?: string }): string {
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
