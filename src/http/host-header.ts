/**
 * Which names in `Host` a listener answers to.
 *
 * Attack on the control listener: DNS rebinding. A page of an attacker, whose name now resolves to
 * 127.0.0.1, is of the same origin as this listener, and could read metrics and try tokens from the
 * operator's browser. Such a request carries the attacker's name, never an address. The public
 * listener accepts only the host of the public URL: a cache or proxy under another name must not
 * store answers under that name.
 */
import { isIP } from 'node:net';
import { ENDPOINT_PLACEHOLDER, hasOwnOrigins } from '../model/endpoint-url.ts';
import { ENDPOINT_KEY } from '../model/identifiers.ts';

/** @param host the header; absent only in HTTP/1.0, which no browser sends */
export type AnswersTo = (host: string | undefined) => boolean;

/** Which setting decides, as the ends of sentences. */
export const CONTROL_HOSTS =
  'use an IP address or localhost, or name the host with --control-names (ANNEX_CONTROL_NAMES).';
export const PUBLIC_HOSTS = 'it answers to the host of --public-url (ANNEX_PUBLIC_URL).';

/** A dot at the end only marks a name as absolute. */
const HOST = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]*[a-z0-9_-])\.?)(?::\d{1,5})?$/i;

/**
 * @returns the name or address in a `Host` header, in lower case and without a dot at its end;
 * undefined if it is neither
 */
export function hostName(host: string): string | undefined {
  const [, address, name] = HOST.exec(host) ?? [];
  return (address ?? name)?.toLowerCase();
}

/** Accepts addresses, `localhost`, and these names. */
export function controlHosts(names: readonly (string | undefined)[]): AnswersTo {
  const known = new Set(['localhost', ...names]);
  return (host) => {
    if (host === undefined) return true;
    const name = hostName(host);
    return name !== undefined && (known.has(name) || isIP(name) !== 0);
  };
}

/**
 * Accepts the hosts of the public URL and the others, or with own origins any endpoint below them;
 * without a public URL, any host.
 *
 * @param more the content URL and the origin of redirect URLs, where they are set
 */
export function publicHosts(publicUrl: string | undefined, ...more: (string | undefined)[]): AnswersTo {
  if (publicUrl === undefined) return () => true;
  const isPublic = hostsOf(publicUrl);
  const others = more.filter((url) => url !== undefined).map(hostsOf);
  if (others.length === 0) return isPublic;
  return (host) => isPublic(host) || others.some((isKnown) => isKnown(host));
}

/** @param publicUrl with or without the placeholder */
export function hostsOf(publicUrl: string): AnswersTo {
  if (hasOwnOrigins(publicUrl)) {
    const endpointOf = endpointHosts(publicUrl);
    return (host) => endpointOf(host) !== undefined;
  }
  const known = hostName(new URL(publicUrl).host);
  return (host) => host !== undefined && hostName(host) === known;
}

/**
 * For endpoints with origins of their own: @returns a function from `Host` to the endpoint's key
 *
 * @param publicUrl with the placeholder in it
 */
export function endpointHosts(publicUrl: string): (host: string | undefined) => string | undefined {
  const { hostname } = new URL(publicUrl.replace(ENDPOINT_PLACEHOLDER, 'endpoint'));
  const parent = hostname.slice('endpoint'.length);
  return (host) => {
    const name = host === undefined ? undefined : hostName(host);
    if (name === undefined || !name.endsWith(parent)) return undefined;
    const key = name.slice(0, -parent.length);
    return ENDPOINT_KEY.test(key) ? key : undefined;
  };
}
