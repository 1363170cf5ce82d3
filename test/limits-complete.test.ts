/**
 * Every limit has a test that looks at both its sides: where it is. A limit that is added without one fails here, and so
 * does a test that is renamed without a word to this table.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { limitVariable } from '../src/config.ts';
import { DEFAULT_LIMITS } from '../src/limits.ts';
import { limitSentence } from '../src/model/limit-met.ts';
import { LOWERABLE_LIMITS } from '../src/model/lowered-limits.ts';
import { DOCUMENTATION } from './support/documents.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const names = Object.keys(DEFAULT_LIMITS) as (keyof typeof DEFAULT_LIMITS)[];

/** Tables, whose rows are about one limit each. */
const TABLES = ['calls', 'cells', 'doors', 'fetch', 'publish'].map((name) =>
  read(`test/limits-${name}.test.ts`),
);
/** Titles and rows begin with the name of what they are about. */
const inTables = new Set(
  TABLES.flatMap((text) =>
    [...text.matchAll(/'(\w+)(?: and (\w+))?/g)].flatMap(([, one, two]) => [one, two]),
  ),
);

/** Those that need a set-up of their own: a file, and the title of the test. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, title: string]>> = {
  bufferedBodyBytes: ['door-bodies', 'are bounded together: beyond the budget 503'],
  bufferedUnverifiedBytes: ['door-shares', 'holds few bodies that are not verified'],
  bufferedAnswerBytes: ['door-bodies', 'answers that clients do not read are counted among'],
  bufferedBodyBytesPerInstallation: ['door-slow', 'no installation takes all the memory there is for bodies'],
  bufferedUploadBytes: ['upload-budget', 'bufferedUploadBytes: what it allows is held'],
  requestHeadMs: ['door-slow', "['head', { requestHeadMs: 300 }"],
  requestMs: ['door-slow', '{ requestHeadMs: 300, requestMs: 300 }'],
  requestStallMs: ['door-slow', 'a body that does not come'],
  answerStallMs: ['door-slow', 'a client that does not read'],
  paceBytesPerSecond: ['door-slow', 'is too slow at a trickle'],
  connections: ['door-rates', "describe('connections'"],
  connectionsPerAddress: ['door-rates', "describe('connections'"],
  requestsPerSecondPerAddress: ['door-rates', 'are bounded, whatever they ask for, and before their bodies'],
  requestsPerSecondPerEndpoint: [
    'door-rates',
    'requests to one endpoint are bounded, those to others are not',
  ],
  smallChunksPerSecond: ['small-chunks', 'smallChunksPerSecond: what it allows is read at once'],
  editsPerMinutePerInstallation: [
    'edit-rate',
    'of one installation are bounded, whichever level they are of',
  ],
  failedCredentialsPerMinutePerAddress: [
    'door-rates',
    'are bounded at the control listener, and a good token',
  ],
  envelopeSignatureAgeMs: [
    'envelope-signatures',
    'envelopeSignatureAgeMs: met exactly, and passed by one second',
  ],
  trialCells: ['suspicion', 'as far as there are cells; the likeliest is alone'],
  quarantineCells: ['suspicion', 'that is full has the two calmest move together'],
  spareCellIdleMs: ['quarantine', 'one that was executing at a crash is kept apart, and cleared by itself'],
  requestHeadBytes: [
    'door-smuggling',
    'the head of a request has a size and a number of headers, met exactly',
  ],
  requestHeaders: ['door-smuggling', 'the head of a request has a size and a number of headers, met exactly'],
  bundleMs: ['bundle-limits', 'a build that takes too long is stopped'],
  fetchConnectMs: ['egress-connections', 'whose name is never resolved is given up'],
  fetchConnections: ['egress-connections', 'of all together is told at once'],
  fetchConnectionsPerOrigin: ['egress-connections', 'to one origin makes the fetches of one owner queue'],
  webhookMs: ['posting-limits', 'is the time for all of a post, to the millisecond'],
  webhookConnectMs: ['posting-limits', 'webhookConnectMs is the time for look-up, TCP and TLS together'],
  webhookResponseBytes: ['posting-limits', 'webhookResponseBytes: of an answer of %i bytes'],
  webhookResponseKeptBytes: ['posting-limits', 'ten bytes are kept'],
  webhookConnections: [
    'posting-limits',
    'bounds the connections to all receivers; beyond, nothing is dialled',
  ],
  callDepth: ['fetch-in-process', 'attack: an integration that calls itself'],
  callsInFlight: ['admission', 'runs as many calls as it may'],
  callsWaiting: ['admission', 'have so many calls wait, and the next is refused'],
  breachesBeforeCoolDown: ['cool-down', 'begins with one breach too many'],
  coolDownMs: ['cool-down', 'begins with one breach too many, and lasts its time'],
  coolDownMsMax: ['cool-down', 'doubles with each breach in a row, up to its maximum'],
  configurationBytes: ['installations-edit', 'a configuration may be so large, and no larger'],
  installationsPerOrganization: ['installations', 'are so many in one organization, and no more'],
  placesPerInstallation: ['installations-levels', 'is in so many spaces and so many sites, and no more'],
  lifeEventsPendingPerInstallation: ['installations-events', 'attack: edits in a loop that nobody hears of'],
  completionMs: ['completions', 'is given up, and completionMs is named'],
  versionsPerIntegration: ['integrations', 'are kept up to versionsPerIntegration, and the oldest goes'],
  eventBytes: [
    'events-ingest',
    'eventBytes and eventsPerBatch: what they allow is accepted, and one more is told',
  ],
  eventsPerBatch: [
    'events-ingest',
    'eventBytes and eventsPerBatch: what they allow is accepted, and one more is told',
  ],
  deliveriesInFlight: ['delivery-lanes', 'deliveriesInFlight: of all together'],
  deliveriesInFlightPerOrganization: [
    'delivery-lanes',
    "deliveriesInFlightPerOrganization: of one organization's",
  ],
  deliveriesInFlightPerEndpoint: ['delivery-lanes', 'deliveriesInFlightPerEndpoint: to one endpoint'],
  failuresBeforeProbing: [
    'delivery-lanes',
    'failuresBeforeProbing: so often in a row gets one delivery at a time',
  ],
  webhookPayloadBytes: [
    'delivery-handlers',
    'webhookPayloadBytes: a payload that is %s may be so large, and no larger',
  ],
  deliveryLeaseMs: ['deliveries-store', 'lasts deliveryLeaseMs, and as long again from when it is renewed'],
  deliveryDays: ['deliveries-retention', 'deliveries that succeeded are kept for deliveredDays'],
  deliveredDays: ['deliveries-retention', 'deliveries that succeeded are kept for deliveredDays'],
  auditDays: ['audit', 'are forgotten auditDays after they were made, not a day before'],
  lifeEventDays: ['life-events-store', 'what became of an event is kept for so long, and no longer'],
  deliveriesPerReplay: [
    'deliveries-api',
    'orders deliveriesPerReplay at once, and says where to go on only where there is more',
  ],
  logLinesPerInstallation: [
    'store.conformance',
    'keep the newest lines of each installation, up to the limit',
  ],
};

describe('every limit', () => {
  test('is tested on both sides', () => {
    expect(names.filter((name) => !inTables.has(name) && !(name in ELSEWHERE))).toEqual([]);
  });

  test.each(Object.entries(ELSEWHERE))('%s is tested where this table says', (name, [file, title]) => {
    const text = read(`test/${file}.test.ts`);
    expect({ title: text.includes(title), name: text.includes(name) }).toEqual({ title: true, name: true });
  });

  test('is named in a sentence that can be read', () => {
    for (const name of names) {
      const max = DEFAULT_LIMITS[name];
      expect(limitSentence({ name, max, used: max + 1 })).toMatch(
        /^[A-Z0-9].*; the limit is [\d,]+.* \(\w+\)\.$/,
      );
      expect(limitSentence({ name, max })).not.toContain('#');
    }
    expect(limitSentence({ name: 'callCpuMs', max: 1_000, used: 1_004 })).toBe(
      'The call used 1,004 ms of CPU; the limit is 1,000 ms (callCpuMs).',
    );
  });
});

test('the documentation marks the limits that can be lowered for an integration, and no others', () => {
  const marked = [...DOCUMENTATION.matchAll(/^\| `(ANNEX_LIMIT_\w+)` .* ↓ \|$/gm)].map(([, name]) => name);
  expect(marked.sort()).toEqual(LOWERABLE_LIMITS.map(limitVariable).sort());
});
