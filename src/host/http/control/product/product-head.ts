/**
 * Which headers and paths pass between a client and the product's API.
 *
 * Headers of the connection are removed by the egress; here are those that would say something in
 * the host's name, or mean something for the whole origin of the control listener.
 */
import type { HeaderPairs } from '../../../egress/request-head.ts';
import { HeaderTable, WITHHELD } from '../../withheld-headers.ts';

/** The header that carries the statement. */
export const CALLER_HEADER = 'x-platform-caller';

/**
 * Not sent to the product. Frameworks and servers believe these of the proxy in front of them, and
 * here that is Annex. Attack: a call whose path or method for the product is another than that by
 * which the mapping of scopes has decided.
 */
const NOT_SENT = new HeaderTable([
  [[CALLER_HEADER, 'authorization'], 'says who calls: Annex sets it'],
  [['cookie', 'cookie2'], 'is for browsers, and this service sets none'],
  [
    ['x-original*', 'x-rewrite*', 'x-override*', 'x-request-uri', 'x-envoy-*', 'x-middleware-*', 'base-url'],
    'names another path or host, or steps over checks',
  ],
  [
    ['x-matched-path', 'x-invoke-*', 'x-now-route-matches', 'x-script-name', 'script-name'],
    'names another path to a framework',
  ],
  [['x-sendfile-type', 'x-accel-mapping'], 'has Rack name a file to the server in front of it'],
  [['x-host', 'x-http-host*'], 'names another host'],
  [['x-http-method*', 'x-method*'], 'names another method'],
  [
    ['forwarded', 'x-forward*', 'via', 'x-real-*', 'x-client-ip', 'x-cluster-client-ip', 'client-ip'],
    'forges the address of a client',
  ],
  [['wl-proxy-*', 'proxy-client-ip', 'x-proxyuser-ip'], 'forges the address of a client'],
  [['true-client-ip', 'cf-*', 'fastly-*', 'x-azure-*', 'x-originating-*'], 'forges the address of a client'],
  [
    [
      'remote-*',
      'x-remote-*',
      'x-auth-request-*',
      'x-authenticated-*',
      'x-webauth-*',
      'x-ms-client-principal*',
    ],
    'says in the name of a proxy who calls',
  ],
  [
    ['x-amzn-*', 'x-goog-*', 'tailscale-*', 'client-cert*', 'x-client-cert*'],
    'says in the name of a proxy who calls',
  ],
  [['ssl-*', 'x-ssl-*', 'x-client-dn', 'x-client-verify'], 'says in the name of a proxy who calls'],
  [['proxy'], 'becomes HTTP_PROXY in programs that read headers from their environment'],
]);

/**
 * Not passed back, besides the headers that speak for more than their answer
 * (`http/withheld-headers.ts`). `annex-version` is that of Annex. Attack: pages of other origins
 * read answers of the control listener, or a cookie or a rule is set for the whole origin, on which
 * the API is.
 */
const NOT_ANSWERED: ReadonlySet<string> = new Set([
  ...['set-cookie', 'content-security-policy', 'content-security-policy-report-only'],
  ...['x-content-type-options', 'annex-version'],
]);

/** @param raw names and values in turn, as the client sent them */
export function sentHeaders(
  raw: readonly string[],
  { token, statement }: { readonly token: string; readonly statement: string },
): HeaderPairs {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? '']);
  const named = new Set(
    pairs
      .filter(([name]) => name.toLowerCase() === 'connection')
      .flatMap(([, value]) => value.toLowerCase().split(','))
      .map((name) => name.trim()),
  );
  const passed = pairs.filter(([name]) => !named.has(name.toLowerCase()) && isSent(name));
  return [...passed, ['authorization', `Bearer ${token}`], [CALLER_HEADER, statement]];
}

function isSent(name: string): boolean {
  // Attack: `X_Platform_Caller`. Many frameworks read an underscore like a hyphen.
  return NOT_SENT.why(name.toLowerCase().replaceAll('_', '-')) === undefined;
}

/** Headers of the product's answer that are passed back, by name. */
export function answeredHeaders(headers: HeaderPairs): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    if (NOT_ANSWERED.has(name) || name.startsWith('access-control-')) continue;
    if (WITHHELD['a shared origin'].why(name) !== undefined) continue;
    const before = Object.hasOwn(passed, name) ? [passed[name] ?? []].flat() : [];
    Object.defineProperty(passed, name, {
      value: before.length === 0 ? value : [...before, value],
      ...{ enumerable: true, configurable: true, writable: true },
    });
  }
  return passed;
}

/**
 * Whether every server reads a path as the mapping of scopes does, which decodes it once. Attack:
 * `/v1/pages/..;/..;/internal/admin`, whose segments have parameters for some servers;
 * `/v1/%252e%252e/x`, which a server behind a proxy decodes a second time; `/v1//x`, `/v1/x%20`,
 * `/v1/x%3Fy`. An encoded slash is a part of a segment, or a separator: the mapping reads it both
 * ways.
 */
export function isCanonical(path: string): boolean {
  if (!PRINTABLE.test(path)) return false;
  try {
    const segments = decodeURIComponent(path).split('/').slice(1);
    return segments.every(
      (segment, at) => !AMBIGUOUS.test(segment) && (segment !== '' || at === segments.length - 1),
    );
  } catch {
    return false;
  }
}

const PRINTABLE = /^[!-~]+$/;
/**
 * In a decoded segment: characters that end a segment or a path, encodings that are left, control
 * characters, and dots and spaces at the end, which some servers drop.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
const AMBIGUOUS = /[\0-\x1f\x7f-\x9f\\;?#]|%(?:u[0-9a-f]{2})?[0-9a-f]{2}|[. ]$/i;

/**
 * Whether the query overrides the method, as frameworks let forms do. Attack: a POST, for which the
 * manifest has the scope, that is a DELETE to the product; also by a name that the product reads as
 * that one. PHP drops spaces before a name and ends it at a NUL or bracket, and `.` and `[` are `_`
 * to it; some servers separate parameters by `;`.
 */
export const overridesMethod = (query: string): boolean =>
  query
    .split(/[?&;]/)
    .flatMap((part) => [...new URLSearchParams(part).keys()])
    .some((name) => OVERRIDE.test(name));

const OVERRIDE = /^\s*[_.[]method(?:$|[[\0])/i;
