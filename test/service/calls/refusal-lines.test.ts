/**
 * Requests that are refused without a call leave a bounded number of lines in the log of an
 * installation, and then a count. So the lines of its own code stay among the newest ones, which
 * are all that is kept.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { RefusalLines } from '../../../src/host/calls/call-log.ts';
import type { LogLine } from '../../../src/host/store/logs.ts';
import { VirtualTime } from '../../support/deliveries/delivery-worker.ts';
import { type Installed, startTestService, type TestService } from '../../support/service.ts';

const KEPT = 100;
const REAL = 60;
/** A fiftieth of the log. */
const OF_STRANGERS = 2;

describe('a log with room for 100 lines', () => {
  let annex: TestService;
  let worker: Installed;
  beforeEach(async () => {
    annex = await startTestService({
      limits: {
        logLinesPerInstallation: KEPT,
        requestBodyBytes: 1_000,
        requestsPerSecondPerAddress: 10_000,
        requestsPerSecondPerEndpoint: 10_000,
        callsInFlightPerInstallation: 1,
        callsWaitingPerInstallation: 1,
      },
    });
    worker = await annex.deploy(
      'logging',
      `export default { async fetch(envelope) {
         const { request: { url } } = JSON.parse((await envelope.formData()).get('event'));
         if (url.endsWith('/log')) for (let i = 0; i < ${REAL}; i++) console.log('real', i);
         else await new Promise((later) => setTimeout(later, 200));
         return new Response('fine');
       } };`,
    );
    expect((await fetch(`${worker.endpoint}/log`)).status).toBe(200);
  });

  /** How many lines of the installation's own code there are, and how many others. */
  async function lines(): Promise<[real: number, others: number]> {
    const all = await annex.log(worker);
    const real = all.filter(({ text }) => text.startsWith('real ')).length;
    return [real, all.length - real];
  }

  test('keeps its own lines while a stranger sends bodies that are too large', async () => {
    for (let i = 0; i < 2 * KEPT; i += 1) {
      const { status } = await fetch(worker.endpoint, { method: 'POST', body: 'x'.repeat(1_001) });
      expect(status).toBe(413);
    }
    expect(await lines()).toEqual([REAL, OF_STRANGERS]);
  });

  test('keeps its own lines while strangers make more calls than it can queue', async () => {
    const statuses: number[] = [];
    while (statuses.filter((status) => status === 503).length < KEPT) {
      const answers = await Promise.all(Array.from({ length: 30 }, () => fetch(`${worker.endpoint}/wait`)));
      statuses.push(...answers.map(({ status }) => status));
    }
    expect(await lines()).toEqual([REAL, OF_STRANGERS]);
  });
});

describe('lines about refused requests', () => {
  const MINUTE_MS = 60_000;
  const DAY_MINUTES = 24 * 60;
  let time: VirtualTime;
  let written: LogLine[];
  let lines: RefusalLines;
  beforeEach(() => {
    time = new VirtualTime();
    written = [];
    const { wallNow, monotonicNow, after } = time;
    lines = new RefusalLines({
      linesKept: 1_000,
      wallNow,
      monotonicNow,
      after,
      write: (line) => void written.push(line),
    });
  });

  const refuse = (reason = 'requestBodyBytes', tenant = 'one'): boolean =>
    lines.mayWrite({ tenant, version: 7 }, reason);
  const refused = (times: number) => Array.from({ length: times }, () => refuse()).filter(Boolean).length;

  test('are 20 at once in a log of 1,000; further ones are counted by reason, and reported ten minutes later', () => {
    expect(refused(20)).toBe(20);
    const since = new Date(time.now).toISOString();
    expect(refused(800)).toBe(0);
    for (let i = 0; i < 12; i += 1) expect(refuse('callsWaiting')).toBe(false);
    time.pass(10 * MINUTE_MS - 1);
    expect(written).toEqual([]);
    time.pass(1);
    expect(written).toEqual([
      {
        tenant: 'one',
        version: 7,
        requestId: '',
        level: 'warn',
        at: time.now,
        text: expect.stringMatching(
          `^812 more requests were refused or timed out since ${since} \\(requestBodyBytes: 800, callsWaiting: 12\\)\\.`,
        ),
      },
    ]);
  });

  test('are counted for each installation on its own', () => {
    refused(50);
    expect(refuse('requestBodyBytes', 'another')).toBe(true);
  });

  test('are at most 20 and six in an hour, however many requests there are', () => {
    let single = 0;
    for (let minute = 0; minute < DAY_MINUTES; minute += 1) {
      single += refused(100);
      time.pass(MINUTE_MS);
    }
    expect(single + written.length).toBeLessThanOrEqual(20 + 24 * 6);
    const counted = written.map(({ text }) => Number.parseInt(text, 10));
    lines.close();
    const last = written.length > counted.length ? Number.parseInt(written.at(-1)?.text ?? '0', 10) : 0;
    expect(single + counted.reduce((sum, one) => sum + one, last)).toBe(100 * DAY_MINUTES);
  });

  test('are single ones again after a while without any', () => {
    refused(50);
    time.pass(10 * MINUTE_MS);
    expect(written).toHaveLength(1);
    time.pass(20 * 10 * MINUTE_MS);
    expect(refused(30)).toBe(20);
  });

  test('are written when the service stops, and then no timer is left', () => {
    refused(21);
    lines.close();
    expect(written.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^1 more request was refused or timed out since /),
    ]);
    expect(time.nextAt).toBeUndefined();
  });
});
