/** Lifecycle events of an installation: delivered after the commit, in order, and once. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Installed, PATIENT, startTestService, TestService } from '../../support/service.ts';

let annex: TestService;

beforeAll(async () => {
  annex = await TestService.start({ limits: PATIENT });
  return () => annex.stop();
});

interface EventView {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly attempts: number;
  readonly outcome?: string;
}

/** All events of an installation, oldest first, once none is pending. */
async function settled(installed: Installed, service = annex): Promise<EventView[]> {
  const events = async () => {
    const { body } = await service.api('GET', `/v1/events?installation=${installed.id}&limit=100`);
    return (body['items'] as EventView[]).toReversed();
  };
  await expect.poll(async () => (await events()).filter(({ state }) => state === 'pending')).toEqual([]);
  return events();
}

const pathOf = (name: string, { id }: Installed): string => `/v1/integrations/${name}/installations/${id}`;

async function change(method: string, path: string, json?: unknown): Promise<void> {
  const { status, body } = await annex.api(method, path, json === undefined ? {} : { json });
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(body)}`);
}

const SETTINGS = `configurations:
  account:
    properties:
      word: { type: string, title: Word, description: A word., default: none }
      needed: { type: string, title: Needed, description: Required. }
    required: [needed]
  space:
    properties:
      tone: { type: string, title: Tone, description: A tone., default: calm }
  site:
    properties:
      tone: { type: string, title: Tone, description: A tone., default: loud }
