/**
 * `npm run bench:fairness`: how much a receiver that never answers delays deliveries to nine
 * others.
 *
 * Events are posted at a steady rate for ten endpoints, each with an organization of its own. A
 * latency is from the post of an event to the arrival of its request. First all ten answer, then
 * one hangs, and both phases again. Aim: the p99 of the others rises by less than a fifth. All
 * processes share the cores of the machine, so only the ratio compares.
 */
import { parseArgs } from 'node:util';
import { type Latencies, LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';
import { AnnexRig } from './annex-rig.ts';

const ENDPOINTS = 10;
const PER_SECOND = 300;
const WARMUP_MS = 3_000;
const RATIO_MAX = 1.2;

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '10' } } });
const measureMs = Number(values.seconds) * 1_000;

const receiver = await LedgerReceiver.start();
// The last two are an endpoint that answers and one that hangs; each phase uses one of them.
const urlOf = (index: number) => receiver.url(`o${index}`, index === ENDPOINTS ? 'hang' : 'r');
const rig = await AnnexRig.start({ receiver, webhooks: ENDPOINTS + 1, verifyEvery: 16, urlOf });
const neighbours = rig.places.slice(0, ENDPOINTS - 1);
const [answering, hanging] = rig.places.slice(ENDPOINTS - 1);
if (answering === undefined || hanging === undefined) throw new Error('Too few endpoints.');

try {
  const phases: Latencies[] = [];
  for (const tenth of [answering, hanging, answering, hanging]) {
    const stream = rig.steady(PER_SECOND, [...neighbours, tenth]);
    await passed(WARMUP_MS);
    await receiver.latencies();
    await passed(measureMs);
    phases.push(await receiver.latencies());
    await stream.end();
  }
  show(phases);
} finally {
  await rig.end();
  receiver.stop();
}

function show([first, second, third, fourth]: readonly Latencies[]): void {
  const p99 = (...of: (Latencies | undefined)[]) =>
    of.reduce((sum, one) => sum + (one?.p99 ?? Number.NaN), 0) / of.length;
  const ratio = p99(second, fourth) / p99(first, third);
  const row = (latencies: Latencies | undefined) => ({
    'p50 ms': latencies?.p50.toFixed(1),
    'p99 ms': latencies?.p99.toFixed(1),
    'max ms': latencies?.max.toFixed(1),
    requests: latencies?.count,
  });
  console.table({
    'all answer': row(first),
    'one hangs': row(second),
    'all answer again': row(third),
    'one hangs again': row(fourth),
  });
  console.log(`p99 beside a hanging receiver: ${ratio.toFixed(2)} times that without (aim: < ${RATIO_MAX})`);
  if (!(ratio < RATIO_MAX)) process.exitCode = 1;
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
