/**
 * `npm run bench:deliveries`: signed deliveries of 600 bytes in a second, compared with other
 * queues.
 *
 *   isolate path    HTTP ingest in batches → fan-out → isolate of the integration → signed POST →
 *                   stored result
 *   bare engine     claim → signed POST → stored result: payloads exist, no isolate is entered
 *   BullMQ, pg-boss the same signed POSTs from a queue on Redis or PostgreSQL, without ingest over
 *                   HTTP and without isolates; needs `npm ci` in `bench/`, and the servers
 *
 * A process of its own feeds each system as fast as it delivers; all post to the same receiver,
 * which counts, and share the cores of the machine. Rates of one run compare with each other;
 * across machines and hours only ratios do. Redis answers a command after its log is synced, as
 * Annex and PostgreSQL do; with `everysec`, shown beside, it may lose a second.
 *
 *   --seconds 5     duration of each measurement, after a warm-up
 *   --only annex    without the peers
 *   --profile DIR   writes a CPU profile of the host into this folder
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';
import { AnnexRig } from './annex-rig.ts';
import { measurePeer, type Run, rateOf } from './peers/measure-peer.ts';
import { startPostgres, startRedis } from './peers/queue-servers.ts';
import { prefill } from './prefilled.ts';
import { cpuMs } from './process-use.ts';

const AIMS = { isolate: 3_000, engine: 6_000 };
const WEBHOOKS = 60;
/**
 * Sites of an organization, each with a webhook: they share an isolate, which stays in the caches
 * of a core.
 */
const PER_ORGANIZATION = 10;
const WARMUP_MS = 2_000;
const VERIFY_EVERY = 16;
const IN_FLIGHT = 256;
const SECRET = 'a secret that both sides of the peers know.';
/** More than any system delivers, so that deliveries are always left. */
const PREFILLED_PER_S = 16_000;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    profile: { type: 'string', default: '' },
  },
});
const measureMs = Number(values.seconds) * 1_000;
const isProfiled = values.profile !== '';
const node = isProfiled ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`] : [];

const RIG = { webhooks: WEBHOOKS, verifyEvery: VERIFY_EVERY, node };

interface Row {
  readonly what: string;
  /** CPU of a delivery in the host and in its cells. Annex only. */
  readonly cpu?: string;
  /** Undefined where its server is not on this machine. */
  readonly rate: number | undefined;
  readonly aim?: number;
}

async function main(): Promise<void> {
  const receiver = await LedgerReceiver.start();
  try {
    const rows = await annex(receiver);
    if (values.only === '') rows.push(...(await peers(receiver)));
    show(rows);
  } finally {
    receiver.stop();
  }
}

async function annex(receiver: LedgerReceiver): Promise<Row[]> {
  const run: Run = { receiver, warmupMs: WARMUP_MS, measureMs };
  const few = await AnnexRig.start({ ...RIG, receiver, perOrganization: PER_ORGANIZATION });
  const rows: Row[] = [];
  try {
    const isolates = WEBHOOKS / PER_ORGANIZATION;
    rows.push(await isolatePath(`Annex: isolate path, ${isolates} isolates`, AIMS.isolate, few, run));
    const deliveries = Math.ceil(((WARMUP_MS + measureMs) / 1_000) * PREFILLED_PER_S);
    await few.between((folder) => prefill(folder, { deliveries, dueInMs: 0, withPayload: true }));
    rows.push(await measured('Annex: bare engine', AIMS.engine, few, run));
  } finally {
    await few.end();
  }
  const many = await AnnexRig.start({ ...RIG, receiver });
  try {
    return [...rows, await isolatePath(`Annex: isolate path, ${WEBHOOKS} isolates`, undefined, many, run)];
  } finally {
    await many.end();
  }
}

async function isolatePath(what: string, aim: number | undefined, rig: AnnexRig, run: Run): Promise<Row> {
  const pouring = await rig.pour();
  const row = await measured(what, aim, rig, run);
  await pouring.end();
  await rig.delivered();
  return row;
}

async function measured(what: string, aim: number | undefined, rig: AnnexRig, run: Run): Promise<Row> {
  const { pid } = rig.host;
  const [before, startedAt] = [cpuMs(pid), performance.now()];
  const rate = await rateOf(run);
  const after = cpuMs(pid);
  const deliveries = (rate * (performance.now() - startedAt)) / 1_000;
  const micros = (ms: number) => ((ms / deliveries) * 1_000).toFixed(0);
  return {
    what,
    rate,
    ...(aim !== undefined && { aim }),
    cpu: `${micros(after.own - before.own)} + ${micros(after.children - before.children)}`,
  };
}

async function peers(receiver: LedgerReceiver): Promise<Row[]> {
  const installed = existsSync(new URL('node_modules/bullmq', import.meta.url));
  if (!installed) {
    console.log('The peers are not installed: npm ci in bench/.');
    return [];
  }
  const settings = { verifyEvery: VERIFY_EVERY, keepsLedger: false, answerWithinMs: 0 };
  await receiver.configure({ ...settings, secrets: { '*': [SECRET] } });
  const urls = Array.from({ length: WEBHOOKS }, (_, index) => receiver.url(`peer${index}`));
  const peerSettings = { secret: SECRET, urls, inFlight: IN_FLIGHT };
  const run: Run = { receiver, warmupMs: WARMUP_MS, measureMs };
  return [
    {
      what: 'BullMQ on Redis',
      rate: await measurePeer('bullmq', await startRedis('always'), peerSettings, run),
    },
    {
      what: 'BullMQ on Redis, everysec',
      rate: await measurePeer('bullmq', await startRedis('everysec'), peerSettings, run),
    },
    {
      what: 'pg-boss on PostgreSQL',
      rate: await measurePeer('pg-boss', await startPostgres(), peerSettings, run),
    },
  ];
}

function show(rows: readonly Row[]): void {
  const [isolate, engine] = rows.map(({ rate }) => rate ?? Number.NaN);
  const ratio = (of: number | undefined, to: number | undefined) =>
    of === undefined || to === undefined ? '' : (of / to).toFixed(2);
  console.table(
    Object.fromEntries(
      rows.map(({ what, rate, aim, cpu }) => [
        what,
        {
          'deliveries/s': rate?.toFixed(0) ?? 'its server is not on this machine',
          aim: aim === undefined ? '' : `≥ ${aim}`,
          'µs of CPU a delivery: host + cells': cpu ?? '',
          'isolate path is … times that': ratio(isolate, rate),
          'bare engine is … times that': ratio(engine, rate),
        },
      ]),
    ),
  );
}

await main();
