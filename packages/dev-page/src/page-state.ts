/** What all parts of the page share: the session, its feed, and how they are kept up to date. */
import { signal } from '@preact/signals';
import { type FeedEvent, read, type SessionView } from './page-api.ts';

/** Events that the page shows. */
const FEED_MAX = 300;

export const session = signal<SessionView>({ live: null });
export const feed = signal<readonly FeedEvent[]>([]);
/** Counts the versions that became live, so that what is drawn is drawn again. */
export const generation = signal(0);
export const isConnected = signal(false);

/** Follows the session for as long as the page is open; the browser connects again by itself. */
export function followSession(): void {
  const events = new EventSource('api/events');
  events.onopen = () => {
    // The server begins with what has happened.
    feed.value = [];
    isConnected.value = true;
    void refresh();
  };
  events.onerror = () => {
    isConnected.value = false;
  };
  events.onmessage = ({ data }) => {
    const event = JSON.parse(data) as FeedEvent;
    feed.value = [...feed.value, event].slice(-FEED_MAX);
    if (event.event === 'live') void refresh();
  };
}

export async function refresh(): Promise<void> {
  const before = session.value.live?.version;
  session.value = await read<SessionView>('session');
  if (session.value.live?.version !== before) generation.value += 1;
}
