/** Tasks (docs/contract/tasks.md) of code of the SDK and of module workers, in a real service. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const POLL = { interval: 20, timeout: 90_000 };
const LEVELS = ['integration', 'organization', 'space', 'site'] as const;
type LevelName = (typeof LEVELS)[number];

/** Queues what a POST asks for; shows its tokens, and the tasks that it got. */
const SDK = `import { createIntegration } from '@annex/sdk';
const seen = [];
let refused = 0;
export default createIntegration({
  async fetch(request, { api, integration, environment }) {
    if (request.method === 'GET') return Response.json({ seen, refused, tokens: environment.apiTokens });
    const { how, ...queued } = await request.json();
    try {
      if (how === 'request') await api.request('POST /integrations/{name}/tasks', { body: queued });
      else await (how === 'api' ? api : integration).queueTask(queued);
      return Response.json({ queued: true });
    } catch ({ status, code, message }) {
      return Response.json({ status, code, message });
    }
  },
  async task({ task, ...ids }, { environment, integration }) {
    if (task.fetch) await fetch(task.fetch);
    if (task.fails) throw new Error('failed as asked');
    if (task.bomb) {
      const two = await Promise.allSettled([1, 2].map(() => integration.queueTask({ task })));
      refused += two.filter(({ status }) => status === 'rejected').length;
    }
    const { installation, space, site, apiTokens } = environment;
    seen.push({ task, ids, environment: [installation?.id, space, site, Object.keys(apiTokens).length] });
  },
});`;
const MODULE_WORKER = `
const seen = [];
export default {
  async fetch(request) {
    const form = await request.formData();
    const { type, task, request: asked, ...ids } = JSON.parse(form.get('event'));
    const { installation, space, site, apiTokens, apiEndpoint, integration } = JSON.parse(form.get('environment'));
    if (type === 'task') {
      seen.push({ task, ids: { type, ...ids }, environment: [installation?.id, space, site, Object.keys(apiTokens).length] });
      return new Response('OK');
    }
    if (asked.method === 'GET') return Response.json({ seen, tokens: apiTokens });
    const { how, ...queued } = JSON.parse(await form.get('fetch-body').text());
    const token = (how === 'request' ? undefined : apiTokens.installation) ?? apiTokens.integration;
    const answer = await fetch(apiEndpoint + '/v1/integrations/' + integration.name + '/tasks', {
      method: 'POST',
      headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' },
      body: JSON.stringify(queued),
    });
    return Response.json(answer.status === 204 ? { queued: true } : { status: answer.status, ...(await answer.json()).error });
  },
};`;

interface Seen {
  readonly seen: readonly { readonly task: unknown; readonly ids: object; readonly environment: unknown }[];
  readonly refused: number;
  readonly tokens: { readonly integration: string; readonly installation?: string };
}
type Endpoints = Readonly<Record<LevelName, Installed>>;

const shown = async (at: Installed): Promise<Seen> => (await (await fetch(at.endpoint)).json()) as Seen;

async function queue(at: Installed, queued: { task: unknown; schedule?: number; how?: string }) {
  const response = await fetch(at.endpoint, { method: 'POST', body: JSON.stringify(queued) });
  return (await response.json()) as { queued?: boolean; status?: number; code?: string; message?: string };
}

async function deploy(annex: TestService, name: string, source: string): Promise<Endpoints> {
  await annex.publish(name, { 'index.js': source }, 'target: all\n');
  const { body } = await annex.api('GET', `/v1/integrations/${name}`);
  const organization = await annex.install(name, `of-${name}`);
  return {
    integration: { id: '', endpoint: (body['urls'] as { publicEndpoint: string }).publicEndpoint },
    organization,
    space: await annex.installBelow(name, organization, 'space', 'sp-1'),
    site: await annex.installBelow(name, organization, 'site', 'si-1'),
  };
}

interface DeliveryOfTask {
  readonly id: string;
  readonly eventId: string;
  readonly state: string;
  readonly [member: string]: unknown;
}

async function listed(annex: TestService, query: string, token = annex.admin): Promise<DeliveryOfTask[]> {
  const { status, body } = await annex.api('GET', `/v1/deliveries?${query}`, { token });
  expect(status).toBe(200);
  return body['items'] as DeliveryOfTask[];
}

/** The newest delivery, once it has ended. */
const ended = (annex: TestService, query: string): Promise<DeliveryOfTask> =>
  vi.waitFor(async () => {
    const [delivery] = await listed(annex, query);
    expect(delivery?.state).not.toBe('pending');
    return delivery as DeliveryOfTask;
  }, POLL);

