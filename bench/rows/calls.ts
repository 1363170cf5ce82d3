/**
 * The cost of a call, from socket to isolate and back, beside one process of workerd that answers
 * the same requests with the same code.
 */
import { type Bench, type Figure, inTurn, type Round } from '../figures.ts';
import { type Loaded, load, type Target } from '../load.ts';
import { missingPeers, withWorkerd } from '../peers/peers.ts';
import { CpuMeter } from '../processes.ts';
import { type Installed, type Rig, withRig } from '../rig.ts';

const ANSWER = `new Response('{"received":true}', { headers: { 'content-type': 'application/json' } })`;
export const TINY = {
  'index.ts': `import { createIntegration } from '@annex/sdk';
    export default createIntegration({ async fetch() { return ${ANSWER}; } });`,
};
/** Reads an envelope as the runtime of Annex does, and answers any other request at once. */
const TINY_WORKER = `export default { async fetch(request) {
  if (request.method === 'POST') JSON.parse((await request.formData()).get('event'));
  return ${ANSWER};
} };`;

const EVENT = {
  eventId: 'bench',
  type: 'fetch',
  request: {
    method: 'POST',
    url: 'https://example.com/hook?a=1',
    headers: { 'content-type': 'application/json' },
  },
};

interface Cost extends Loaded {
  readonly us: number;
}

/** The same request, also for workerd. */
export const envelope: Bench = (round) =>
  calls(round, 'envelope', (rig, installed) => rig.client.envelope(installed, EVENT, '{"hello":"world"}'), {
    ...{ perSecond: 1.8, us: 0.75, p99Ms: 0.15 },
  });

export const raw: Bench = (round) =>
  calls(round, 'raw GET', (_, { url }) => ({ url }), { perSecond: 1.1, us: 1 });

async function* calls(
  round: Round,
  what: string,
  targetOf: (rig: Rig, installed: Installed) => Target,
  aims: { readonly perSecond: number; readonly us: number; readonly p99Ms?: number },
): AsyncGenerator<Figure> {
  const [annex, workerd] = await withRig({}, async (rig) => {
    await rig.client.publish('tiny', TINY);
    const target = targetOf(rig, await rig.client.install('tiny'));
    return inTurn(
      round,
      () => cost(target, rig.pids, round),
      () => withWorkerd([TINY_WORKER], ({ url, pid }) => cost({ ...target, url }, [pid], round)),
    );
  });
  const other = { to: 'workerd', missing: missingPeers() };
  const figure = (row: string, unit: string, member: 'perSecond' | 'us' | 'p99Ms'): Figure => ({
    ...{ row: `${what}: ${row}`, unit, annex: annex[member], ...other, other: workerd?.[member] },
    ...(aims[member] && { aim: member === 'perSecond' ? { least: aims[member] } : { most: aims[member] } }),
  });
  yield figure('requests', '/s', 'perSecond');
  yield figure('CPU of all processes', 'µs', 'us');
  yield figure('p99', 'ms', 'p99Ms');
}

async function cost(target: Target, pids: readonly number[], round: Round): Promise<Cost> {
  await load(target, round.warmupSeconds);
  const meter = new CpuMeter(pids);
  const loaded = await load(target, round.seconds);
  return { ...loaded, us: meter.us() / loaded.requests };
}
