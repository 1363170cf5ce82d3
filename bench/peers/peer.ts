/** Settings of a process of a peer, as JSON in its first argument. */
import { timedEventId } from '../../test/support/receivers/ledger-receiver.ts';
import type { PostJob } from './signed-post.ts';

export interface PeerSettings {
  readonly role: 'produce' | 'work';
  /** Unix socket of Redis, or the folder of the socket of PostgreSQL. */
  readonly socket: string;
  readonly secret: string;
  /** URLs to which jobs are posted, in turn. */
  readonly urls: readonly string[];
  readonly inFlight: number;
}

export const peerSettings = (): PeerSettings => JSON.parse(process.argv[2] ?? '{}') as PeerSettings;

const BODY_BYTES = 600;

/** An event of the size that every system is measured with. */
export function bodyOf(eventId: string): string {
  const event = {
    eventId,
    type: 'site_view',
    siteId: 'site-1',
    visitor: { anonymousId: 'a1', userAgent: 'bench', ip: '198.51.100.7', cookies: {} },
    url: 'https://example.com/a-page',
    referrer: '',
  };
  const missing = BODY_BYTES - JSON.stringify(event).length;
  return JSON.stringify({ ...event, referrer: `https://example.com/?${'r'.repeat(missing - 21)}` });
}

export function jobsOf({ urls }: PeerSettings, first: number, count: number): { data: PostJob }[] {
  return Array.from({ length: count }, (_, index) => {
    const payload = bodyOf(timedEventId('p', first + index));
    return { data: { url: urls[(first + index) % urls.length] ?? '', type: 'site_view', payload } };
  });
}