let annex: TestService;
let sdk: Endpoints;
let plain: Endpoints;
beforeAll(async () => {
  annex = await TestService.start({ flags: ['--egress-allow', '127.0.0.0/8'] });
  sdk = await deploy(annex, 'sdk', SDK);
  plain = await deploy(annex, 'plain', MODULE_WORKER);
});
afterAll(() => annex.stop());

const organizationToken = async (organization: string): Promise<string> =>
  (await annex.service.store.tokens.create({ kind: 'organization', organization }, OPERATOR)).token;

describe.each(['sdk', 'plain'] as const)('a task of code: %s', (kind) => {
  test.each(LEVELS)('comes back at the level of its token, with the ids of its target: %s', async (level) => {
    const all = kind === 'sdk' ? sdk : plain;
    const at = all[level];
    const task = { from: level, list: [1, null, 'ü'] };
    expect(await queue(at, { task })).toEqual({ queued: true });
    const found = await vi.waitFor(async () => {
      const one = (await shown(at)).seen.find((seen) => (seen.task as typeof task).from === level);
      expect(one).toBeDefined();
      return one;
    }, POLL);
    const { id } = all.organization;
    const ids = {
      integration: {},
      organization: { installationId: id },
      space: { installationId: id, spaceId: 'sp-1' },
      site: { installationId: id, siteId: 'si-1' },
    }[level];
    const own = level === 'integration';
    const [space, site] = [level === 'space' ? 'sp-1' : null, level === 'site' ? 'si-1' : null];
    expect(found).toEqual({
      task,
      ids: { type: 'task', eventId: expect.stringMatching(/^evt_/), ...ids },
      environment: [own ? null : id, space, site, own ? 1 : 2],
    });
  });

  test('that is queued with the token of the integration comes at its own level', async () => {
    const all = kind === 'sdk' ? sdk : plain;
    expect(await queue(all.space, { how: 'request', task: { own: true } })).toEqual({ queued: true });
    await vi.waitFor(async () => {
      const found = (await shown(all.integration)).seen.find(({ task }) => (task as { own?: true }).own);
      expect(found?.environment).toEqual([null, null, null, 1]);
    }, POLL);
  });
});

test('`context.api` queues for the target of the call, too', async () => {
  expect(await queue(sdk.site, { how: 'api', task: { by: 'api' } })).toEqual({ queued: true });
  expect(await ended(annex, `installation=${sdk.organization.id}&type=task`)).toMatchObject({
    site: 'si-1',
    state: 'delivered',
  });
});

