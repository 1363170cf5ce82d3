/**
 * Checks that every request of either listener must pass, by its head: target, framing, host.
 *
 * Node's parser refuses most of what two parsers could read in two ways: several lengths, a length
 * with chunks, folded lines, bare line breaks, control characters. What it accepts and a proxy in
 * front may read differently is refused here, before routing, and the connection ends with it.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { ENDPOINT_PLACEHOLDER, hasOwnOrigins } from '../../model/endpoint-url.ts';
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import { limitError } from '../../model/limit-met.ts';

interface HeadRules {
  readonly limits: Pick<Limits, 'requestHeaders'>;
  readonly answersTo: AnswersTo;
  /** Which setting decides that, as the end of a sentence. */
  readonly hostSetting: string;
}

/** @returns the error to answer with; undefined if the head is acceptable */
export function headRefusal(request: IncomingMessage, rules: HeadRules): AnnexError | undefined {
  const { method, url = '', headers, rawHeaders } = request;
  const max = rules.limits.requestHeaders;
  // Attack: headers beyond Node's own bound, which it drops silently: a token, or a header that
  // forbids something.
  if (rawHeaders.length > 2 * max) {
    return limitError('REQUEST_HEAD_TOO_LARGE', { name: 'requestHeaders', max });
  }
  // Attack: cross-site tracing, where the answer to TRACE shows a script cookies that it may not
  // read. CONNECT asks for a tunnel.
  if (method === 'TRACE' || method === 'CONNECT') {
    return new AnnexError('METHOD_REFUSED', `The method ${method} is not supported.`);
  }
  // Attack: `http://other.example/x` as target (see `toPath`).
  if (!url.startsWith('/') || url.includes('#'))
    return invalid(
      'The target of the request must be a path, or a URL with the host of `Host`, and have no "#".',
    );
  return framingRefusal(request) ?? hostRefusal(request, headers.host, rules);
}

/**
 * Attack: request smuggling. If a proxy in front and this parser disagree about the end of a
 * request, the rest of its body is taken for another client's request. Node accepts codings other
 * than `chunked`, and chunks in HTTP/1.0, which does not define them.
 */
function framingRefusal({ headers, httpVersion }: IncomingMessage): AnnexError | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion === '1.0') return invalid('HTTP/1.0 requests must not have a Transfer-Encoding.');
  if (coding.toLowerCase() === 'chunked') return undefined;
  return invalid('The Transfer-Encoding must be `chunked`, the only coding that is supported.');
}

/** Attack: several `Host` headers. Node keeps the first, and a proxy may have gone by the last. */
function hostRefusal(
  { rawHeaders, httpVersion }: IncomingMessage,
  host: string | undefined,
  { answersTo, hostSetting }: Pick<HeadRules, 'answersTo' | 'hostSetting'>,
): AnnexError | undefined {
  if (host === undefined && httpVersion !== '1.0') return invalid('The request has no Host header.');
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) return invalid('The request has more than one Host header.');
  if (answersTo(host)) return undefined;
  const given = host === undefined ? 'no name' : `"${host.slice(0, 256)}"`;
  return new AnnexError('HOST_UNKNOWN', `This listener does not answer to ${given}: ${hostSetting}`);
}

const invalid = (message: string): AnnexError => new AnnexError('REQUEST_INVALID', message);

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

/**
 * Makes any URL that a client may send acceptable to the router, also below the path of the public
 * URL.
 *
 * A target may have scheme and host in front, as clients send it to proxies (RFC 9112, section
 * 3.2.2): its path is the URL then. The path behind an endpoint belongs to the integration, even if
 * it is not valid percent-encoding (`/%zz`), but the router refuses such a path. It gets this URL
 * instead; the routes read the one that was sent, which the framework keeps as `originalUrl`.
 *
 * @returns the URL; if its path cannot be decoded, with each percent sign encoded
 */
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

/**
 * Which names in `Host` a listener answers to.
 *
 * Attack on the control listener: DNS rebinding. A page of an attacker, whose name now resolves to
 * 127.0.0.1, is of the same origin as this listener, and could read metrics and try tokens from the
 * operator's browser. Such a request carries the attacker's name, never an address. The public
 * listener accepts only the host of the public URL: a cache or proxy under another name must not
 * store answers under that name.
 *
 * @param host the header; absent only in HTTP/1.0, which no browser sends
 */
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
