/**
 * Components of a URL as the URL parser would write them
 * (https://urlpattern.spec.whatwg.org/#canon-encoding-callbacks).
 *
 * The standard runs the parser on a made-up URL from a given state on. A setter of the URL class
 * does the same and is used here; but it does not report a failure of the parser, hence the
 * detours.
 */

/** The class at the time of the first pattern, also if the global is replaced later. */
const CapturedURL = URL;

/** Special schemes (https://url.spec.whatwg.org/#special-scheme) and their default ports. */
export const SPECIAL_PORTS: ReadonlyMap<string, string> = new Map([
  ['ftp', '21'],
  ['file', ''],
  ['http', '80'],
  ['https', '443'],
  ['ws', '80'],
  ['wss', '443'],
]);

export const parseUrl = (url: string, base?: string): URL | null => CapturedURL.parse(url, base);

const dummyUrl = (host = 'dummy.invalid'): URL => new CapturedURL(`https://${host}/`);

export function canonicalizeProtocol(value: string): string {
  if (value === '') return value;
  const url = parseUrl(`${value}://dummy.invalid/`);
  if (url === null) throw new TypeError(`Invalid protocol: ${value.slice(0, 128)}`);
  return url.protocol.slice(0, -1);
}

export function canonicalizeUsername(value: string): string {
  const url = dummyUrl();
  url.username = value;
  return url.username;
}

export function canonicalizePassword(value: string): string {
  const url = dummyUrl();
  url.password = value;
  return url.password;
}

export function canonicalizeHostname(value: string): string {
  if (value === '') return value;
  for (const host of ['dummy.invalid', 'other.invalid']) {
    const url = dummyUrl(host);
    url.hostname = value;
    // A value that changes neither of two hosts has failed.
    if (url.hostname !== host) return url.hostname;
  }
  throw new TypeError(`Invalid hostname: ${value.slice(0, 128)}`);
}

export function canonicalizeIpv6Hostname(value: string): string {
  if (/[^0-9a-f[\]:]/i.test(value)) throw new TypeError(`Invalid IPv6 address: ${value.slice(0, 128)}`);
  return value.toLowerCase();
}

/** The parser reads the digits at the start. */
export function canonicalizePort(value: string, protocol = ''): string {
  if (value === '') return value;
  const digits = /^[0-9]+/.exec(withoutLineBreaks(value))?.[0];
  if (digits === undefined || Number(digits) > 65_535) {
    throw new TypeError(`Invalid port: ${value.slice(0, 128)}`);
  }
  const port = `${Number(digits)}`;
  return port === SPECIAL_PORTS.get(protocol) ? '' : port;
}

export function canonicalizePathname(value: string): string {
  if (value === '') return value;
  const url = dummyUrl();
  if (value.startsWith('/')) {
    url.pathname = value;
    return url.pathname;
  }
  // A piece of a path: the parser must not add a slash before it, nor take a leading dot for a
  // segment.
  url.pathname = `/-${value}`;
  return url.pathname.slice(2);
}

/**
 * The opaque path state, which no setter reaches: it encodes what is not printable ASCII and ends
 * at `?` or `#`.
 */
export function canonicalizeOpaquePathname(value: string): string {
  const [path = ''] = withoutLineBreaks(value).split(/[?#]/, 1);
  const ended = path.length < withoutLineBreaks(value).length;
  const text = ended && path.endsWith(' ') ? `${path.slice(0, -1)}%20` : path;
  return text.replace(/[^ -~]/gu, (char) => encodeURIComponent(char));
}

export function canonicalizeSearch(value: string): string {
  const url = dummyUrl();
  url.search = `?${value}`;
  return url.search.slice(1);
}

export function canonicalizeHash(value: string): string {
  const url = dummyUrl();
  url.hash = `#${value}`;
  return url.hash.slice(1);
}

/** The parser drops these characters everywhere. */
const withoutLineBreaks = (value: string): string => value.replace(/[\t\n\r]/g, '');
