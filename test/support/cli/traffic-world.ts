/**
 * What the rows of commands about traffic run on: two integrations, one that answers, draws and
 * handles an event, and one that posts webhooks. And the failures that many of the rows have.
 */
import { expect } from 'vitest';
import type { FailingRun } from './command-case.ts';
import type { CommandWorld } from './command-world.ts';

const MANIFEST = `name: busy
title: Busy
description: For tests of commands.
organization: acme
visibility: public
scopes: [space:content:read]
blocks: [{ id: count, title: Count }]
calls: [{ name: echo }]
schedules: [{ id: yearly, cron: '0 0 1 1 *', timezone: Europe/Berlin }]
script: index.tsx
`;
const CODE = `import { createComponent, createIntegration } from '@annex/sdk';
const count = createComponent({
  componentId: 'count',
  initialState: () => ({ count: 0 }),
  action: (element, { action }) => (action === 'more' ? { state: { count: element.state.count + 1 } } : {}),
  render: ({ state }) => <block><text>{'Counted ' + state.count}</text></block>,
});
export default createIntegration({
  components: [count],
  async fetch(request, { storage, integration }) {
    const text = await request.text();
    await storage.put('last\\u001b[31m', text);
    await integration.storage.increment('calls');
    console.log('was called with ' + request.method);
    return new Response('answered ' + text, { headers: { 'x-busy': 'yes' } });
  },
  calls: { echo: (input) => ({ echoed: input }) },
  task: () => console.log('ran'),
  events: { space_content_updated: ({ revisionId }) => console.warn('saw ' + revisionId) },
});`;

/** What the rows use; made once for a world. */
const READY = new WeakMap<CommandWorld, Promise<void>>();

function ready(world: CommandWorld): Promise<void> {
  const made = READY.get(world) ?? prepare(world);
  READY.set(world, made);
  return made;
}

async function prepare({ service }: CommandWorld): Promise<void> {
  const form = new FormData();
  form.append('manifest', MANIFEST);
  form.append('files', new Blob([CODE]), 'index.tsx');
  const { status, body } = await service.api('POST', '/v1/integrations', { form });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const busy = await service.install('busy', 'acme');
  await service.publishFixture('webhook');
  const hooks = await service.install('webhook', 'acme');
  await service.installBelow('webhook', hooks, 'site', 'docs');
  // Nothing answers there: the payload is made, and the post fails.
  const configuration = { webhook_url: 'https://receiver.invalid/in', event_types: ['site_view'] };
  const path = `/v1/integrations/webhook/installations/${hooks.id}/sites/docs`;
  await service.api('PATCH', path, { json: { configuration } });
  await service.installBelow('webhook', hooks, 'site', 'answered');
  const answers = { webhook_url: busy.endpoint, event_types: ['site_view'] };
  await service.api('PATCH', path.replace('docs', 'answered'), { json: { configuration: answers } });
}

/** The words, with variables by which the service is reached. */
export const at = async (world: CommandWorld, words: readonly string[]) => {
  await ready(world);
  return { words, env: world.env };
};

/** Posts an event. @returns the id of its delivery, once it is in this state */
export async function delivery(
  world: CommandWorld,
  type: keyof typeof EVENTS,
  state: string,
): Promise<string> {
  await ready(world);
  const { service } = world;
  const { body } = await service.api('POST', '/v1/events', {
    json: { type, organization: 'acme', ...EVENTS[type] },
  });
  let id = '';
  await expect
    .poll(async () => {
      const found = await service.api('GET', `/v1/deliveries?event=${body['eventId']}`);
      const [one] = found.body['items'] as { id: string; state: string; attempts: number }[];
      id = one?.id ?? '';
      return one?.state === state && (state !== 'pending' || one.attempts > 0);
    })
    .toBe(true);
  return id;
}

const VISITOR = { anonymousId: 'a', userAgent: 'b', ip: '192.0.2.1', cookies: {} };
const EVENTS = {
  space_content_updated: { spaceId: 'garden', revisionId: 'r1' },
  site_view: { siteId: 'docs', visitor: VISITOR, url: 'https://example.com/', referrer: '' },
};

/** With a log that has a line. */
export async function called(world: CommandWorld, words: readonly string[]) {
  const invocation = await at(world, words);
  const { service } = world;
  const { body } = await service.api('GET', '/v1/integrations/busy/installations');
  const [{ id, urls }] = body['items'] as [{ id: string; urls: { publicEndpoint: string } }];
  await fetch(urls.publicEndpoint);
  const lines = async () => (await service.api('GET', `/v1/logs?installation=${id}`)).body['items'];
  await expect.poll(lines).not.toEqual([]);
  return invocation;
}

export const strange = (words: readonly string[]): FailingRun => ({
  title: 'a token that the service does not know',
  run: async (world) => ({ ...(await at(world, words)), env: world.envOfStranger }),
  code: 1,
  says: /does not accept the token/,
});
export const nowhere = (words: readonly string[]): FailingRun => ({
  title: 'no service',
  run: (world) => ({ words, env: world.envOfNoService }),
  code: 1,
  says: /Nothing listens at/,
});
export const notInstalled = (words: readonly string[]): FailingRun => ({
  title: 'an organization that has not installed it',
  run: (world) => at(world, words),
  code: 1,
  says: /"busy" is not installed for "nobody"\.\nInstall it: annex install busy/,
});
export const noName = (words: readonly string[]): FailingRun => ({
  title: 'a word that names no installation',
  run: (world) => at(world, words),
  code: 2,
  says: /"\?" is not id of an installation/,
});
export const noDelivery = (words: readonly string[]): FailingRun => ({
  title: 'a delivery that does not exist',
  run: (world) => at(world, words),
  code: 1,
  says: /There is no delivery "nothing"/,
});
export const refused = (title: string, words: readonly string[], says: RegExp): FailingRun => ({
  ...{ title, says, code: 2 },
  run: (world) => at(world, words),
});
