/**
 * URLPatternInit: a pattern, or a URL to match, in components
 * (https://urlpattern.spec.whatwg.org/#canon-processing-for-init).
 */
import { isObject, toUSVString } from '../../web-idl.ts';
import {
  canonicalizeHash,
  canonicalizeHostname,
  canonicalizeOpaquePathname,
  canonicalizePassword,
  canonicalizePathname,
  canonicalizePort,
  canonicalizeProtocol,
  canonicalizeSearch,
  canonicalizeUsername,
  parseUrl,
  SPECIAL_PORTS,
} from './canonicalize.ts';
import { escapePattern } from './pattern-string.ts';

export const COMPONENTS = [
  'protocol',
  'username',
  'password',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;
export type ComponentName = (typeof COMPONENTS)[number];

export type URLPatternInit = { [Name in ComponentName | 'baseURL']?: string };
/** Whether components are patterns, which stay as they are, or a URL's, which are canonicalised. */
export type InitKind = 'pattern' | 'url';

/** In the order in which Web IDL reads the members of a dictionary. */
const MEMBERS = [...COMPONENTS, 'baseURL' as const].sort();

/** Converts a `(USVString or URLPatternInit)`. */
export function toInput(value: unknown): string | URLPatternInit {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) return toUSVString(value);
  const init: URLPatternInit = {};
  for (const name of MEMBERS) {
    const member = (value as Partial<Record<string, unknown>>)[name];
    if (member !== undefined) init[name] = toUSVString(member);
  }
  return init;
}

/**
 * "Process a URLPatternInit"; a URL starts from empty components. @throws TypeError for an invalid
 * component
 */
export function processInit(init: URLPatternInit, kind: InitKind): URLPatternInit {
  const result: URLPatternInit = {};
  if (kind === 'url') for (const name of COMPONENTS) result[name] = '';
  const base = init.baseURL === undefined ? undefined : parseUrl(init.baseURL);
  if (base === null) throw new TypeError(`Invalid base URL: ${init.baseURL?.slice(0, 128)}`);
  if (base !== undefined) inherit(result, init, base, kind);

  const { protocol, username, password, hostname, port, search, hash } = init;
  const encode = (value: string, canonicalize: (value: string) => string): string =>
    kind === 'pattern' ? value : canonicalize(value);
  if (protocol !== undefined) result.protocol = encode(protocol.replace(/:$/, ''), canonicalizeProtocol);
  if (username !== undefined) result.username = encode(username, canonicalizeUsername);
  if (password !== undefined) result.password = encode(password, canonicalizePassword);
  if (hostname !== undefined) result.hostname = encode(hostname, canonicalizeHostname);
  const scheme = result.protocol ?? '';
  if (port !== undefined) result.port = encode(port, (value) => canonicalizePort(value, scheme));
  if (init.pathname !== undefined) {
    const pathname = resolvePathname(init.pathname, base, kind);
    // Without a protocol, a path is taken as that of a special scheme.
    const hierarchical = scheme === '' || SPECIAL_PORTS.has(scheme);
    result.pathname = encode(pathname, hierarchical ? canonicalizePathname : canonicalizeOpaquePathname);
  }
  if (search !== undefined) result.search = encode(search.replace(/^\?/, ''), canonicalizeSearch);
  if (hash !== undefined) result.hash = encode(hash.replace(/^#/, ''), canonicalizeHash);
  return result;
}

/** Inherits components of the base URL, up to the first that `init` has. */
function inherit(result: URLPatternInit, init: URLPatternInit, base: URL, kind: InitKind): void {
  const lacks = (...names: ComponentName[]): boolean => names.every((name) => init[name] === undefined);
  const take = (value: string): string => (kind === 'pattern' ? escapePattern(value) : value);
  if (lacks('protocol')) result.protocol = take(base.protocol.slice(0, -1));
  // A pattern never inherits credentials.
  if (kind === 'url' && lacks('protocol', 'hostname', 'port', 'username')) {
    result.username = base.username;
    if (lacks('password')) result.password = base.password;
  }
  if (!lacks('protocol', 'hostname')) return;
  result.hostname = take(base.hostname);
  if (!lacks('port')) return;
  result.port = base.port;
  if (!lacks('pathname')) return;
  result.pathname = take(base.pathname);
  if (!lacks('search')) return;
  result.search = take(base.search.slice(1));
  if (lacks('hash')) result.hash = take(base.hash.slice(1));
}

/**
 * A relative path is resolved after the last slash of the base URL's path, unless that is opaque.
 */
function resolvePathname(pathname: string, base: URL | undefined, kind: InitKind): string {
  if (base === undefined || !base.pathname.startsWith('/') || isAbsolute(pathname, kind)) return pathname;
  const basePath = kind === 'pattern' ? escapePattern(base.pathname) : base.pathname;
  return basePath.slice(0, basePath.lastIndexOf('/') + 1) + pathname;
}

const isAbsolute = (pathname: string, kind: InitKind): boolean =>
  pathname.startsWith('/') || (kind === 'pattern' && /^[\\{]\//.test(pathname));
