/**
 * The place in the console: each view, filter and opened row is in the URL, so that it can be sent
 * to somebody, and the back button works.
 */
import { signal } from '@preact/signals';
import { withQuery } from './api.ts';

export interface Place {
  /** Segments below `/console/`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

const BASE = '/console/';

function current(): Place {
  const { pathname, search } = location;
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : '';
  const segments = below.split('/').filter(Boolean);
  return { path: segments.map(decoded), query: Object.fromEntries(new URLSearchParams(search)) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const place = signal<Place>(current());
addEventListener('popstate', () => {
  place.value = current();
});

/** Address of a place. @param path below `/console/`, its segments encoded */
export const addressOf = (path: string, query: Readonly<Record<string, string | undefined>> = {}): string =>
  withQuery(`${BASE}${path}`, query);

/** @param replaces whether the back button skips the place before */
export function go(address: string, replaces = false): void {
  history[replaces ? 'replaceState' : 'pushState'](undefined, '', address);
  place.value = current();
}
