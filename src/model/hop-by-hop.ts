/**
 * Hop-by-hop headers (RFC 9110, section 7.6.1): they concern one connection, so the host removes
 * them in both directions.
 */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Set by the host alone: framing, the connection, and the site behind an address. */
const HOST_OWNED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'content-length',
  'expect',
  'host',
  'http2-settings',
]);

/** Whether a request header is the host's. @param name in lower case */
export const isHostOwned = (name: string): boolean => HOST_OWNED.has(name) || name.startsWith('proxy-');
