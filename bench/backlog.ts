/**
 * `npm run bench:backlog`: how much a million pending deliveries slow down other deliveries.
 *
 *   ingest    events accepted in a second, for receivers that never answer: none is delivered
 *   deliver   events accepted, claimed and posted in a second, for receivers that answer
 *
 * Both are measured in an almost empty store, and again with the backlog: half of it is due for
 * receivers that never answer, half waits for its next attempt at those that do. Aim: each rate
 * drops by less than a quarter. `--deliveries` changes the backlog.
 */
import { parseArgs } from 'node:util';
import type { Posted } from '../test/support/deliveries/webhook-senders.ts';
import { LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';
import { AnnexRig } from './annex-rig.ts';
import { rateOf } from './peers/measure-peer.ts';
import { prefill } from './prefilled.ts';

const ANSWERING = 50;
const HANGING = 10;
const LEAST_RATIO = 0.75;
const MEASURE_MS = 5_000;
const WARMUP_MS = 2_000;
/**
 * When the second half is due: longer than the measurement, and less than two minutes. A due time
 * beyond any retry is taken for a clock that was set back, and such deliveries are attempted at
 * once.
 */
const DUE_IN_MS = 100_000;

const { values } = parseArgs({ options: { deliveries: { type: 'string', default: '1000000' } } });
const backlog = Number(values.deliveries);

interface Rates {
  readonly ingest: number;
  readonly deliver: number;
}

const receiver = await LedgerReceiver.start();
const rig = await AnnexRig.start({
  receiver,
  webhooks: ANSWERING + HANGING,
  verifyEvery: 16,
  urlOf: (index) => receiver.url(`o${index}`, index < ANSWERING ? 'r' : 'hang'),
});
const answering = rig.places.slice(0, ANSWERING);
const hanging = rig.places.slice(ANSWERING);
try {
  const empty = await rates();
  await rig.between(async (store) => {
    const half = Math.ceil(backlog / 2);
    const of = (places: readonly Posted[]) => {
      const sites = new Set(places.map(({ site }) => site));
      return (site: string) => sites.has(site);
    };
    await prefill(store, { deliveries: half, dueInMs: 0, withPayload: true, isFor: of(hanging) });
    await prefill(store, { deliveries: half, dueInMs: DUE_IN_MS, withPayload: true, isFor: of(answering) });
  });
  show(empty, await rates());
} finally {
  await rig.end();
  receiver.stop();
}

async function rates(): Promise<Rates> {
  const pouring = await rig.pour(answering);
  const deliver = await rateOf({ receiver, warmupMs: WARMUP_MS, measureMs: MEASURE_MS });
  await pouring.end();
  const flooding = rig.flood(hanging);
  await passed(WARMUP_MS);
  const [before, startedAt] = [flooding.acknowledged(), performance.now()];
  await passed(MEASURE_MS);
  const ingest = ((flooding.acknowledged() - before) / (performance.now() - startedAt)) * 1_000;
  await flooding.end();
  return { ingest, deliver };
}

function show(empty: Rates, behind: Rates): void {
  const rows = (['ingest', 'deliver'] as const).map((what) => {
    const ratio = behind[what] / empty[what];
    return [
      what,
      { 'empty /s': empty[what].toFixed(0), 'backlog /s': behind[what].toFixed(0), ratio },
    ] as const;
  });
  console.log(`With ${backlog} pending deliveries (aim: ratios > ${LEAST_RATIO}):`);
  console.table(Object.fromEntries(rows));
  if (rows.some(([, { ratio }]) => !(ratio > LEAST_RATIO))) process.exitCode = 1;
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
