/** The API as the portal asks it, its session, and its places. */
import { signal } from '@preact/signals';
import type { FormTransport } from '../../components/src/configuration.ts';
import { askedBy } from '../../ui/src/asked.tsx';
import { type AskOptions, PageApi } from '../../ui/src/page-api.ts';
import { placesBelow } from '../../ui/src/place.ts';

export { ApiError, at, type Items, withQuery } from '../../ui/src/page-api.ts';

export type ViewName = 'integrations' | 'webhooks' | 'activity';

/** What the link was made with, as the service tells it. */
export interface Session {
  readonly organization: string;
  readonly views: readonly ViewName[];
  readonly levelNames: { readonly space?: string; readonly site?: string };
  readonly locale?: string;
  readonly returnUrl?: string;
  readonly theme?: {
    readonly name?: string;
    readonly scheme?: 'light' | 'dark';
    readonly accent?: string;
    readonly darkAccent?: string;
    readonly logo?: string;
  };
}

const api = new PageApi('annex-portal');
const BASE = '/portal/v1';
const SESSION = '/portal/session';

export const { place, addressOf, go, follow } = placesBelow('/portal/');

/** Undefined until it is known, null for nobody. */
export const session = signal<Session | null | undefined>(undefined);

/** @param path below the API's version */
export const ask = <T>(path: string, options?: AskOptions): Promise<T> =>
  api.ask<T>(`${BASE}${path}`, options);

/** Signs in with the link in the address, which leaves it; or finds the session that there is. */
export async function begin(): Promise<void> {
  const link = new URLSearchParams(location.hash.slice(1)).get('sign-in');
  if (link !== null) {
    history.replaceState(undefined, '', location.pathname);
    const signedIn = await api.ask<Session>(SESSION, { method: 'POST', token: link }).catch(() => undefined);
    if (signedIn !== undefined) {
      session.value = signedIn;
      return;
    }
  }
  const answer = await api.ask<Partial<Session>>(SESSION).catch(() => undefined);
  session.value = answer?.organization === undefined ? null : (answer as Session);
}

export async function signOut(): Promise<void> {
  await api.exchange(SESSION, { method: 'DELETE' });
  session.value = null;
}

/** How the tags reach a target. @param target its path below the API's version */
export const transportOf =
  (target: string): FormTransport =>
  async ({ path, ...request }, signal) => {
    const at = path.startsWith('/deliveries') ? withTarget(path, target) : `${target}${path}`;
    const answer = await api.exchange(`${BASE}${at}`, { ...request, signal });
    if (answer.status === 401) session.value = null;
    return !path.startsWith('/deliveries?') || isPlaced(target)
      ? answer
      : { ...answer, body: ofWhole(answer.body) };
  };

const isPlaced = (target: string): boolean => /\/(?:space|site)s\/[^/]+$/.test(target);

/** Deliveries to the whole installation, of those to it and to its places. */
function ofWhole(body: unknown): unknown {
  const { items, ...rest } = (body ?? {}) as { items?: readonly { space?: string; site?: string }[] };
  if (!Array.isArray(items)) return body;
  return { ...rest, items: items.filter(({ space, site }) => space === undefined && site === undefined) };
}

/** A list of deliveries for one target: unlike a token of a page, the session sees all targets. */
function withTarget(path: string, target: string): string {
  if (!path.startsWith('/deliveries?')) return path;
  const [, installation = '', level, placeId = ''] =
    /\/installations\/([^/]+)(?:\/(space|site)s\/([^/]+))?$/.exec(target) ?? [];
  const place = level === undefined ? '' : `&${level}=${placeId}`;
  return `${path}&installation=${installation}${place}`;
}

export const useAsked = askedBy(ask, () => {
  session.value = null;
});
