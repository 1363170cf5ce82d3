/** `annex webhook`: its secret, and a test of its receiver. */
import type { CommandCase } from '../command-case.ts';
import { at, noName, notInstalled, nowhere, refused, strange } from '../traffic-world.ts';

export const WEBHOOK_CASES: readonly CommandCase[] = [
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
    success: (world) => at(world, ['webhook', 'rotate', 'webhook', '--site', 'docs', '--overlap', '1h']),
    shows: /^[\w-]{43}\n$/,
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
