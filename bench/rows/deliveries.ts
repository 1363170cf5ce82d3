/**
 * Signed deliveries of 600 bytes in a second, beside other queues that post the same bytes to the
 * same receiver.
 *
 *   engine alone      claim → signed POST → stored result: payloads exist, no isolate is entered
 *   through isolates  HTTP ingest in batches → fan-out → isolate → signed POST → stored result
 *
 * Processes of their own feed each system as fast as it delivers. Redis answers a command after its
 * log is synced, as Annex and PostgreSQL do. Each measurement on PostgreSQL has a new server with
 * its default settings.
 */
import { LedgerReceiver } from '../../test/support/receivers/ledger-receiver.ts';
import { absent, type Bench, type Figure, inTurn, type Round } from '../figures.ts';
import { type Measured, measureQueue, noServer } from '../peers/peers.ts';
import { type QueueServer, startPostgres } from '../servers.ts';
import { prefill } from '../store-fill.ts';
import { type Delivered, Webhooks } from '../webhooks.ts';

const WEBHOOKS = 60;
/**
 * Sites of an organization: their webhooks share an isolate, which stays in the caches of a core.
 */
const PER_ORGANIZATION = 10;
/** More than any system delivers, so that deliveries are always left. */
const PREFILLED_PER_S = 16_000;

interface Ways {
  readonly engine: Delivered;
  readonly isolates: Delivered;
  readonly declared?: Delivered;
}

export const deliveries: Bench = async function* (round) {
  yield* withReceiver(async function* (receiver) {
    const [annex, boss] = await inTurn(
      round,
      () => onPostgres(receiver, round, 1),
      () => measureQueue('pg-boss', receiver, round),
    );
    if (annex === undefined) return yield absent('deliveries on PostgreSQL', noServer());
    yield* beside('PostgreSQL, engine alone', 'pg-boss', annex.engine, boss, 1);
    yield* beside('PostgreSQL, through isolates', 'pg-boss', annex.isolates, boss, 0.6);
    const graphile = await measureQueue('graphile-worker', receiver, round);
    yield* beside('PostgreSQL, engine alone', 'graphile-worker', annex.engine, graphile);
  });
};

export const sqlite: Bench = async function* (round) {
  yield* withReceiver(async function* (receiver) {
    const [annex, bull] = await inTurn(
      round,
      () => ways(receiver, round, { declares: true }),
      () => measureQueue('bullmq', receiver, round),
    );
    yield* beside('SQLite, engine alone', 'BullMQ', annex.engine, bull, 1.5);
    yield* beside('SQLite, through isolates', 'BullMQ', annex.isolates, bull);
    if (annex.declared === undefined) return;
    const undeclared = { delivered: annex.isolates };
    yield* beside('SQLite, of a declared type', 'undeclared', annex.declared, undeclared, 0.9);
  });
};

/**
 * Where the cores are too few for two nodes, the CPU of a delivery shows what others would give.
 */
export const nodes: Bench = async function* (round) {
  yield* withReceiver(async function* (receiver) {
    const [two, one] = await inTurn(
      round,
      () => onPostgres(receiver, round, 2),
      () => onPostgres(receiver, round, 1),
    );
    if (two === undefined || one === undefined) return yield absent('deliveries on two nodes', noServer());
    yield* beside('two nodes, engine alone', 'one node', two.engine, { delivered: one.engine });
    yield* beside('two nodes, through isolates', 'one node', two.isolates, { delivered: one.isolates });
    const share = { unit: 'µs', to: 'one node' };
    yield {
      ...{ ...share, row: 'two nodes, engine alone: CPU of a node', annex: two.engine.ownUs },
      ...{ other: one.engine.ownUs, aim: { most: 70, isAbsolute: true } },
    };
    yield {
      ...{ ...share, row: 'two nodes, engine alone: CPU of the server', annex: two.engine.serverUs },
      ...{ other: one.engine.serverUs, aim: { most: 60, isAbsolute: true } },
    };
  });
};

export async function* withReceiver(
  work: (receiver: LedgerReceiver) => AsyncGenerator<Figure>,
): AsyncGenerator<Figure> {
  const receiver = await LedgerReceiver.start();
  try {
    yield* work(receiver);
  } finally {
    receiver.stop();
  }
}

function* beside(
  what: string,
  to: string,
  annex: Delivered,
  measured: Measured,
  least?: number,
): Generator<Figure> {
  const other = 'delivered' in measured ? measured.delivered : undefined;
  const missing = 'missing' in measured ? { missing: measured.missing } : {};
  const cpu = (one: Delivered) => one.ownUs + one.serverUs;
  const row = `deliveries on ${what}${to === 'graphile-worker' ? ', to graphile-worker' : ''}`;
  const aim = least === undefined ? {} : { aim: { least } };
  yield { row, unit: '/s', annex: annex.perSecond, to, other: other?.perSecond, ...missing, ...aim };
  const [annexUs, otherUs] = [cpu(annex), other && cpu(other)];
  yield { row: `${row}: CPU`, unit: 'µs', annex: annexUs, to, other: otherUs, ...missing };
}

/** @returns undefined where there is no PostgreSQL */
async function onPostgres(receiver: LedgerReceiver, round: Round, count: number): Promise<Ways | undefined> {
  const postgres = await startPostgres();
  if (postgres === undefined) return undefined;
  return ways(receiver, round, { postgres, nodes: count }).finally(() => postgres.stop());
}

async function ways(
  receiver: LedgerReceiver,
  round: Round,
  on: { readonly postgres?: QueueServer; readonly nodes?: number; readonly declares?: boolean },
): Promise<Ways> {
  const options = { receiver, webhooks: WEBHOOKS, perOrganization: PER_ORGANIZATION, ...on };
  const webhooks = await Webhooks.start(options);
  const poured = async (declared: boolean) => {
    const stream = await webhooks.pour(webhooks.places, declared);
    const result = await webhooks.delivered(round).finally(() => stream.end());
    await webhooks.settled();
    return result;
  };
  try {
    const isolates = await poured(false);
    const declared = on.declares ? await poured(true) : undefined;
    const count = Math.ceil((round.warmupSeconds + round.seconds) * PREFILLED_PER_S);
    await webhooks.rig.between((store) =>
      prefill(store, { deliveries: count, dueInMs: 0, withPayload: true }),
    );
    return { engine: await webhooks.delivered(round), isolates, ...(declared && { declared }) };
  } finally {
    await webhooks.rig.end();
  }
}
