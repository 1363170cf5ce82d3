/**
 * The limits of one call inside its isolate: CPU, time, memory, its answer, its timers and its log.
 */
import { describe } from 'vitest';
import { describeLimits, type LimitRow } from '../../support/limit-table.ts';

/** Tested apart, so that on a busy machine neither is met before the other. */
const CPU = { callCpuMs: 300 };
const WALL = { callWallMs: 1_500, firstByteMs: 900 };
const LIMITS = {
  isolateHeapMib: 32,
  responseBodyBytes: 10_000,
  timersPerCall: 4,
  logLinesPerCall: 6,
  logBytesPerCall: 300,
};

const SOURCE = `
  import { createIntegration } from '@annex/sdk';
  const spin = (ms) => { for (const end = Date.now() + ms; Date.now() < end;); };
  const outcome = (run) => { try { run(); return 'fine'; } catch (error) { return String(error); } };
  const routes = {
    spin: (n) => spin(n),
    async spinInTurns(n) { for (let i = 0; i < n; i++) { spin(8); await new Promise((next) => setTimeout(next, 1)); } },
    async settleAfter(n) { await new Promise((done) => setTimeout(done, n)); },
    outlive(n, { waitUntil }) { waitUntil(new Promise((done) => setTimeout(done, n))); },
    heap(n) { const held = []; for (let mib = 0; mib < n; mib++) held.push(new Array(131_072).fill(mib + 0.5)); },
    answer: (n) => 'x'.repeat(n),
    timers: (n) => outcome(() => { for (let i = 0; i < n; i++) setTimeout(() => {}, 1); }),
    lines(n) { for (let i = 0; i < n; i++) console.log('l'); },
    bytes(n) { console.log('y'.repeat(n)); },
  };
  export default createIntegration({
    async fetch(request, context) {
      const [what, n] = new URL(request.url).pathname.split('/').slice(-2);
      return new Response((await routes[what](Number(n), context)) ?? 'fine');
    },
  });`;

/** Requests `n` of something. */
const ask =
  (what: string, n: number): LimitRow['within'] =>
  ({ endpoint }) =>
    fetch(`${endpoint}/${what}/${n}`);

const cpu: LimitRow[] = [
  {
    limit: 'callCpuMs',
    within: ask('spin', 50),
    beyond: ask('spin', 60_000),
    answer: [503, 'ISOLATE_LIMIT_EXCEEDED'],
    used: 'more',
    log: /^The call ended with exceededCpu\. The call used [\d,]+ ms of CPU; the limit is 300 ms \(callCpuMs\)\.$/,
  },
  {
    // Entries that each end between two checks of the watchdog add up, too.
    limit: 'callCpuMs',
    within: ask('spinInTurns', 5),
    beyond: ask('spinInTurns', 500),
    answer: [503, 'ISOLATE_LIMIT_EXCEEDED'],
    used: 'more',
  },
];

const wall: LimitRow[] = [
  {
    limit: 'firstByteMs',
    within: ask('settleAfter', 50),
    beyond: ask('settleAfter', 60_000),
    answer: [504, 'CALL_TIMED_OUT'],
    used: 'more',
    log: /exceededWallTime\. The call had given no answer after [\d,]+ ms; the limit is 900 ms \(firstByteMs\)\.$/,
  },
  {
    limit: 'callWallMs',
    within: ask('outlive', 200),
    beyond: ask('outlive', 60_000),
    answer: /^fine$/,
    log: /exceededWallTime\. The call had not finished after [\d,]+ ms; the limit is 1,500 ms \(callWallMs\)\.$/,
  },
];

const others: LimitRow[] = [
  {
    limit: 'isolateHeapMib',
    within: ask('heap', 8),
    beyond: ask('heap', 1_000),
    answer: [503, 'ISOLATE_LIMIT_EXCEEDED'],
    log: /exceededMemory\. The isolate ran out of memory; the limit is 32 MiB \(isolateHeapMib\)\.$/,
  },
  {
    limit: 'responseBodyBytes',
    within: ask('answer', LIMITS.responseBodyBytes),
    beyond: ask('answer', LIMITS.responseBodyBytes + 1),
    answer: [502, 'INTEGRATION_RESPONSE_TOO_LARGE'],
    used: LIMITS.responseBodyBytes + 1,
    log: /answer has 10,001 bytes; the limit is 10,000 bytes \(responseBodyBytes\)\.$/,
  },
  {
    limit: 'timersPerCall',
    within: ask('timers', LIMITS.timersPerCall),
    beyond: ask('timers', LIMITS.timersPerCall + 1),
    answer: /^RangeError: .*the limit is 4 \(timersPerCall\)/,
  },
  {
    limit: 'logLinesPerCall',
    within: ask('lines', LIMITS.logLinesPerCall),
    beyond: ask('lines', LIMITS.logLinesPerCall + 1),
    answer: /^fine$/,
    log: /^1 more log line was dropped; the limit is 6 lines \(logLinesPerCall\)\.$/,
  },
  {
    limit: 'logBytesPerCall',
    within: ask('bytes', LIMITS.logBytesPerCall),
    beyond: ask('bytes', LIMITS.logBytesPerCall + 1),
    answer: /^fine$/,
    log: /^The line before was cut; the limit is 300 bytes \(logBytesPerCall\)\.$/,
  },
];

describe('CPU', () => describeLimits({ source: SOURCE, limits: CPU, rows: cpu }));
describe('wall time', () => describeLimits({ source: SOURCE, limits: WALL, rows: wall }));
describe('what a call may hold', () => describeLimits({ source: SOURCE, limits: LIMITS, rows: others }));
