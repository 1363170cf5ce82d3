/**
 * `annex webhook`: its state, secret and headers, and a test of its receiver; and `annex notices`.
 */
import type { CommandCase } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';
import { at, noName, notInstalled, nowhere, refused, strange } from '../traffic-world.ts';

/** Disables the webhook in a site, or enables it, unless it is so already. */
const setWebhook = async (world: CommandWorld, action: 'disable' | 'enable') => {
  const { body } = await world.service.api('GET', '/v1/integrations/webhook/installations');
  const [{ id }] = body['items'] as [{ id: string }];
  const path = `/v1/integrations/webhook/installations/${id}/sites/docs/webhook/${action}`;
  await world.service.api('POST', path, { json: {} });
};

/** In a state that the command changes or shows. */
const after = async (world: CommandWorld, action: 'disable' | 'enable', words: readonly string[]) => {
  const invocation = await at(world, words);
  await setWebhook(world, action);
  return invocation;
};

const ofPlace = (command: string): CommandCase['failures'] => [
  strange(['webhook', command, 'webhook', '--site', 'docs']),
  notInstalled(['webhook', command, 'busy@nobody']),
  refused(
    'a space and a site',
    ['webhook', command, 'webhook', '--site', 'docs', '--space', 'garden'],
    /exclude each other/,
  ),
];

export const WEBHOOK_CASES: readonly CommandCase[] = [
  {
    command: 'webhook list',
    success: (world) => after(world, 'disable', ['webhook', 'list', '--state', 'disabled']),
    shows: /webhook@acme\s+docs\s+disabled/,
    failures: [
      strange(['webhook', 'list']),
      nowhere(['webhook', 'list']),
      refused('a state that is not listed', ['webhook', 'list', '--state', 'healthy'], /healthy/),
    ],
  },
  {
    command: 'notices',
    success: (world) => at(world, ['notices', '--type', 'integration.published']),
    shows: /integration\.published\s+busy@acme\s+version=\d+/,
    failures: [
      strange(['notices']),
      nowhere(['notices']),
      refused('a time with --follow', ['notices', '--since', '1d', '--follow'], /--since is for lists/),
      {
        title: 'a type that is none',
        run: (world) => at(world, ['notices', '--type', 'webhook.happy']),
        code: 1,
        says: /type/,
      },
    ],
  },
  {
    command: 'webhook show',
    success: (world) => after(world, 'enable', ['webhook', 'show', 'webhook', '--site', 'docs']),
    shows: /webhook@acme in docs is (healthy|failing)/,
    failures: ofPlace('show'),
  },
  {
    command: 'webhook disable',
    success: (world) =>
      after(world, 'enable', ['webhook', 'disable', 'webhook', '--site', 'docs', '--note', 'moves']),
    shows: /is disabled\n {2}moves \(by admin\)/,
    failures: ofPlace('disable'),
  },
  {
    command: 'webhook enable',
    success: (world) =>
      after(world, 'disable', ['webhook', 'enable', 'webhook', '--site', 'docs', '--replay']),
    // Events of other rows reach this webhook while it is disabled.
    shows: /The webhook is enabled\.\n(1 held delivery is|\d+ held deliveries are) pending again\./,
    failures: ofPlace('enable'),
  },
  {
    command: 'webhook secret',
    success: (world) => at(world, ['webhook', 'secret', 'webhook@acme', '--site', 'docs']),
    shows: /^[\w-]{43}\n$/,
    failures: [
      strange(['webhook', 'secret', 'webhook', '--site', 'docs']),
      notInstalled(['webhook', 'secret', 'busy@nobody']),
      refused(
        'a space and a site',
        ['webhook', 'secret', 'webhook', '--site', 'docs', '--space', 'garden'],
        /exclude each other/,
      ),
      {
        title: 'an integration that posts no webhooks',
        run: (world) => at(world, ['webhook', 'secret', 'busy']),
        code: 1,
        says: /webhook/,
      },
    ],
  },
  {
    command: 'webhook rotate',
    success: (world) =>
      at(world, ['webhook', 'rotate', 'webhook', '--site', 'docs', '--overlap', '1h', '--standard']),
    shows: /^whsec_[A-Za-z0-9+/]{58}==\n$/,
    failures: [
      nowhere(['webhook', 'rotate', 'webhook', '--site', 'docs']),
      noName(['webhook', 'rotate', '?']),
      refused(
        'an overlap that is no duration',
        ['webhook', 'rotate', 'webhook', '--site', 'docs', '--overlap', 'soon'],
        /"soon" is not a duration, as 30s/,
      ),
      {
        title: 'an overlap that is too long',
        run: (world) => at(world, ['webhook', 'rotate', 'webhook', '--site', 'docs', '--overlap', '8d']),
        code: 1,
        says: /overlapSeconds/,
      },
    ],
  },
  {
    command: 'webhook headers',
    success: async (world) => ({
      ...(await at(world, ['webhook', 'headers', 'webhook', '--site', 'docs', '--set'])),
      stdin: 'X-Key: value\r\nAuthorization: Bearer token\n',
    }),
    shows: /^x-key\nauthorization\n$/,
    failures: [
      ...ofPlace('headers'),
      refused(
        'two ways to set them',
        ['webhook', 'headers', 'webhook', '--site', 'docs', '--bearer', '--basic'],
        /--bearer and --basic exclude each other/,
      ),
      {
        title: 'a line that is no header, which is not shown',
        run: async (world) => ({
          ...(await at(world, ['webhook', 'headers', 'webhook', '--site', 'docs', '--set'])),
          stdin: 'X-Key: value\nhush',
        }),
        code: 2,
        says: /Line 2 is no header, as "X-Key: value"\./,
      },
      {
        title: 'a user without a password',
        run: async (world) => ({
          ...(await at(world, ['webhook', 'headers', 'webhook', '--site', 'docs', '--basic'])),
          stdin: 'user',
        }),
        code: 2,
        says: /no colon/,
      },
      {
        title: 'a header that is not for users',
        run: async (world) => ({
          ...(await at(world, ['webhook', 'headers', 'webhook', '--site', 'docs', '--set'])),
          stdin: 'Host: other.example',
        }),
        code: 1,
        says: /The header Host is set by the service alone/,
      },
    ],
  },
  {
    command: 'webhook test',
    success: (world) => at(world, ['webhook', 'test', 'webhook', '--site', 'answered']),
    shows: /delivered/,
    failures: [
      strange(['webhook', 'test', 'webhook', '--site', 'docs']),
      notInstalled(['webhook', 'test', 'busy@nobody']),
      {
        title: 'a type that is not selected',
        run: (world) =>
          at(world, ['webhook', 'test', 'webhook', '--site', 'docs', '--type', 'page_feedback']),
        code: 1,
        says: /page_feedback/,
      },
    ],
  },
];
