/**
 * A process of a queue that Annex is compared with: the same bytes, signed in the same way, posted
 * to the same receiver. With undici, as in Annex, and without Annex's checks of addresses.
 */
import { createHmac } from 'node:crypto';
import { Agent } from 'undici';
import { timedEventId } from '../../test/support/receivers/ledger-receiver.ts';

/** Settings of the process, as JSON in its first argument. */
export interface PeerSettings {
  readonly role: 'produce' | 'work';
  /** Unix socket of Redis, or the folder of the socket of PostgreSQL. */
  readonly socket: string;
  readonly secret: string;
  /** URLs to which jobs are posted, in turn. */
  readonly urls: readonly string[];
  readonly inFlight: number;
}

/** The data of a job. */
export interface PostJob {
  readonly url: string;
  readonly type: string;
  readonly payload: string;
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

export function jobsOf({ urls }: PeerSettings, first: number, count: number): PostJob[] {
  return Array.from({ length: count }, (_, index) => {
    const payload = bodyOf(timedEventId('p', first + index));
    return { url: urls[(first + index) % urls.length] ?? '', type: 'site_view', payload };
  });
}

/** @returns a function that posts a job, and throws unless the receiver answers with 2xx */
export function signedPosts({ secret, inFlight }: PeerSettings) {
  const agent = new Agent({ connections: inFlight, pipelining: 1 });
  return async (delivery: string, { url, type, payload }: PostJob) => {
    const startedAt = performance.now();
    const t = Math.floor(Date.now() / 1_000);
    const digest = createHmac('sha256', secret).update(`${t}.`).update(payload).digest('hex');
    const { origin, pathname } = new URL(url);
    const { statusCode, body } = await agent.request({
      origin,
      path: pathname,
      method: 'POST',
      body: payload,
      headers: {
        'content-type': 'application/json',
        'x-platform-signature': `t=${t},v1=${digest}`,
        'x-platform-event': type,
        'x-platform-delivery': delivery,
        'x-platform-attempt': '1',
      },
    });
    await body.dump();
    if (statusCode < 200 || statusCode > 299) throw new Error(`answered ${statusCode}`);
    return { status: statusCode, durationMs: Math.round(performance.now() - startedAt) };
  };
}
