/**
 * Confines a cookie that an integration sets (RFC 6265) to its endpoint
 * (docs/contract/endpoints.md#cookies).
 *
 * Attack: with `Domain`, a cookie would go to every host below it: the host product, the control
 * listener, other endpoints' origins. On an origin that endpoints share, a cookie without a path
 * below its endpoint would go to the other endpoints. Nothing else is changed. Scripts of a page
 * can still set any cookie: only an origin of its own isolates an endpoint's cookies.
 */

export interface CookieScope {
  /** No cookie applies. */
  readonly withoutCookies?: boolean;
  /** Path of the endpoint on its origin; `undefined` if the origin is its own. */
  readonly path?: string;
  /**
   * Whether the request was for exactly that path: a cookie without a path would then apply to the
   * whole origin (RFC 6265, section 5.1.4), and so would a service worker.
   */
  readonly isRoot?: boolean;
}

export interface ConfinedCookie {
  /** The header's value; undefined if browsers would refuse the cookie. */
  readonly value: string | undefined;
  /** What was changed or removed, for the log; contains no value. */
  readonly change?: string;
}

const HOST_PREFIX = /^\s*__Host-/i;

export function confineCookie(cookie: string, scope: CookieScope): ConfinedCookie {
  if (scope.withoutCookies)
    return { value: undefined, change: 'a cookie, which the content origin has none of' };
  const [pair = '', ...attributes] = cookie.split(';');
  // Such a cookie must have the path `/`, and would go to every endpoint.
  if (scope.path !== undefined && HOST_PREFIX.test(pair)) {
    return { value: undefined, change: 'a __Host- cookie, which needs an origin of its own' };
  }
  const keyed = attributes.map((text) => ({ text, key: (text.split('=')[0] ?? '').trim().toLowerCase() }));
  // Browsers use the last of several.
  const path = keyed
    .findLast(({ key }) => key === 'path')
    ?.text.split('=')
    .slice(1)
    .join('=')
    .trim();
  const isForeign = scope.path !== undefined && exceedsScope(path, scope);
  const kept = keyed.filter(({ key }) => key !== 'domain' && !(isForeign && key === 'path'));
  const changes = [
    ...(keyed.some(({ key }) => key === 'domain') ? ['Domain'] : []),
    ...(isForeign ? ['Path'] : []),
  ];
  const ownPath = isForeign ? [` Path=${scope.path}`] : [];
  const change = changes.length > 0 ? `${changes.join(' and ')} of a cookie` : undefined;
  return {
    value: [pair, ...kept.map(({ text }) => text), ...ownPath].join(';'),
    ...(change !== undefined && { change }),
  };
}

function exceedsScope(path: string | undefined, { path: own = '', isRoot = false }: CookieScope): boolean {
  // Browsers ignore a path that does not begin with a slash.
  if (path === undefined || !path.startsWith('/')) return isRoot;
  return path !== own && !path.startsWith(`${own}/`);
}
