/**
 * Makes any URL that a client may send acceptable to the router.
 *
 * The path behind an endpoint belongs to the integration, even if it is not valid percent-encoding
 * (`/%zz`), but the router refuses such a path. It gets this URL instead; the routes read the one
 * that was sent, which the framework keeps as `originalUrl`.
 */

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
