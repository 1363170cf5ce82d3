/**
 * `npm run bench:first-delivery`: how long a healthy endpoint waits for its first delivery beside a
 * large backlog, right after a start with that backlog and later.
 *
 * The backlog belongs to two hundred organizations, and every endpoint uses the same integration.
 * Each healthy endpoint has an organization of its own and gets an event now and then. Aim: one
 * second in the first ten seconds, 250 ms after them.
 *
 *   --deliveries 500000   size of the backlog
 *   --seconds 30          duration of the measurement
 *   --bound receivers     what the backlog waits for: `receivers` that hang, or `cpu` for payloads
 *                         that are not made yet, for receivers that answer at once
 */
import { parseArgs } from 'node:util';
import { type Posted, siteView } from '../test/support/deliveries/webhook-senders.ts';
import { LedgerReceiver, timedEventId } from '../test/support/receivers/ledger-receiver.ts';
import { AnnexRig } from './annex-rig.ts';
import { prefill } from './prefilled.ts';

const BACKLOGGED = 200;
const HEALTHY = 40;
const EVERY_MS = 200;
const PHASES = [
  { name: 'start', untilMs: 10_000, maxMs: 1_000 },
  { name: 'after', untilMs: Number.POSITIVE_INFINITY, maxMs: 250 },
] as const;

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '500000' },
    seconds: { type: 'string', default: '30' },
    bound: { type: 'string', default: 'receivers' },
  },
});
const isCpuBound = values.bound === 'cpu';

const [backlogReceiver, answering] = [await LedgerReceiver.start(), await LedgerReceiver.start()];
const rig = await AnnexRig.start({
  receiver: backlogReceiver,
  also: answering,
  webhooks: BACKLOGGED + HEALTHY,
  verifyEvery: 1,
  urlOf: (index) =>
    index < BACKLOGGED
      ? backlogReceiver.url(`o${index}`, isCpuBound ? 'r' : 'hang')
      : answering.url(`o${index}`),
});
try {
  await answering.configure({ verifyEvery: Number.MAX_SAFE_INTEGER, keepsLedger: false, answerWithinMs: 0 });
  const backlogged = new Set(rig.places.slice(0, BACKLOGGED).map(({ site }) => site));
  const healthy = rig.places.slice(BACKLOGGED);
  await rig.between((store) =>
    prefill(store, {
      deliveries: Number(values.deliveries),
      dueInMs: 0,
      withPayload: !isCpuBound,
      isFor: (site) => backlogged.has(site),
    }),
  );
  const startedAt = performance.now();
  const forMs = Number(values.seconds) * 1_000;
  let count = 0;
  for (const { name, untilMs, maxMs } of PHASES) {
    const until = startedAt + Math.min(untilMs, forMs);
    const posts: Promise<unknown>[] = [];
    const [phaseAt, { received: receivedBefore }] = [performance.now(), await backlogReceiver.progress()];
    for (; performance.now() < until; count += 1) {
      posts.push(post(healthy[count % healthy.length], count));
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    await Promise.all(posts);
    const { received } = await backlogReceiver.progress();
    const backlogRate = ((received - receivedBefore) * 1_000) / (performance.now() - phaseAt);
    const { count: arrived, p50, max } = await answering.latencies();
    console.log(
      `${name}: ${arrived} of ${posts.length} arrived, p50 ${p50?.toFixed(0)} ms, max ${max?.toFixed(0)} ms (aim: ${maxMs} ms); of the backlog ${backlogRate.toFixed(0)}/s`,
    );
    if (!(max <= maxMs)) process.exitCode = 1;
  }
} finally {
  await rig.end();
  backlogReceiver.stop();
  answering.stop();
}

function post(place: Posted | undefined, count: number): Promise<unknown> {
  if (place === undefined) throw new Error('There is no healthy endpoint.');
  return rig.host.api('POST', '/events', { events: [siteView(place, timedEventId('h', count))] });
}
