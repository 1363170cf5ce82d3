/**
 * `annex call`, `render`, `trigger`, `logs`, `tail`, `deliveries` and `listen`: all over two
 * integrations, one that answers, draws and handles an event, and one that posts webhooks.
 */
import { expect } from 'vitest';
import { HttpReceiver } from '../../receivers/http-receiver.ts';
import type { CommandCase, FailingRun } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';

const MANIFEST = `name: busy
title: Busy
description: For tests of commands.
organization: acme
visibility: public
scopes: [space:content:read]
blocks: [{ id: count, title: Count }]
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
  async fetch(request) {
    const text = await request.text();
    console.log('was called with ' + request.method);
    return new Response('answered ' + text, { headers: { 'x-busy': 'yes' } });
  },
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
  await service.install('busy', 'acme');
  await service.publishFixture('webhook');
  const hooks = await service.install('webhook', 'acme');
  await service.installBelow('webhook', hooks, 'site', 'docs');
  // Nothing answers there: the payload is made, and the post fails.
  const configuration = { webhook_url: 'https://receiver.invalid/in', event_types: ['site_view'] };
  const path = `/v1/integrations/webhook/installations/${hooks.id}/sites/docs`;
  await service.api('PATCH', path, { json: { configuration } });
}

/** The words, with variables by which the service is reached. */
const at = async (world: CommandWorld, words: readonly string[]) => {
  await ready(world);
  return { words, env: world.env };
};

/** Posts an event. @returns the id of its delivery, once it is in this state */
async function delivery(world: CommandWorld, type: keyof typeof EVENTS, state: string): Promise<string> {
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
async function called(world: CommandWorld, words: readonly string[]) {
  const invocation = await at(world, words);
  const { service } = world;
  const { body } = await service.api('GET', '/v1/integrations/busy/installations');
  const [{ id, urls }] = body['items'] as [{ id: string; urls: { publicEndpoint: string } }];
  await fetch(urls.publicEndpoint);
  const lines = async () => (await service.api('GET', `/v1/logs?installation=${id}`)).body['items'];
  await expect.poll(lines).not.toEqual([]);
  return invocation;
}

const strange = (words: readonly string[]): FailingRun => ({
  title: 'a token that the service does not know',
  run: async (world) => ({ ...(await at(world, words)), env: world.envOfStranger }),
  code: 1,
  says: /does not accept the token/,
});
const nowhere = (words: readonly string[]): FailingRun => ({
  title: 'no service',
  run: (world) => ({ words, env: world.envOfNoService }),
  code: 1,
  says: /Nothing listens at/,
});
const notInstalled = (words: readonly string[]): FailingRun => ({
  title: 'an organization that has not installed it',
  run: (world) => at(world, words),
  code: 1,
  says: /"busy" is not installed for "nobody"\.\nInstall it: annex install busy/,
});
const noName = (words: readonly string[]): FailingRun => ({
  title: 'a word that names no installation',
  run: (world) => at(world, words),
  code: 2,
  says: /"\?" is not id of an installation/,
});
const noDelivery = (words: readonly string[]): FailingRun => ({
  title: 'a delivery that does not exist',
  run: (world) => at(world, words),
  code: 1,
  says: /There is no delivery "nothing"/,
});
const refused = (title: string, words: readonly string[], says: RegExp): FailingRun => ({
  ...{ title, says, code: 2 },
  run: (world) => at(world, words),
});

export const TRAFFIC_CASES: readonly CommandCase[] = [
  {
    command: 'call',
    success: (world) => at(world, ['call', 'busy', '/in?a=1', '-d', 'data', '-H', 'X-Test: 1', '--logs']),
    shows: /^answered data/,
    failures: [
      nowhere(['call', 'busy']),
      notInstalled(['call', 'busy@nobody']),
      refused('a header without a name', ['call', 'busy', '-H', 'X'], /"X" is not a header/),
      refused(
        'a file that does not exist',
        ['call', 'busy', '-d', '@gone'],
        /gone cannot be read \(ENOENT\)/,
      ),
      {
        title: 'an endpoint where nothing listens',
        run: (world) => ({ words: ['call', world.envOfNoService['ANNEX_URL'] ?? ''], env: world.home }),
        code: 1,
        says: /cannot be reached \(ECONNREFUSED\)/,
      },
    ],
  },
  {
    command: 'render',
    success: (world) =>
      at(world, ['render', 'count', 'busy@acme', '--state', '{"count":1}', '--action', 'more']),
    shows: /^block$.*^ {2}text.*Counted 2/ms,
    failures: [
      strange(['render', 'count', 'busy']),
      {
        title: 'a misspelt integration',
        run: (world) => at(world, ['render', 'count', 'bsuy']),
        code: 1,
        says: /There is no integration "bsuy".*\nDid you mean busy\?/,
      },
      notInstalled(['render', 'count', 'busy@nobody']),
      refused(
        'props that are no JSON',
        ['render', 'count', 'busy', '--props', 'x'],
        /--props is not a JSON object/,
      ),
      {
        title: 'a component that does not exist',
        run: (world) => at(world, ['render', 'count-up', 'busy']),
        code: 1,
        says: /count-up/,
      },
    ],
  },
  {
    command: 'trigger',
    success: (world) =>
      at(world, ['trigger', 'space_content_updated', 'busy', '-f', 'revisionId=r9', '--wait']),
    shows: /space_content_updated +busy@acme +delivered/,
    failures: [
      nowhere(['trigger', 'site_view', 'busy']),
      refused(
        'an event that does not exist',
        ['trigger', 'site_seen', 'busy'],
        /"site_seen" is not an event/,
      ),
      refused('an event that is not posted', ['trigger', 'ui_render', 'busy'], /annex render/),
      refused('neither an installation nor an organization', ['trigger', 'site_view'], /--organization/),
      refused('a place of the other kind', ['trigger', 'site_view', 'busy', '--space', 'x'], /use --site/),
      {
        title: 'a field with a wrong value',
        run: (world) => at(world, ['trigger', 'space_content_updated', 'busy', '-f', 'revisionId=']),
        code: 1,
        says: /revisionId/,
      },
    ],
  },
  {
    command: 'logs',
    success: (world) => called(world, ['logs', 'busy', '--since', '1h', '--level', 'info']),
    shows: /info +was called with /,
    failures: [
      strange(['logs', 'busy']),
      noName(['logs', '?']),
      refused('a time that is none', ['logs', 'busy', '--since', 'noon'], /"noon" is neither a duration/),
      refused('a level that is none', ['logs', 'busy', '--level', 'eror'], /Did you mean error\?/),
    ],
  },
  {
    command: 'tail',
    success: async (world) => ({ ...(await called(world, ['tail', 'busy'])), stopWhen: /was called/ }),
    shows: /info +was called with /,
    failures: [
      nowhere(['tail', 'busy']),
      notInstalled(['tail', 'busy@nobody']),
      refused('nothing to follow', ['tail'], /Name an installation, or an integration/),
      refused('too many earlier lines', ['tail', 'busy', '-n', '101'], /At most 100 earlier lines/),
    ],
  },
  {
    command: 'deliveries list',
    success: async (world) => {
      await delivery(world, 'space_content_updated', 'delivered');
      return at(world, ['deliveries', 'list', 'busy', '--state', 'delivered', '--since', '1h']);
    },
    shows: /space_content_updated +busy@acme +delivered +1/,
    failures: [
      nowhere(['deliveries', 'list']),
      noName(['deliveries', 'list', '?']),
      refused('a state that is none', ['deliveries', 'list', '--state', 'fail'], /Did you mean failed\?/),
      refused(
        'a time for a stream',
        ['deliveries', 'list', '--follow', '--since', '1h'],
        /--since is for lists/,
      ),
    ],
  },
  {
    command: 'deliveries show',
    success: async (world) => {
      const id = await delivery(world, 'site_view', 'pending');
      return at(world, ['deliveries', 'show', id]);
    },
    shows: /destination +https:\/\/receiver\.invalid\/in.*^ATTEMPT/ms,
    failures: [
      nowhere(['deliveries', 'show', 'x']),
      noDelivery(['deliveries', 'show', 'nothing']),
      refused('no delivery', ['deliveries', 'show'], /delivery/),
    ],
  },
  {
    command: 'deliveries redeliver',
    success: async (world) => {
      const id = await delivery(world, 'space_content_updated', 'delivered');
      return at(world, ['deliveries', 'redeliver', id]);
    },
    shows: /is pending again\./,
    failures: [
      strange(['deliveries', 'redeliver', 'x']),
      noDelivery(['deliveries', 'redeliver', 'nothing']),
      {
        title: 'one that is pending',
        run: async (world) =>
          at(world, ['deliveries', 'redeliver', await delivery(world, 'site_view', 'pending')]),
        code: 1,
        says: /cancel it first/,
      },
    ],
  },
  {
    command: 'deliveries replay',
    success: (world) =>
      at(world, ['deliveries', 'replay', 'busy', '--state', 'unhandled', '--since', '1h', '--until', '1s']),
    shows: /^0 deliveries are pending again\./,
    failures: [
      nowhere(['deliveries', 'replay', 'busy']),
      notInstalled(['deliveries', 'replay', 'busy@nobody']),
      refused(
        'a state that is not final',
        ['deliveries', 'replay', 'busy', '--state', 'pending'],
        /must be one of/,
      ),
    ],
  },
  {
    command: 'deliveries cancel',
    success: async (world) => {
      const id = await delivery(world, 'site_view', 'pending');
      return at(world, ['deliveries', 'cancel', id]);
    },
    shows: /is canceled\./,
    failures: [
      strange(['deliveries', 'cancel', 'x']),
      noDelivery(['deliveries', 'cancel', 'nothing']),
      {
        title: 'one that has ended',
        run: async (world) => {
          const id = await delivery(world, 'space_content_updated', 'delivered');
          return at(world, ['deliveries', 'cancel', id]);
        },
        code: 1,
        says: /is finished/,
      },
    ],
  },
  {
    command: 'listen',
    success: async (world) => {
      const receiver = await HttpReceiver.start();
      // Its retries come when the command follows already.
      await delivery(world, 'site_view', 'pending');
      const invocation = await at(world, ['listen', 'webhook', '--forward-to', receiver.url]);
      return { ...invocation, stopWhen: /site_view/ };
    },
    shows: /site_view → 200 +\d+ ms/,
    failures: [
      nowhere(['listen', 'webhook', '--forward-to', '3000']),
      notInstalled(['listen', 'busy@nobody', '--forward-to', '3000']),
      refused('no receiver', ['listen', 'webhook'], /--forward-to/),
      refused(
        'a receiver that is no URL',
        ['listen', 'webhook', '--forward-to', 'ftp://x'],
        /is not a URL to forward to/,
      ),
    ],
  },
];
