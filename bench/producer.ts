/**
 * Posts events of 600 bytes to a service, in a process of its own: in batches up to an allowance,
 * or at a steady rate.
 *
 * Run as a child: its first argument is a `ProducerSettings`; without a rate, it receives
 * allowances by message (`peers/feed.ts`). Sends the number of acknowledged events after each
 * batch.
 */
import { Agent } from 'undici';
import { type Posted, pageRead, siteView } from '../test/support/deliveries/webhook-senders.ts';
import { timedEventId } from '../test/support/receivers/ledger-receiver.ts';
import { endWithParent, produce } from './feed.ts';

export interface ProducerSettings {
  readonly control: string;
  readonly token: string;
  /** Begins the ids of its events, which no other producer makes. */
  readonly prefix: string;
  /** Sites of the events, in turn. */
  readonly places: readonly Posted[];
  /** Posts events of the declared type. */
  readonly declared?: boolean;
  readonly batch: number;
  readonly batchesAtOnce: number;
  /** Absent: as fast as the allowance permits. */
  readonly perSecond?: number;
}

const BODY_BYTES = 600;
const TICK_MS = 5;

async function main(settings: ProducerSettings): Promise<void> {
  const { batch, batchesAtOnce, perSecond } = settings;
  endWithParent();
  const agent = new Agent({ connections: batchesAtOnce, pipelining: 1 });
  const post = async (first: number, count: number) => {
    const events = Array.from({ length: count }, (_, index) => event(settings, first + index));
    const { statusCode, body } = await agent.request({
      origin: settings.control,
      path: '/v1/events',
      method: 'POST',
      body: `{"events":[${events.join(',')}]}`,
      headers: { authorization: `Bearer ${settings.token}`, 'content-type': 'application/json' },
    });
    const answered = await body.text();
    if (statusCode !== 202) throw new Error(`A batch was answered ${statusCode}: ${answered}`);
    process.send?.(count);
  };
  await (perSecond === undefined ? produce(batch, batchesAtOnce, post) : steadily(perSecond, post));
}

/** Posts the due events at each tick as one batch, without waiting for answers. */
async function steadily(
  perSecond: number,
  post: (first: number, count: number) => Promise<void>,
): Promise<void> {
  const startedAt = performance.now();
  let next = 0;
  let failed: unknown;
  while (failed === undefined) {
    const due = Math.floor(((performance.now() - startedAt) * perSecond) / 1_000) - next;
    if (due > 0) {
      post(next, due).catch((cause) => (failed = cause));
      next += due;
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  throw failed;
}

/** An event of the size that every system is measured with. */
function event({ places, prefix, declared }: ProducerSettings, count: number): string {
  const place = places[count % places.length];
  if (place === undefined) throw new Error('There is no site for an event.');
  const eventId = timedEventId(prefix, count);
  const made = declared ? pageRead : siteView;
  const missing = BODY_BYTES - JSON.stringify(made(place, eventId)).length;
  return JSON.stringify(made(place, eventId, 'r'.repeat(Math.max(0, missing))));
}

await main(JSON.parse(process.argv[2] ?? '{}') as ProducerSettings);
