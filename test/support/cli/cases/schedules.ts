/** `annex schedules`: the list, and a run now. */
import type { CommandCase } from '../command-case.ts';
import { at, noName, notInstalled, nowhere, strange } from '../traffic-world.ts';

export const SCHEDULE_CASES: readonly CommandCase[] = [
  {
    command: 'schedules list',
    success: (world) => at(world, ['schedules', 'list', 'busy']),
    shows:
      /^yearly +0 0 1 1 \* +Europe\/Berlin +\d{4}-01-01T|^yearly +0 0 1 1 \* +Europe\/Berlin +\d{4}-12-31T/m,
    failures: [
      strange(['schedules', 'list', 'busy']),
      nowhere(['schedules', 'list', 'busy', '--own']),
      notInstalled(['schedules', 'list', 'busy@nobody']),
    ],
  },
  {
    command: 'schedules run',
    success: (world) => at(world, ['schedules', 'run', 'busy', 'yearly']),
    shows: /task +busy@acme +delivered/,
    failures: [
      nowhere(['schedules', 'run', 'busy', 'yearly']),
      noName(['schedules', 'run', '?', 'yearly']),
      {
        title: 'a schedule that does not exist',
        run: (world) => at(world, ['schedules', 'run', 'busy', 'daily', '--own']),
        code: 1,
        says: /has no schedule "daily" of the level "integration"/,
      },
    ],
  },
];
