/**
 * Confines a cookie that an integration sets (RFC 6265) to the endpoint it comes from.
 *
 * With `Domain` a cookie would go to every host below it: the host product, the control listener, other endpoints' origins.
 * On an origin that endpoints share, one without a path of the endpoint's own would go to the others. Nothing else is
 * changed. Scripts of a page can still set what they like: only an origin of its own keeps an endpoint's cookies to it.
 */

export interface CookieHome {
  /** Where the endpoint lies on its origin; `undefined` where the whole origin is its own. */
  readonly path?: string;
  /** The request was for that path itself: a cookie without a path would then be the whole origin's (RFC 6265, section 5.1.4). */
  readonly isRoot?: boolean;
}

export interface ConfinedCookie {
  /** The header's value; undefined where there is none that a browser would take. */
  readonly value: string | undefined;
  /** What was not left as it was, for the log; names no value. */
  readonly change?: string;
}

const HOST_PREFIX = /^\s*__Host-/i;

export function confineCookie(cookie: string, home: CookieHome): ConfinedCookie {
  const [pair = '', ...attributes] = cookie.split(';');
  // It must have the path `/`, and so would go to every endpoint.
  if (home.path !== undefined && HOST_PREFIX.test(pair)) {
    return { value: undefined, change: 'a __Host- cookie, which needs an origin of its own' };
  }
  const keyed = attributes.map((text) => ({ text, key: (text.split('=')[0] ?? '').trim().toLowerCase() }));
  // Of several, browsers take the last.
  const path = keyed
    .findLast(({ key }) => key === 'path')
    ?.text.split('=')
    .slice(1)
    .join('=')
    .trim();
  const isForeign = home.path !== undefined && reachesBeyond(path, home);
  const kept = keyed.filter(({ key }) => key !== 'domain' && !(isForeign && key === 'path'));
  const changes = [
    ...(keyed.some(({ key }) => key === 'domain') ? ['Domain'] : []),
    ...(isForeign ? ['Path'] : []),
  ];
  const ownPath = isForeign ? [` Path=${home.path}`] : [];
  const change = changes.length > 0 ? `${changes.join(' and ')} of a cookie` : undefined;
  return {
    value: [pair, ...kept.map(({ text }) => text), ...ownPath].join(';'),
    ...(change !== undefined && { change }),
  };
}

function reachesBeyond(path: string | undefined, { path: own = '', isRoot = false }: CookieHome): boolean {
  // To a browser, what does not begin with a slash is no path.
  if (path === undefined || !path.startsWith('/')) return isRoot;
  return path !== own && !path.startsWith(`${own}/`);
}
