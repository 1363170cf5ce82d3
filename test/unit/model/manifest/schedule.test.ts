/** `schedules` of a manifest: what is read, what is refused, and when a cron comes. */
import { describe, expect, test } from 'vitest';
import { parseManifest } from '../../../../src/model/manifest/manifest.ts';
import { nextRun, type Schedule, spreadMs } from '../../../../src/model/manifest/schedule.ts';
import { manifestYaml, parsed } from '../../../support/store/temporary-store.ts';

const ENDPOINT = 'an-endpoint';
const BASE = { id: 'one', task: {}, level: 'installation', catchUp: 'one' } as const;

const schedulesOf = (yaml: string): readonly Schedule[] =>
  parsed(manifestYaml({}, `schedules:\n${yaml}`)).manifest.schedules ?? [];

function problemsOf(yaml: string): string[] {
  const read = parseManifest(manifestYaml({}, `schedules:\n${yaml}`));
  return read.ok ? [] : read.problems.map(({ message, line }) => `${line}: ${message}`);
}

/** The minutes of the next runs, without the spread. */
function minutes(cron: string, timezone: string, from: string, count: number): string[] {
  const schedule = { ...BASE, cron, timezone };
  const found: string[] = [];
  for (let after = Date.parse(from); found.length < count; ) {
    const run = nextRun(schedule, ENDPOINT, after);
    if (run === undefined) break;
    found.push(new Date(run.at).toISOString().slice(0, 16));
    after = run.dueAt;
  }
  return found;
}

test('a schedule has a time zone, a task, a level and an id unless they are written', () => {
  expect(schedulesOf("  - cron: '0 9 * * 1-5'")).toEqual([
    { id: '1', cron: '0 9 * * 1-5', timezone: 'UTC', task: {}, level: 'installation', catchUp: 'one' },
  ]);
  const written =
    "  - {id: report, cron: '*/5 * * * mon', timezone: Europe/Berlin, task: {a: [1]}, level: integration, catchUp: none}";
  expect(schedulesOf(written)).toEqual([
    {
      ...{ id: 'report', cron: '*/5 * * * mon', timezone: 'Europe/Berlin', task: { a: [1] } },
      ...{ level: 'integration', catchUp: 'none' },
    },
  ]);
});

test('a manifest without schedules has no such member', () => {
  expect(parsed(manifestYaml()).manifest).not.toHaveProperty('schedules');
});

test.each([
  ['@daily', 'must be a cron of five fields'],
  ['0 0 * * * *', 'must be a cron of five fields'],
  ['2026-01-01T00:00:00', 'must be a cron of five fields'],
  ['0 0 L * *', 'names of months or weekdays'],
  ['0 0 ? * *', 'must be a cron of five fields'],
  ['0 0 * * 5#2', 'must be a cron of five fields'],
  ['60 0 * * *', 'must be a cron of five fields'],
  ['*/0 * * * *', 'must be a cron of five fields'],
  ['5-1 * * * *', 'must be a cron of five fields'],
  ['0 0 30 2 *', 'must be a cron whose time comes'],
  ['0 0 31 4,6,9,11 *', 'must be a cron whose time comes'],
  [`0 0 ${'1,'.repeat(60)}1 * *`, 'at most 100 are allowed'],
])('the cron %s is refused', (cron, fault) => {
  expect(problemsOf(`  - cron: '${cron}'`).join()).toContain(fault);
});

test.each(['Europe/Berlim', '+02:00', '../etc', 'GMT+2 or so', '[u-ca=islamic]'])(
  'the time zone %s is refused',
  (timezone) => {
    expect(problemsOf(`  - {cron: '0 0 * * *', timezone: '${timezone}'}`).join()).toContain(
      'must be the IANA name of a time zone',
    );
  },
);

test('two schedules of one id, and a task that is too large, are refused with their lines', () => {
  const yaml = "  - {id: a, cron: '0 0 * * *'}\n  - {id: a, cron: '0 1 * * *'}";
  expect(problemsOf(yaml)).toEqual(['9: The id "a" is that of another schedule.']);
  // A number in the list is an id, too.
  expect(problemsOf("  - {id: '2', cron: '0 0 * * *'}\n  - cron: '0 1 * * *'")).toHaveLength(1);
  const task = `  - {cron: '0 0 * * *', task: ${'x'.repeat(4_096)}}`;
  expect(problemsOf(task).join()).toContain('has 4098 bytes; at most 4096 are allowed');
});

// Attack: a manifest of a megabyte of crons that never come, each of which is searched for.
test('a thousand crons that never come are refused within seconds', () => {
  const began = performance.now();
  const yaml = Array.from({ length: 1_000 }, () => "  - cron: '0 0 30 2 *'").join('\n');
  const problems = problemsOf(yaml);
  expect(problems.length).toBeGreaterThanOrEqual(101);
  expect(performance.now() - began).toBeLessThan(10_000);
});

describe('when the clocks change', () => {
  test('a time that does not exist runs at the end of the gap', () => {
    expect(minutes('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
  });

  test('a time that comes twice runs at the first', () => {
    expect(minutes('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
  });

  test('what recurs within the hour goes on without a gap and without a repetition', () => {
    expect(minutes('*/30 * * * *', 'Europe/Berlin', '2026-10-25T00:10:00Z', 4)).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:00',
      '2026-10-25T01:30',
      '2026-10-25T02:00',
    ]);
    expect(minutes('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:10:00Z', 4)).toEqual([
      '2026-03-29T00:30',
      '2026-03-29T01:00',
      '2026-03-29T01:30',
      '2026-03-29T02:00',
    ]);
  });

  test('a time of day keeps its place in the day', () => {
    expect(minutes('0 9 * * 1-5', 'America/New_York', '2026-10-30T20:00:00Z', 2)).toEqual([
      '2026-11-02T14:00',
      '2026-11-03T14:00',
    ]);
  });
});

test('a day of the month and a weekday are either of the two, as in cron', () => {
  expect(minutes('0 0 13 * 5', 'UTC', '2026-01-01T12:00:00Z', 3)).toEqual([
    '2026-01-02T00:00',
    '2026-01-09T00:00',
    '2026-01-13T00:00',
  ]);
  expect(minutes('0 0 29 2 *', 'UTC', '2096-03-01T00:00:00Z', 1)).toEqual(['2104-02-29T00:00']);
});

test('runs of one endpoint keep their second, and runs of all endpoints spread over the minute', () => {
  const schedule = { ...BASE, cron: '* * * * *', timezone: 'UTC' };
  const first = nextRun(schedule, ENDPOINT, Date.UTC(2026, 0, 1));
  const second = nextRun(schedule, ENDPOINT, first?.dueAt ?? 0);
  expect((second?.dueAt ?? 0) - (first?.dueAt ?? 0)).toBe(60_000);
  const seconds = new Array<number>(60).fill(0);
  for (let endpoint = 0; endpoint < 10_000; endpoint += 1) {
    const at = Math.floor(spreadMs(`${endpoint}`, 'one') / 1_000);
    seconds[at] = (seconds[at] ?? 0) + 1;
  }
  // 167 on average: six standard deviations to both sides.
  expect(Math.min(...seconds)).toBeGreaterThan(90);
  expect(Math.max(...seconds)).toBeLessThan(245);
});
