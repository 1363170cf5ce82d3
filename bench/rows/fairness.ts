/**
 * What a tenant costs another's deliveries: events of quiet organizations now and then, each with
 * an endpoint of its own. A latency is from the post of an event to the arrival of its request.
 */
import { type Posted, siteView } from '../../test/support/deliveries/webhook-senders.ts';
import { LedgerReceiver, timedEventId } from '../../test/support/receivers/ledger-receiver.ts';
import { type Bench, pause, type Round } from '../figures.ts';
import { Webhooks } from '../webhooks.ts';

const BUSY = 20;
const QUIET = 20;
const EVERY_MS = 50;
const HANGING = 10;
/** Events in a second for receivers that hang. */
const HANGING_RATE = 300;

export const fairness: Bench = async function* (round) {
  const [busy, quiet] = [await LedgerReceiver.start(), await LedgerReceiver.start()];
  const urlOf = (index: number) => {
    if (index < QUIET) return quiet.url(`o${index}`);
    return busy.url(`o${index}`, index < QUIET + BUSY ? 'r' : 'hang');
  };
  const webhooks = await Webhooks.start({
    ...{ receiver: busy, also: quiet, webhooks: QUIET + BUSY + HANGING, urlOf },
  });
  try {
    const never = { verifyEvery: Number.MAX_SAFE_INTEGER, keepsLedger: false, answerWithinMs: 0 };
    await quiet.configure(never);
    const places = webhooks.places.slice(0, QUIET);
    const measure = () => latencies(webhooks, places, quiet, round);
    await measure();
    const alone = await measure();
    const stream = await webhooks.pour(webhooks.places.slice(QUIET, QUIET + BUSY));
    await pause(round.warmupSeconds * 1_000);
    const posting = await measure().finally(() => stream.end());
    await webhooks.settled();
    const hanging = webhooks.steady(HANGING_RATE, webhooks.places.slice(QUIET + BUSY));
    await pause(round.warmupSeconds * 1_000);
    const stuck = await measure().finally(() => hanging.end());
    const beside = { unit: 'ms', to: 'quiet' };
    yield {
      ...{ ...beside, row: "delivery beside another's full-rate posting, p50", annex: posting.p50 },
      ...{ other: alone.p50, aim: { most: 3 } },
    };
    yield {
      ...{ ...beside, row: 'delivery beside receivers that hang, p90', annex: stuck.p90 },
      ...{ other: alone.p90, aim: { most: 1.2 } },
    };
  } finally {
    await webhooks.rig.end();
    for (const receiver of [busy, quiet]) receiver.stop();
  }
};

async function latencies(
  webhooks: Webhooks,
  places: readonly Posted[],
  receiver: LedgerReceiver,
  { seconds }: Round,
) {
  await receiver.latencies();
  const { received } = await receiver.progress();
  const posts: Promise<unknown>[] = [];
  const until = performance.now() + seconds * 1_000;
  for (let count = 0; performance.now() < until; count += 1) {
    const place = places[count % places.length] as Posted;
    const events = [siteView(place, timedEventId('q', count))];
    posts.push(webhooks.rig.api('POST', '/events', { events }));
    await pause(EVERY_MS);
  }
  await Promise.all(posts);
  while ((await receiver.progress()).received < received + posts.length) await pause(EVERY_MS);
  return receiver.latencies();
}
