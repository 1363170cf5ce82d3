/**
 * A URL that the router can take apart, for any that a client may send.
 *
 * The path behind an endpoint is the integration's business, also where it is no valid percent-encoding (`/%zz`), and the
 * router refuses to look at such a path. It is handed this URL instead; the doors read the one that was sent, which the
 * framework keeps as `originalUrl`.
 */

/** @returns the URL itself, or, where its path cannot be decoded, one whose percent signs stand for themselves */
export function routableUrl(url: string): string {
  if (!url.includes('%')) return url;
  try {
    decodeURIComponent(url.split(/[?#]/, 1)[0] ?? '');
    return url;
  } catch {
    return url.replaceAll('%', '%25');
  }
}
