/** Chains of tasks that queue tasks end (docs/contract/tasks.md#chains), in a real service. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Installed, PATIENT, TestService } from '../../support/service.ts';

const POLL = { interval: 20, timeout: 90_000 };
const MAX = 3;

/**
 * A task goes on as it says: it queues itself; or posts itself to the first of the endpoints in
 * `by`, which does so; or edits its installation, whose event does so.
 */
const SOURCE = `import { createIntegration } from '@annex/sdk';
const seen = [];
const refused = [];
const queue = (integration, { schedule, ...task }) =>
  integration.queueTask({ task, ...(schedule !== undefined && { schedule }) }).then(
    () => 'queued',
    ({ status, code, message }) => { refused.push({ status, code, message }); return code; },
  );
async function goOn(task, { integration, environment }) {
  const { by: [first, ...others] = [] } = task;
  if (first === 'edit') {
    const { apiEndpoint, apiTokens, installation } = environment;
    const url = apiEndpoint + '/integrations/' + environment.integration.name + '/installations/' + installation.id;
    await fetch(url, {
      method: 'PATCH',
      headers: { authorization: 'Bearer ' + apiTokens.installation, 'content-type': 'application/json' },
      body: JSON.stringify({ configuration: { task: JSON.stringify({ ...task, edits: (task.edits ?? 0) + 1 }) } }),
    });
  } else if (first === undefined) await queue(integration, task);
  else await fetch(first, { method: 'POST', body: JSON.stringify({ ...task, by: [...others, first] }) });
}
export default createIntegration({
  async fetch(request, { integration }) {
    if (request.method === 'GET') return Response.json({ seen, refused });
    return Response.json(await queue(integration, await request.json()));
  },
  async task({ task }, context) {
    seen.push(task);
    for (let one = 0; one < (task.times ?? 1); one += 1) await goOn(task, context);
    if (task.late) await queue(context.integration, { schedule: task.late });
  },
  events: {
    async installation_setup(event, { environment, integration }) {
      const { task } = environment.installation.configuration;
      if (task) await queue(integration, JSON.parse(task));
    },
  },
});`;
const MANIFEST = `configurations:
  account:
    properties:
      task: {type: string, title: Task, description: For a test.}
`;

interface Shown {
  readonly seen: readonly unknown[];
  readonly refused: readonly { readonly status: number; readonly code: string; readonly message: string }[];
}

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start({ limits: { ...PATIENT, taskGenerations: MAX } });
});
afterAll(() => annex.stop());

async function deploy(name: string): Promise<Installed> {
  await annex.publish(name, { 'index.js': SOURCE }, MANIFEST);
  return annex.install(name);
}

const shown = async ({ endpoint }: Installed): Promise<Shown> =>
  (await (await fetch(endpoint)).json()) as Shown;

async function queue({ endpoint }: Installed, task: object): Promise<unknown> {
  return (await fetch(endpoint, { method: 'POST', body: JSON.stringify(task) })).json();
}

/** What is shown once the code was refused so many times, and nothing is pending. */
async function ended(refusals: number, ...all: readonly Installed[]): Promise<Shown> {
  return vi.waitFor(async () => {
    const each = await Promise.all(all.map(shown));
    const seen = each.flatMap((one) => one.seen);
    const refused = each.flatMap((one) => one.refused);
    expect(refused.length).toBe(refusals);
    const { body } = await annex.api('GET', '/v1/deliveries?state=pending');
    expect(body['items']).toEqual([]);
    return { seen, refused };
  }, POLL);
}

// Attack: a task that queues its like at once, for ever.
test('taskGenerations: a task that queues itself ends, and is told what to do', async () => {
  const at = await deploy('itself');
  const metric = 'annex_limits_met_total{limit="taskGenerations"}';
  const before = await annex.metric(metric);
  expect(await queue(at, {})).toBe('queued');
  const { seen, refused } = await ended(1, at);
  expect(seen).toHaveLength(MAX);
  expect(refused).toEqual([
    {
      status: 508,
      code: 'CHAIN_TOO_LONG',
      message: expect.stringMatching(/at least a minute later; the limit is 3 \(taskGenerations\)\.$/),
    },
  ]);
  expect(await annex.metric(metric)).toBe(before + 1);
  // Each request from outside begins a chain of its own.
  expect(await queue(at, {})).toBe('queued');
  expect((await ended(2, at)).seen).toHaveLength(2 * MAX);
});

