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
