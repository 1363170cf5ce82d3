/** `annex call`, `render`, `trigger`, `logs`, `tail`, `deliveries` and `listen`. */
import { HttpReceiver } from '../../receivers/http-receiver.ts';
import type { CommandCase } from '../command-case.ts';
import {
  at,
  called,
  delivery,
  noDelivery,
  noName,
  notInstalled,
  nowhere,
  refused,
  strange,
} from '../traffic-world.ts';

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
    command: 'ask',
    success: (world) => at(world, ['ask', 'busy', 'echo', '--input', '{"a":[1]}']),
    shows: /"echoed": \{\n {4}"a": \[\n {6}1/,
    failures: [
      strange(['ask', 'busy', 'echo']),
      nowhere(['ask', 'busy', 'echo']),
      notInstalled(['ask', 'busy@nobody', 'echo']),
      refused(
        'an input that is no JSON',
        ['ask', 'busy', 'echo', '--input', '5'],
        /--input is not a JSON object/,
      ),
      {
        title: 'a call that the manifest does not have',
        run: (world) => at(world, ['ask', 'busy', 'ehco']),
        code: 1,
        says: /has no call "ehco"; its manifest has "echo"/,
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
    command: 'storage list',
    success: (world) => called(world, ['storage', 'list', 'busy', '--prefix', 'la']),
    shows: /^KEY .*^"last\\u001b\[31m" +json +\d+ /ms,
    failures: [
      strange(['storage', 'list', 'busy']),
      noName(['storage', 'list', '?']),
      refused('neither of two names', ['storage', 'list'], /Name an installation, or an integration/),
      refused(
        'both of two names',
        ['storage', 'list', 'busy', '--integration', 'busy'],
        /Name an installation, or an integration/,
      ),
    ],
  },
  {
    command: 'storage delete',
    success: (world) => called(world, ['storage', 'delete', 'calls', '--integration', 'busy']),
    shows: /"calls" of busy is deleted\./,
    failures: [
      nowhere(['storage', 'delete', 'x', 'busy']),
      notInstalled(['storage', 'delete', 'x', 'busy@nobody']),
      {
        title: 'a key that is not stored',
        run: (world) => at(world, ['storage', 'delete', 'nothing', 'busy']),
        code: 1,
        says: /There is no value of this key/,
      },
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
      refused(
        'a receiver whose host does not exist',
        ['listen', 'webhook', '--forward-to', 'loclhost.invalid:3000'],
        /No address is found for the host "loclhost\.invalid" \(\w+\)\.\nCheck --forward-to/,
      ),
    ],
  },
];