test.each([
  ['of up to 59 seconds counts', 59, 2],
  ['of a minute or more does not', 60, 1],
])('a delay %s', async (_, late, refusals) => {
  const at = await deploy(`late-${late}`);
  await queue(at, { late });
  // All tasks of the chain but the last one queue both; they are not due during the test.
  await vi.waitFor(async () => expect((await shown(at)).refused).toHaveLength(refusals), POLL);
  expect((await shown(at)).seen).toHaveLength(MAX);
  await annex.api('DELETE', `/v1/integrations/late-${late}?cascade=true`);
});

// Attack: a fork bomb. Each task queues two of its kind.
test('tasks that queue two each end', async () => {
  const at = await deploy('two');
  await queue(at, { times: 2 });
  const { seen } = await ended(2 ** MAX, at);
  expect(seen).toHaveLength(2 ** MAX - 1);
});

describe('attack: a task that has another call queue the next one', () => {
  test('by a fetch of its own endpoint', async () => {
    const at = await deploy('own');
    await queue(at, { by: [at.endpoint] });
    expect((await ended(1, at)).seen).toHaveLength(MAX);
  });

  test('by a fetch of the endpoint of another integration, whose tasks do the same', async () => {
    const one = await deploy('one');
    const other = await deploy('other');
    await queue(one, { by: [other.endpoint, one.endpoint] });
    expect((await ended(1, one, other)).seen).toHaveLength(MAX);
  });

  test('by an edit, whose lifecycle event queues it', async () => {
    const at = await deploy('edits');
    await queue(at, { by: ['edit'] });
    expect((await ended(1, at)).seen).toHaveLength(MAX);
  });
});

/** Its endpoint sends a test event, whose webhook is posted to the endpoint. */
const HOOK = `import { createIntegration, deliverTo } from '@annex/sdk';
const seen = [];
const refused = [];
export default createIntegration({
  async fetch(request, { environment }) {
    if (request.method === 'GET') return Response.json({ seen, refused });
    const { apiEndpoint, apiTokens, installation, integration } = environment;
    const path = '/integrations/' + integration.name + '/installations/' + installation.id + '/sites/si-1/webhook-test';
    const headers = { authorization: 'Bearer ' + apiTokens.installation, 'content-type': 'application/json' };
    const sent = await fetch(apiEndpoint + path, { method: 'POST', headers, body: '{}' });
    if (!sent.ok) refused.push({ status: sent.status, ...(await sent.json()).error });
    return Response.json(sent.status);
  },
  events: { site_view(event, { environment }) {
    seen.push(event.eventId);
    return deliverTo(environment.siteInstallation.configuration.receiver, event);
  } },
});`;
const HOOK_MANIFEST = `name: hook
title: Hook
description: for a test
organization: acme
visibility: public
scopes: [site:views:read]
script: index.js
target: all
webhook: {url: receiver, eventTypes: events}
configurations:
  site:
    properties:
      receiver: {type: string, title: URL, description: Where to.}
      events: {type: string, title: Events, description: Which., enum: [site_view], multiple: true}
    required: [receiver]
`;

// Attack: a webhook to the own endpoint, which sends the next test event.
test('test events that cause each other by webhooks to the own endpoint end, too', async () => {
  const form = new FormData();
  form.append('manifest', HOOK_MANIFEST);
  form.append('files', new Blob([HOOK]), 'index.js');
  expect((await annex.api('POST', '/v1/integrations', { form })).status).toBe(201);
  const whole = await annex.install('hook');
  const site = await annex.installBelow('hook', whole, 'site', 'si-1');
  const configuration = { receiver: site.endpoint, events: ['site_view'] };
  const path = `/v1/integrations/hook/installations/${whole.id}/sites/si-1`;
  expect((await annex.api('PATCH', path, { json: { configuration } })).status).toBe(200);
  expect((await annex.api('POST', `${path}/webhook-test`, { json: {} })).status).toBe(202);
  const { seen, refused } = await ended(1, site);
  expect(refused).toMatchObject([{ status: 508, code: 'CHAIN_TOO_LONG' }]);
  // The first one came from outside.
  expect(seen).toHaveLength(1 + MAX);
});
