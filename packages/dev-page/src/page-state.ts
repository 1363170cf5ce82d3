/** What all parts of the page share: the session, its feed, and how they are kept up to date. */
import { batch, signal } from '@preact/signals';
import { decoded } from '../../ui/src/place.ts';
import { type FeedEvent, read, type SessionView } from './page-api.ts';

/** Events that the page shows. */
const FEED_MAX = 300;

/** Undefined until it is known. */
export const session = signal<SessionView | undefined>(undefined);
export const feed = signal<readonly FeedEvent[]>([]);
/** Counts the versions that became live, so that what is drawn is drawn again. */
export const generation = signal(0);
/** Counts the edits of the installation, after which the code may draw something else. */
export const edits = signal(0);
/** Undefined until the first answer. */
export const isConnected = signal<boolean | undefined>(undefined);
/** Name of the view that is shown, and of its part, as the address has them. */
export const place = signal<readonly string[]>([]);

/** Follows the address. */
export function followPlace(): void {
  const look = () => {
    place.value = location.hash.slice(1).split('/').map(decoded);
  };
  addEventListener('hashchange', look);
  look();
}

/** An edit in another window, such as the end of an OAuth flow, is seen so much later. */
const EDITS_EVERY_MS = 1_500;

/** Watches the configuration for as long as the page is seen: no event is sent for each edit. */
export function watchEdits(): void {
  const look = async () => {
    const shown = session.value;
    if (document.visibilityState !== 'visible' || !shown?.live) return;
    const { revision } = await read<{ revision: string }>('revision');
    // A version that has become live meanwhile is drawn as the configuration is now.
    if (session.value !== shown || shown.revision === revision) return;
    batch(() => {
      session.value = { ...shown, revision };
      edits.value += 1;
    });
  };
  const again = () =>
    setTimeout(
      () =>
        void look()
          .catch(() => undefined)
          .finally(again),
      EDITS_EVERY_MS,
    );
  again();
}

/** Follows the session for as long as the page is open; the browser connects again by itself. */
export function followSession(): void {
  const events = new EventSource('api/events');
  const arrived: FeedEvent[] = [];
  let number = 0;
  events.onopen = () => {
    // The server begins with what has happened.
    arrived.length = 0;
    feed.value = [];
    isConnected.value = true;
    void refresh();
  };
  events.onerror = () => {
    isConnected.value = false;
  };
  events.onmessage = ({ data }) => {
    number += 1;
    const event: FeedEvent = { ...JSON.parse(data), number };
    arrived.push(event);
    // Attack: code that writes a hundred lines at once, each of which draws all of them again. What
    // arrives together is drawn together.
    if (arrived.length === 1)
      setTimeout(() => {
        feed.value = [...feed.value, ...arrived.splice(0)].slice(-FEED_MAX);
      });
    if (event.event === 'live') void refresh();
  };
}

export async function refresh(): Promise<void> {
  const before = session.value?.live?.version;
  const now = await read<SessionView>('session');
  batch(() => {
    session.value = now;
    if (now.live?.version !== before) generation.value += 1;
  });
}
