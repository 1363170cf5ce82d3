/**
 * What the API costs beside bare calls: a drawing of a component beside an envelope of the same
 * event, and calls and deliveries of others beside a hundred clients that follow logs and
 * deliveries, and get nothing, because what they follow is quiet.
 */
import { fileURLToPath } from 'node:url';
import { uploadFolder } from '../../src/local/demo/folder-form-data.ts';
import { type Bench, inTurn, pause } from '../figures.ts';
import { load } from '../load.ts';
import { type Rig, withRig } from '../rig.ts';

const COUNTER = fileURLToPath(new URL('../../fixtures/counter', import.meta.url));
const DRAWING = {
  ...{ componentId: 'counter', props: {}, state: { count: 4 }, context: {} },
  action: { action: 'increment' },
};

export const render: Bench = async function* (round) {
  const [drawing, envelope] = await withRig({}, async (rig) => {
    await rig.api('POST', '/integrations', await uploadFolder(COUNTER));
    const installed = await rig.client.install('counter');
    const { control, adminToken } = rig.host;
    const event = { eventId: 'bench', type: 'ui_render', installationId: installed.id, ...DRAWING };
    const path = `/v1/integrations/counter/installations/${installed.id}/render`;
    const targets = [
      {
        ...{ url: new URL(path, control), method: 'POST', body: JSON.stringify(DRAWING) },
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      },
      rig.client.envelope(installed, event),
    ] as const;
    const measure = (which: 0 | 1) => async () => {
      await load(targets[which], round.warmupSeconds);
      return (await load(targets[which], round.seconds)).p50Ms;
    };
    return inTurn(round, measure(0), measure(1));
  });
  const row = 'a drawing by the API, p50';
  yield { row, unit: 'ms', annex: drawing, to: 'envelope', other: envelope, aim: { most: 2 } };
};

const FOLLOWERS = 100;
const EVENTS = 1_000;
/** The API takes as many at once. */
const EVENTS_PER_POST = 500;
const BUSY = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  fetch: () => new Response('answered'),
  events: { space_content_updated: () => {} },
});`;

export const followers: Bench = async function* (round) {
  // A cell that starts late on a busy machine must not be ended for it.
  const options = { flags: ['--built-ins', 'none'], limits: { cellHeartbeatMs: 60_000 } };
  const [followed, alone] = await withRig(options, async (rig) => {
    await rig.client.publish('busy', { 'index.js': BUSY });
    const { url } = await rig.client.install('busy', 'busy');
    const quiet: string[] = [];
    for (let at = 0; at < FOLLOWERS / 2; at += 1)
      quiet.push((await rig.client.install('busy', `quiet-${at}`)).id);
    const measure = async () => ({
      calls: (await load({ url }, round.seconds)).perSecond,
      deliveries: await handled(rig),
    });
    await measure();
    const withFollowers = async () => {
      const stop = await follow(rig, quiet);
      return measure().finally(stop);
    };
    return inTurn(round, withFollowers, measure);
  });
  for (const what of ['calls', 'deliveries'] as const) {
    const row = `${what} beside ${FOLLOWERS} followers`;
    yield {
      row,
      unit: '/s',
      annex: followed[what],
      to: 'no followers',
      other: alone[what],
      aim: { least: 0.95 },
    };
  }
};

/** Followers of quiet installations: half of logs, half of deliveries. @returns ends them */
async function follow({ host }: Rig, installations: readonly string[]): Promise<() => void> {
  const abort = new AbortController();
  const headers = { authorization: `Bearer ${host.adminToken}` };
  for (const id of installations)
    for (const what of ['logs', 'deliveries']) {
      const url = `${host.control}/v1/${what}?installation=${id}&follow=true`;
      const { status, body } = await fetch(url, { headers, signal: abort.signal });
      if (status !== 200 || body === null) throw new Error(`A follower was answered ${status}.`);
      body.pipeTo(new WritableStream()).catch(() => undefined);
    }
  return () => abort.abort();
}

/** Deliveries a second to the handler, from the first post to the last outcome. */
async function handled(rig: Rig): Promise<number> {
  const event = { type: 'space_content_updated', organization: 'busy', spaceId: 's', revisionId: 'r' };
  const events = Array.from({ length: EVENTS_PER_POST }, () => event);
  const begun = performance.now();
  for (let posted = 0; posted < EVENTS; posted += EVENTS_PER_POST)
    await rig.api('POST', '/events', { events });
  const pending = async () => (await rig.api('GET', '/deliveries?state=pending&limit=1'))['items'];
  while (((await pending()) as unknown[]).length > 0) await pause(10);
  return (EVENTS * 1_000) / (performance.now() - begun);
}