`;

/** Records every event with its environment, and returns the records. */
const listener = (more = ''): string => `
  import { createIntegration } from '@annex/sdk';
  const received = [];
  const receive = (event, { environment }) => {
    const { id, status, configuration, space, site, installation } = environment;
    received.push({ event, seen: { id, status, configuration, space, site, organization: installation.target.organization } });
    ${more}
  };
  export default createIntegration({
    fetch: async () => Response.json(received),
    events: {
      installation_setup: receive, space_installation_setup: receive, site_installation_setup: receive,
      space_installation_deleted: receive, site_installation_deleted: receive,
    },
  });`;

async function receivedBy({
  endpoint,
}: Installed): Promise<Record<'event' | 'seen', Record<string, unknown>>[]> {
  return (await (await fetch(endpoint)).json()) as Record<'event' | 'seen', Record<string, unknown>>[];
}

describe('installation_setup', () => {
  test('follows an install and each edit, with the previous state and the present environment', async () => {
    await annex.publish('settings', { 'index.js': listener() }, SETTINGS);
    const installed = await annex.install('settings', 'beach', { notified: true });
    await settled(installed);
    await change('PATCH', pathOf('settings', installed), { configuration: { needed: 'yes' } });
    await settled(installed);
    await change('PATCH', pathOf('settings', installed), { configuration: { word: 'sun' } });
    const events = await settled(installed);
    const received = await receivedBy(installed);
    expect(received.map(({ event }) => event)).toEqual([
      { eventId: events[0]?.id, type: 'installation_setup', installationId: installed.id, status: 'pending' },
      {
        eventId: events[1]?.id,
        type: 'installation_setup',
        installationId: installed.id,
        status: 'active',
        previous: { status: 'pending', configuration: { word: 'none' } },
      },
      {
        eventId: events[2]?.id,
        type: 'installation_setup',
        installationId: installed.id,
        status: 'active',
        previous: { status: 'active', configuration: { word: 'none', needed: 'yes' } },
      },
    ]);
    expect(received.map(({ seen }) => [seen['id'], seen['organization'], seen['status']])).toEqual([
      [installed.id, 'beach', 'pending'],
      [installed.id, 'beach', 'active'],
      [installed.id, 'beach', 'active'],
    ]);
    expect(received[2]?.seen['configuration']).toEqual({ word: 'sun', needed: 'yes' });
    expect(events).toMatchObject(
      Array.from({ length: 3 }, () => ({ state: 'delivered', attempts: 1, outcome: 'answered 200' })),
    );
  });

  test('without a handler is unhandled, which is final, and no call is made', async () => {
    const installed = await annex.deploy(
      'deaf',
      "import { createIntegration } from '@annex/sdk'; export default createIntegration({ fetch: async () => new Response() });",
      { notified: true },
    );
    expect(await settled(installed)).toMatchObject([
      { state: 'unhandled', attempts: 0, outcome: 'no handler' },
    ]);
    expect(await annex.log(installed)).toEqual([]);
  });

  test('goes to a script without the SDK, whose 406 means that it has no handler', async () => {
    const source = 'export default { fetch: async () => new Response("", { status: 406 }) };';
    const installed = await annex.deploy('worker', source, { notified: true });
    expect(await settled(installed)).toMatchObject([
      { state: 'unhandled', attempts: 1, outcome: 'answered 406' },
    ]);
  });

  test('whose handler throws has failed, which is final; the log has the trace, and the next is delivered', async () => {
    const source = listener("if (event.status === 'pending') throw new Error('not like this');");
    await annex.publish('thrower', { 'index.js': source }, SETTINGS);
    const installed = await annex.install('thrower', undefined, { notified: true });
    await change('PATCH', pathOf('thrower', installed), { configuration: { needed: 'yes' } });
    const events = await settled(installed);
    expect(events.map(({ state }) => state)).toEqual(['failed', 'delivered']);
    expect(events[0]).toMatchObject({ attempts: 1, outcome: 'answered 500' });
    const log = await annex.log(installed);
    expect(log.map(({ text }) => text).join('\n')).toMatch(/not like this.*index\.js:\d+.*This is final\./s);
    expect((await receivedBy(installed)).length).toBe(2);
  });

  test('whose handler exceeds a limit has failed, too', async () => {
    const installed = await annex.deploy(
      'spinner',
      "import { createIntegration } from '@annex/sdk'; export default createIntegration({ events: { installation_setup() { for (;;); } } });",
      { notified: true },
    );
    expect(await settled(installed)).toMatchObject([
      { state: 'failed', attempts: 1, outcome: 'exceededCpu' },
    ]);
  });

  test('of edits during a pause is delivered once, with the state at the resume', async () => {
    await annex.publish('sleeper', { 'index.js': listener() }, SETTINGS);
    const installed = await annex.install('sleeper', undefined, { notified: true });
    await settled(installed);
    await change('POST', `${pathOf('sleeper', installed)}/pause`);
    for (const configuration of [{ needed: 'yes' }, { word: 'sun' }, { word: 'rain' }, { word: 'rain' }])
      await change('PATCH', pathOf('sleeper', installed), { configuration });
    const { body } = await annex.api('GET', `/v1/events?installation=${installed.id}&limit=100`);
    expect(body['items']).toMatchObject([{ state: 'pending', attempts: 0 }, { state: 'delivered' }]);
    await change('POST', `${pathOf('sleeper', installed)}/resume`);
    expect(await settled(installed)).toHaveLength(2);
    const [, edited, ...more] = await receivedBy(installed);
    expect(more).toEqual([]);
    expect(edited?.event).toMatchObject({
      status: 'active',
      previous: { status: 'paused', configuration: { word: 'none' } },
    });
    expect(edited?.seen).toMatchObject({ status: 'active', configuration: { needed: 'yes', word: 'rain' } });
  });

  test('counts in the metrics, and none is left waiting', async () => {
    expect(await annex.metric('annex_life_events_total{state="delivered"}')).toBeGreaterThan(2);
    expect(await annex.metric('annex_life_events_waiting')).toBe(0);
  });
});

describe('below an installation', () => {
  test.each([
    ['space', 'spaces', 'spaceId', 'calm'],
    ['site', 'sites', 'siteId', 'loud'],
  ])('a %s has events of its own, from setup to deletion', async (level, plural, idName, tone) => {
    const name = `${level}-teller`;
    await annex.publish(name, { 'index.js': listener() }, SETTINGS);
    const installed = await annex.install(name, undefined, { notified: true });
    const below = `${pathOf(name, installed)}/${plural}`;
    await change('POST', below, { [level]: 'x1' });
    await change('PATCH', `${below}/x1`, { configuration: { tone: 'warm' } });
    await settled(installed);
    await change('DELETE', `${below}/x1`);
    await settled(installed);
    const ids = { installationId: installed.id, [idName]: 'x1' };
    const received = (await receivedBy(installed)).slice(1);
    expect(received.map(({ event: { eventId, ...rest } }) => rest)).toEqual([
      { ...ids, type: `${level}_installation_setup`, status: 'active' },
      {
        ...ids,
        type: `${level}_installation_setup`,
        status: 'active',
        previous: { status: 'active', configuration: { tone } },
      },
      { ...ids, type: `${level}_installation_deleted`, previous: { configuration: { tone: 'warm' } } },
    ]);
    expect(received.map(({ seen }) => seen[level])).toEqual(['x1', 'x1', 'x1']);
    expect(received.at(-1)?.seen['configuration']).toEqual({ tone: 'warm' });
  });
});

describe('installation_deleted', () => {
  test('has the environment of the deleted installation, whose log lines are deleted, too', async () => {
    const witness = await annex.deploy(
      'witness',
      `import { createIntegration } from '@annex/sdk';
       const seen = [];
       export default createIntegration({ async fetch(request) {
         if (request.method === 'POST') seen.push(await request.json());
         return Response.json(seen);
       } });`,
    );
    await annex.publish(
      'leaver',
      {
        'index.js': `
          import { createIntegration } from '@annex/sdk';
          export default createIntegration({
            events: {
              async installation_deleted(event, { environment }) {
                console.log('good bye');
                const { id, configuration, installation } = environment;
                const body = JSON.stringify({ event, id, configuration, organization: installation.target.organization });
                await fetch(configuration.tell, { method: 'POST', body });
              },
            },
          });`,
      },
      'configurations: { account: { properties: { tell: { type: string, title: Tell, description: A URL. } } } }',
    );
    const installed = await annex.install('leaver', 'gone-away', { notified: true });
    await change('PATCH', pathOf('leaver', installed), { configuration: { tell: `${witness.endpoint}/` } });
    await settled(installed);
    await change('DELETE', pathOf('leaver', installed));
    expect((await annex.api('GET', pathOf('leaver', installed))).status).toBe(404);
    expect((await settled(installed)).at(-1)).toMatchObject({
      type: 'installation_deleted',
      state: 'delivered',
    });
    const seen = (await (await fetch(witness.endpoint)).json()) as unknown[];
    const configuration = { tell: `${witness.endpoint}/` };
    expect(seen).toEqual([
      {
        event: expect.objectContaining({
          type: 'installation_deleted',
          installationId: installed.id,
          previous: { configuration },
        }),
        id: installed.id,
        configuration,
        organization: 'gone-away',
      },
    ]);

    const { logs } = annex.service.store;
    const kept = async () => (await logs.list({ tenant: installed.id, limit: 10 })).items;
    // A line is stored once the map of its script has been read.
    const texts = async () => {
      await logs.pass();
      return (await kept()).map(({ text }) => text);
    };
    await expect.poll(texts).toContain('good bye');
    await logs.sweep();
    expect(await kept()).toEqual([]);
  });
});

describe('a fault of the platform', () => {
  test('that ends the call during the handler repeats the event', async () => {
    const crashing = await startTestService({ limits: PATIENT });
    const installed = await crashing.deploy(
      'patient',
      `import { createIntegration } from '@annex/sdk';
       export default createIntegration({ events: { async installation_setup({ eventId }) {
         console.log('received ' + eventId);
         await new Promise((done) => setTimeout(done, 2_500));
       } } });`,
      { notified: true },
    );
    const received = async () =>
      (await crashing.log(installed)).filter(({ text }) => text.startsWith('received'));
    await expect.poll(async () => (await received()).length).toBe(1);
    for (const pid of crashing.cellPids) process.kill(pid, 'SIGKILL');
    const [event, ...others] = await settled(installed, crashing);
    expect(others).toEqual([]);
    expect(event).toMatchObject({ state: 'delivered', attempts: 2, outcome: 'answered 200' });
    expect((await received()).map(({ text }) => text)).toEqual([
      `received ${event?.id}`,
      `received ${event?.id}`,
    ]);
    expect(await crashing.metric('annex_life_events_total{state="pending"}')).toBe(1);
  });
});

describe('attack: a handler that edits its own configuration at each edit', () => {
  test('is refused at the maximum call depth, and its log says so', async () => {
    const depth = 3;
    const service = await startTestService({ limits: { ...PATIENT, callDepth: depth } });
    const source = `
      import { createIntegration } from '@annex/sdk';
      export default createIntegration({ events: { async installation_setup(event, { environment }) {
        const { apiEndpoint, apiTokens, installation, integration } = environment;
        const url = apiEndpoint + '/integrations/' + integration.name + '/installations/' + installation.id;
        const response = await fetch(url, {
          method: 'PATCH',
          headers: { authorization: 'Bearer ' + apiTokens.installation, 'content-type': 'application/json' },
          body: JSON.stringify({ configuration: { count: (installation.configuration.count ?? 0) + 1 } }),
        });
        console.log(response.status, await response.text());
      } } });`;
    await service.publish(
      'loop',
      { 'index.js': source },
      'configurations: { account: { properties: { count: { type: number, title: Count, description: How often. } } } }',
    );
    const installed = await service.install('loop', undefined, { notified: true });
    await expect
      .poll(async () => (await service.log(installed)).map(({ text }) => text).join('\n'))
      .toContain('CALL_TOO_DEEP');
    const events = await settled(installed, service);
    expect(events.length).toBeLessThanOrEqual(depth + 1);
    expect(events.length).toBeGreaterThan(1);
    expect(await service.metric('annex_limits_met_total{limit="callDepth"}')).toBeGreaterThan(0);
  });
});

describe('attack: a publisher with slow handlers in many installations', () => {
  test('delays no event of another publisher', async () => {
    // A stop would wait for them, too.
    const service = await startTestService({ limits: { ...PATIENT, stopMs: 100 } });
    const source = (body: string) => `
      import { createIntegration } from '@annex/sdk';
      export default createIntegration({ events: { async installation_setup() { ${body} } } });`;
    await service.publish('slow', { 'index.js': source('await new Promise(() => {});') });
    const form = new FormData();
    const head =
      'name: good\ntitle: Good\ndescription: x\norganization: other\nvisibility: public\nscopes: []';
    form.append('manifest', `${head}\nscript: index.js\n`);
    form.append('files', new Blob([source('')]), 'index.js');
    expect((await service.api('POST', '/v1/integrations', { form })).status).toBe(201);
    const slow: Installed[] = [];
    // More than may be in flight at once; each takes half a minute.
    for (let at = 0; at < 20; at += 1)
      slow.push(await service.install('slow', `s-${at}`, { notified: true }));
    const good = await service.install('good', undefined, { notified: true });
    expect(await settled(good, service)).toMatchObject([{ state: 'delivered' }]);
    for (const { id } of slow) {
      const { body } = await service.api('GET', `/v1/events?installation=${id}`);
      expect(body['items']).toMatchObject([{ state: 'pending' }]);
    }
  });
});
