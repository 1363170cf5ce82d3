/**
 * The place in a page of the service: each view, filter and opened row is in the URL, so that it
 * can be sent to somebody, and the back button works.
 */
import { type Signal, signal } from '@preact/signals';
import { withQuery } from './page-api.ts';

export interface Place {
  /** Segments below the page. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export interface Places {
  readonly place: Signal<Place>;
  /** Address of a place. @param path below the page, its segments encoded */
  readonly addressOf: (path: string, query?: Readonly<Record<string, string | undefined>>) => string;
  /** @param replaces whether the back button skips the place before */
  readonly go: (address: string, replaces?: boolean) => void;
  /** Links within the page change the view; others, and those for another tab, are the browser's. */
  readonly follow: (event: MouseEvent) => void;
}

/** @param base path of the page, as `/console/` */
export function placesBelow(base: string): Places {
  const current = (): Place => {
    const { pathname, search } = location;
    const below = pathname.startsWith(base) ? pathname.slice(base.length) : '';
    const segments = below.split('/').filter(Boolean);
    return { path: segments.map(decoded), query: Object.fromEntries(new URLSearchParams(search)) };
  };
  const place = signal<Place>(current());
  addEventListener('popstate', () => {
    place.value = current();
  });
  const addressOf: Places['addressOf'] = (path, query = {}) => withQuery(`${base}${path}`, query);
  const go: Places['go'] = (address, replaces = false) => {
    history[replaces ? 'replaceState' : 'pushState'](undefined, '', address);
    place.value = current();
  };
  const follow = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event
      .composedPath()
      .find((one): one is HTMLAnchorElement => one instanceof HTMLAnchorElement);
    if (link === undefined || link.origin !== location.origin || !link.pathname.startsWith(base)) return;
    event.preventDefault();
    go(`${link.pathname}${link.search}`);
  };
  return { place, addressOf, go, follow };
}

/** A segment of an address; as it is, where it has no meaning. */
export function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