describe('the outcome', () => {
  test('of a handler that throws is an attempt of its schedule, and in the log', async () => {
    await queue(sdk.organization, { task: { fails: true } });
    const { id, ...failed } = await ended(annex, `installation=${sdk.organization.id}&type=task`);
    expect(failed).toMatchObject({ state: 'failed', attempts: 4, outcome: 'answered 500' });
    const texts = (await annex.log(sdk.organization)).map(({ text }) => text);
    expect(texts).toContainEqual(expect.stringContaining('failed as asked'));
    const again = await annex.api('POST', `/v1/deliveries/${id}/redeliver`);
    expect([again.status, again.body]).toMatchObject([409, { error: { code: 'DELIVERY_OVER' } }]);
  });

  test('of a call whose process is killed is not: the task is delivered again', async () => {
    const answers = [undefined, 200];
    const receiver = await HttpReceiver.start(() => answers.shift());
    await queue(sdk.organization, { task: { fetch: receiver.url } });
    await vi.waitFor(() => expect(receiver.requests).toHaveLength(1), POLL);
    for (const pid of annex.cellPids) process.kill(pid, 'SIGKILL');
    const task = await ended(annex, `installation=${sdk.organization.id}&type=task`);
    expect(task).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  test('of code that handles no tasks is `unhandled`', async () => {
    const source = SDK.replace('async task(', 'components: [], async fetch_visitor_authentication(');
    const { organization } = await deploy(annex, 'without', source);
    await queue(organization, { task: {} });
    expect(await ended(annex, `installation=${organization.id}&type=task`)).toMatchObject({
      state: 'unhandled',
    });
  });
});

describe('a scheduled task', () => {
  test('waits, is listed with its time, and can be canceled', async () => {
    await queue(plain.space, { task: 1, schedule: 86_400 });
    const [task] = await listed(annex, `installation=${plain.organization.id}&type=task&space=sp-1`);
    const { createdAt, dueAt } = task as unknown as { createdAt: string; dueAt: string };
    expect(task).toMatchObject({ state: 'pending', type: 'task', space: 'sp-1', attempts: 0 });
    expect(Date.parse(dueAt) - Date.parse(createdAt)).toBeGreaterThan(86_300_000);
    const { status, body } = await annex.api('POST', `/v1/deliveries/${task?.id}/cancel`);
    expect([status, body['state']]).toEqual([200, 'canceled']);
  });
});

describe('no other organization', () => {
  test('reads deliveries of tasks at the level of the integration; its owner does', async () => {
    await queue(sdk.integration, { task: { secret: 'of the author' } });
    const delivery = await ended(annex, 'integration=sdk');
    expect(delivery).toMatchObject({
      type: 'task',
      organization: 'acme',
      integration: 'sdk',
      state: 'delivered',
    });
    expect(delivery).not.toHaveProperty('installation');
    const owner = await organizationToken('acme');
    const installer = await organizationToken('of-sdk');
    expect((await listed(annex, 'integration=sdk', owner)).map(({ id }) => id)).toContain(delivery.id);
    expect(await listed(annex, 'integration=sdk', installer)).toEqual([]);
    const read = (token: string) => annex.api('GET', `/v1/deliveries/${delivery.id}`, { token });
    expect(await read(installer)).toMatchObject({ status: 404 });
    const { status, body } = await read(owner);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toContain('of the author');
  });

  test('and no organization reads what a task says, or finds tasks among its events', async () => {
    await queue(sdk.organization, { task: { secret: 'of the author' }, schedule: 600 });
    const [delivery] = await listed(annex, `installation=${sdk.organization.id}&type=task`);
    for (const token of [await organizationToken('of-sdk'), annex.platform, annex.admin]) {
      const one = await annex.api('GET', `/v1/events/${delivery?.eventId}`, { token });
      expect([one.status, one.body]).toMatchObject([404, { error: { code: 'EVENT_UNKNOWN' } }]);
      const all = await annex.api('GET', '/v1/events', { token });
      expect([all.status, JSON.stringify(all.body)]).toEqual([200, expect.not.stringContaining('"task"')]);
      const whole = await annex.api('GET', `/v1/deliveries/${delivery?.id}`, { token });
      expect(JSON.stringify(whole.body)).not.toContain('of the author');
    }
  });

  test('and the two filters exclude each other', async () => {
    const { status } = await annex.api('GET', `/v1/deliveries?integration=sdk&installation=${sdk.site.id}`);
    expect(status).toBe(400);
  });
});

describe('queuing is refused', () => {
  const post = async (token: string, json: unknown, name = 'plain') => {
    const { status, body } = await annex.api('POST', `/v1/integrations/${name}/tasks`, { token, json });
    return [status, (body['error'] as { code?: string } | undefined)?.code];
  };

  test('to tokens of people and of the product', async () => {
    for (const token of [annex.admin, annex.platform, await organizationToken('acme')])
      expect(await post(token, { task: 1 })).toEqual([403, 'TOKEN_FORBIDDEN']);
  });

  test('for another integration', async () => {
    const { tokens } = await shown(plain.organization);
    expect(await post(tokens.integration, { task: 1 }, 'sdk')).toEqual([404, 'INTEGRATION_UNKNOWN']);
    expect(await post(tokens.installation ?? '', { task: 1 }, 'sdk')).toEqual([404, 'INTEGRATION_UNKNOWN']);
  });

  test.each([
    [{}],
    [{ task: 1, schedule: -1 }],
    [{ task: 1, schedule: 86_401 }],
    [{ task: 1, schedule: '5' }],
    [{ task: 1, delay: 5 }],
  ])('if the body is not a task and a time: %j', async (json) => {
    const { tokens } = await shown(plain.organization);
    expect(await post(tokens.integration, json)).toEqual([400, 'REQUEST_INVALID']);
  });

  test('taskBytes: of 64 KiB and not of one byte more, nor of a body that is far larger', async () => {
    const { tokens } = await shown(plain.organization);
    const token = tokens.installation ?? '';
    const task = (bytes: number) => ({ task: 'x'.repeat(bytes - 2), schedule: 86_400 });
    expect(await post(token, task(65_536))).toEqual([204, undefined]);
    expect(await post(token, task(65_537))).toEqual([413, 'REQUEST_TOO_LARGE']);
    expect(await post(token, task(1_000_000))).toEqual([413, 'REQUEST_TOO_LARGE']);
  });
});

test('tasksPerMinutePerInstallation: of the code of each installation, and of the integration, apart', async () => {
  const bounded = await startTestService({ limits: { tasksPerMinutePerInstallation: 3 } });
  const at = await deploy(bounded, 'often', MODULE_WORKER);
  const other = await bounded.install('often');
  const codes = async (of: Installed, times: number) => {
    const all: (string | undefined)[] = [];
    for (let time = 0; time < times; time += 1) all.push((await queue(of, { task: 1 })).code);
    return all;
  };
  expect(await codes(at.organization, 2)).toEqual([undefined, undefined]);
  expect(await codes(at.site, 2)).toEqual([undefined, 'REQUEST_RATE_EXCEEDED']);
  expect(await codes(other, 1)).toEqual([undefined]);
  expect(await codes(at.integration, 4)).toEqual([undefined, undefined, undefined, 'REQUEST_RATE_EXCEEDED']);
});

test('a target with too many pending tasks gets no more', async () => {
  const bounded = await startTestService({ limits: { tasksPendingPerTarget: 1 } });
  const at = await deploy(bounded, 'full', SDK);
  expect(await queue(at.site, { task: 1, schedule: 60 })).toEqual({ queued: true });
  expect(await queue(at.site, { task: 2 })).toEqual({
    status: 429,
    code: 'TASKS_FULL',
    message: expect.stringContaining('tasksPendingPerTarget'),
  });
});

// Attack: a fork bomb. Each task queues two of its kind.
test('tasksPerMinutePerIntegration: of the code of all installations together', async () => {
  const bounded = await startTestService({
    limits: { tasksPerMinutePerInstallation: 2, tasksPerMinutePerIntegration: 3 },
  });
  const at = await deploy(bounded, 'many', MODULE_WORKER);
  const other = await bounded.install('many');
  const code = async (of: Installed) => (await queue(of, { task: 1 })).code;
  // What the narrower rate refuses is not counted here.
  expect([await code(other), await code(other), await code(other), await code(other)]).toEqual([
    ...[undefined, undefined, 'REQUEST_RATE_EXCEEDED', 'REQUEST_RATE_EXCEEDED'],
  ]);
  expect([await code(at.organization), await code(at.organization)]).toEqual([
    undefined,
    'REQUEST_RATE_EXCEEDED',
  ]);
  const apart = await deploy(bounded, 'apart', MODULE_WORKER);
  expect(await code(apart.organization)).toBeUndefined();
});

test('tasksPerMinutePerOrganization: of all integrations of one organization together', async () => {
  const bounded = await startTestService({ limits: { tasksPerMinutePerOrganization: 2 } });
  await bounded.publish('first', { 'index.js': MODULE_WORKER });
  await bounded.publish('second', { 'index.js': MODULE_WORKER });
  const first = await bounded.install('first', 'busy');
  const second = await bounded.install('second', 'busy');
  const other = await bounded.install('second', 'calm');
  const code = async (of: Installed) => (await queue(of, { task: 1 })).code;
  expect([await code(first), await code(second), await code(second), await code(other)]).toEqual([
    ...[undefined, undefined, 'REQUEST_RATE_EXCEEDED', undefined],
  ]);
});

test('a task that queues two tasks, each of which queues two more, is bounded, and others go on', async () => {
  const perMinute = 30;
  const bounded = await startTestService({
    limits: { tasksPerMinutePerInstallation: perMinute, tasksPendingPerTarget: 10 },
  });
  const bomb = await deploy(bounded, 'bomb', SDK);
  const good = await deploy(bounded, 'good', SDK);
  const startedAt = performance.now();
  await queue(bomb.organization, { task: { bomb: true } });
  await vi.waitFor(async () => expect((await shown(bomb.organization)).refused).toBeGreaterThan(5), POLL);
  expect(await queue(good.organization, { task: { good: true } })).toEqual({ queued: true });
  await vi.waitFor(async () => expect((await shown(good.organization)).seen).toHaveLength(1), POLL);
  const { seen } = await shown(bomb.organization);
  const minutes = (performance.now() - startedAt) / 60_000;
  expect(seen.length).toBeGreaterThan(5);
  expect(seen.length).toBeLessThanOrEqual(perMinute * (1 + minutes) + 1);
});
