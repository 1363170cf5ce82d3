/**
 * How each component of a URLPattern is compiled
 * (https://urlpattern.spec.whatwg.org/#url-pattern-create).
 */
import {
  canonicalizeHash,
  canonicalizeHostname,
  canonicalizeIpv6Hostname,
  canonicalizeOpaquePathname,
  canonicalizePassword,
  canonicalizePathname,
  canonicalizePort,
  canonicalizeProtocol,
  canonicalizeSearch,
  canonicalizeUsername,
  SPECIAL_PORTS,
} from './canonicalize.ts';
import { type Component, compileComponent } from './component.ts';
import type { ComponentName, URLPatternInit } from './init.ts';
import type { PatternOptions } from './part-list.ts';

const PLAIN: PatternOptions = { delimiter: '', prefix: '', ignoreCase: false };
const HOSTNAME: PatternOptions = { delimiter: '.', prefix: '', ignoreCase: false };
const PATHNAME: PatternOptions = { delimiter: '/', prefix: '/', ignoreCase: false };

export const compileProtocol = (pattern: string): Component =>
  compileComponent(pattern, canonicalizeProtocol, PLAIN);

/** "Protocol component matches a special scheme". */
export function matchesSpecialScheme({ expression }: Component): boolean {
  for (const scheme of SPECIAL_PORTS.keys()) if (expression.exec(scheme) !== null) return true;
  return false;
}

/**
 * "Create", from processed components; absent ones match anything. @throws TypeError for an invalid
 * pattern
 */
export function compileComponents(
  init: URLPatternInit,
  ignoreCase: boolean,
): Record<ComponentName, Component> {
  const { protocol = '*', hostname = '*', pathname = '*' } = init;
  const defaultPort =
    init.port !== undefined && init.port !== '' && SPECIAL_PORTS.get(protocol) === init.port;
  const encodeHostname = isIpv6(hostname) ? canonicalizeIpv6Hostname : canonicalizeHostname;
  const cased: PatternOptions = { ...PLAIN, ignoreCase };

  const protocolComponent = compileProtocol(protocol);
  const username = compileComponent(init.username ?? '*', canonicalizeUsername, PLAIN);
  const password = compileComponent(init.password ?? '*', canonicalizePassword, PLAIN);
  return {
    protocol: protocolComponent,
    username,
    password,
    hostname: compileComponent(hostname, encodeHostname, HOSTNAME),
    port: compileComponent(defaultPort ? '' : (init.port ?? '*'), (port) => canonicalizePort(port), PLAIN),
    pathname: matchesSpecialScheme(protocolComponent)
      ? compileComponent(pathname, canonicalizePathname, { ...PATHNAME, ignoreCase })
      : compileComponent(pathname, canonicalizeOpaquePathname, cased),
    search: compileComponent(init.search ?? '*', canonicalizeSearch, cased),
    hash: compileComponent(init.hash ?? '*', canonicalizeHash, cased),
  };
}

/** "Hostname pattern is an IPv6 address". */
const isIpv6 = (hostname: string): boolean => /^[\\{]?\[/.test(hostname) && hostname.length > 1;
