/**
 * `npm run bench:soak`: whether memory stays flat while events are posted for ten minutes, at half
 * of the rate that the machine can deliver.
 *
 * Resident memory of the host and of its cells is sampled. It is flat where the median of the last
 * third is at most a tenth above that of the first. `--minutes` and `--rate` (deliveries in a
 * second) change the defaults, and `--webhooks` the number of organizations with an installation
 * each. The V8 heaps of the cells are shown, too: a heap grows to its own size before V8 collects
 * it, so with many installations the memory of the cells levels off late.
 */
import { parseArgs } from 'node:util';
import { LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';
import { AnnexRig } from './annex-rig.ts';
import { rateOf } from './peers/measure-peer.ts';
import { residentBytes } from './process-use.ts';

const GROWTH_MAX = 1.1;
const SAMPLE_EVERY_MS = 1_000;
/** While caches fill and V8 grows its heap, samples do not count. */
const WARMUP_SHARE = 0.1;
const SHOWN_EVERY = 30;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '' },
    webhooks: { type: 'string', default: '60' },
  },
});

interface Sample {
  readonly host: number;
  readonly cells: number;
}

const receiver = await LedgerReceiver.start();
const rig = await AnnexRig.start({ receiver, webhooks: Number(values.webhooks), verifyEvery: 64 });
try {
  const rate = values.rate === '' ? Math.round((await fullRate()) / 2) : Number(values.rate);
  console.log(`${rate} deliveries a second for ${values.minutes} minutes`);
  const before = (await receiver.progress()).received;
  await receiver.latencies();
  const stream = rig.steady(rate);
  const samples = await sampled(Number(values.minutes) * 60_000, before);
  await stream.end();
  await rig.delivered();
  const { received, badSignatures } = await receiver.progress();
  const { p50, p99, max } = await receiver.latencies();
  console.log(
    `${received - before} delivered of ${stream.acknowledged()} acknowledged; ${badSignatures} bad signatures`,
  );
  console.log(
    `from post to arrival: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms`,
  );
  show(samples.slice(Math.floor(samples.length * WARMUP_SHARE)));
} finally {
  await rig.end();
  receiver.stop();
}

async function fullRate(): Promise<number> {
  const stream = await rig.pour();
  const rate = await rateOf({ receiver, warmupMs: 3_000, measureMs: 5_000 });
  await stream.end();
  await rig.delivered();
  return rate;
}

async function sampled(forMs: number, before: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const until = performance.now() + forMs;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_EVERY_MS));
    const { own, children } = residentBytes(rig.host.pid);
    samples.push({ host: own, cells: children });
    if (samples.length % SHOWN_EVERY !== 0) continue;
    const { received } = await receiver.progress();
    console.log(
      `${samples.length} s: host ${mib(own)}, cells ${mib(children)} (${await heapsOfCells()}), ${received - before} delivered`,
    );
  }
  return samples;
}

async function heapsOfCells(): Promise<string> {
  const text = await (await fetch(`${rig.host.control}/metrics`)).text();
  const gauge = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
  return `heaps ${mib(gauge('annex_isolate_heap_bytes'))} in ${gauge('annex_isolates')} isolates`;
}

function show(samples: readonly Sample[]): void {
  const third = Math.floor(samples.length / 3);
  const [first, last] = [samples.slice(0, third), samples.slice(-third)];
  const rows = (['host', 'cells'] as const).map((part) => {
    const [early, late] = [median(first.map((one) => one[part])), median(last.map((one) => one[part]))];
    return [part, { 'first third': mib(early), 'last third': mib(late), growth: late / early }] as const;
  });
  console.table(Object.fromEntries(rows));
  if (rows.some(([, { growth }]) => !(growth <= GROWTH_MAX))) process.exitCode = 1;
}

function median(all: readonly number[]): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
