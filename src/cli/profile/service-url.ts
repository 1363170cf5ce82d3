/**
 * URLs of a service as people type them: with or without `/v1`, a scheme or a last slash. The rest
 * of the command line knows only the base of the API.
 */
import { BlockList, isIP } from 'node:net';
import { UsageError } from '../terminal/failure.ts';

/** Where `annex serve` listens if nothing else is said. */
export const DEFAULT_URL = 'http://127.0.0.1:7700';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** @throws UsageError */
export function serviceUrl(text: string, from: string): string {
  const typed = text.trim();
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(typed);
  // A name without a scheme is reached over TLS, unless it is this machine.
  const url = URL.parse(hasScheme ? typed : `http://${typed}`);
  if (url === null || url.hostname === '')
    throw new UsageError(`${from} is not a URL: "${typed}".`, { hint: `It looks like ${DEFAULT_URL}.` });
  if (!['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`${from} must begin with http:// or https://; it is "${typed}".`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError(`${from} must not have a user name or a password: the token is the credential.`);
  if (url.search !== '' || url.hash !== '')
    throw new UsageError(`${from} must end with its path, without "?" and "#".`);
  if (!hasScheme && !isLoopback(url.href)) url.protocol = 'https:';
  const href = url.href.replace(/(?<!\/)\/+$/, '');
  return href.endsWith('/v1') ? href.slice(0, -'/v1'.length) : href;
}

/** Whether a URL leads to this machine alone. */
export function isLoopback(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  const family = isIP(host);
  return family !== 0 && LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
