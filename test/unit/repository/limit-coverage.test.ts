/**
 * The table of the test of each limit, which covers values at and beyond the limit. A new limit
 * without a test fails here, and so does a renamed test whose title is not updated here.
 *
 * `npx vitest run test/unit/repository/limit-coverage.test.ts -u` writes the page of the limits.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { limitVariable } from '../../../src/host/config.ts';
import { DEFAULT_LIMITS, LIMIT_NAMES, LIMITS } from '../../../src/limits.ts';
import { limitSentence } from '../../../src/model/limit-met.ts';
import { ROOT } from '../../support/repository/sources.ts';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const testPaths = readdirSync(new URL('../..', import.meta.url), { recursive: true, encoding: 'utf8' });
/** @param name name of a test file, without its folder and its extension */
const readTest = (name: string): string => {
  const path = testPaths.find((one) => one.endsWith(`/${name}.test.ts`));
  return path === undefined ? '' : read(`test/${path}`);
};
const names = LIMIT_NAMES;

const LIMITS_PAGE = `# All limits

Each limit is a variable with a whole number above 0. \`ANNEX_LIMIT_CALL_CPU_MS\` is the limit \`callCpuMs\`, and so on. The contract says
[what happens beyond each](contract/limits.md).

Every breach names the limit: an error and a problem of an upload have it as \`limit\`, \`{"name", "max", "used"?}\`; the installation's log
has a sentence, "The call used 1,004 ms of CPU; the limit is 1,000 ms (callCpuMs)."; in an integration's own code it is an exception that
names the limit. \`annex_limits_met_total\` counts those of calls, uploads and requests. CPU is counted over the whole call: every turn after an \`await\`, its timers,
\`waitUntil\`, streams and Web Crypto. A call that has ended leaves nothing running.

The operator can lower the limits marked ↓ for one integration: \`PUT /v1/integrations/{name}/limits\` with, for example,
\`{"callCpuMs": 200, "fetchesPerCall": 5}\`. This replaces the earlier lowered ones; \`DELETE\` restores the deployment's. Requests that arrive
after the answer follow the new limits, in a new isolate. No integration ever has more than the deployment allows, also if that was
lowered later.

| variable | default | |
|---|---|---|
`;

/** Test files with tables; each row is about one limit. */
const TABLES = ['call', 'cell', 'endpoint', 'fetch', 'publish'].map((name) =>
  read(`test/service/limits/${name}-limits.test.ts`),
);
/** Titles and rows begin with the name of their limit. */
const inTables = new Set(
  TABLES.flatMap((text) =>
    [...text.matchAll(/'(\w+)(?: and (\w+))?/g)].flatMap(([, one, two]) => [one, two]),
  ),
);

/** Limits that need a special set-up: the file and the title of their test. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, title: string]>> = {
  bufferedBodyBytes: ['request-bodies', 'are bounded together: beyond the budget 503'],
  bufferedUnverifiedBytes: ['body-budget', 'holds few bodies that are not verified'],
  bufferedAnswerBytes: ['request-bodies', 'answers that clients do not read are counted among'],
  bufferedBodyBytesPerInstallation: [
    'slow-clients',
    'no installation takes all the memory there is for bodies',
  ],
  wasmModuleBytes: ['web-assembly', 'a module of 8 MiB and a byte'],
  staticFiles: ['static-files', "'staticFiles',"],
  staticFileBytes: ['static-files', "'staticFileBytes',"],
  bufferedUploadBytes: ['upload-budget', 'bufferedUploadBytes: uploads up to the limit are held'],
  requestHeadMs: ['slow-clients', "['head', { requestHeadMs: 300 }"],
  requestMs: ['slow-clients', '{ requestHeadMs: 300, requestMs: 300 }'],
  requestStallMs: ['slow-clients', 'a body that does not arrive'],
  answerStallMs: ['slow-clients', 'a client that does not read'],
  paceBytesPerSecond: ['slow-clients', 'is too slow at a trickle'],
  connections: ['rate-limits', "describe('connections'"],
  connectionsPerAddress: ['rate-limits', "describe('connections'"],
  requestsPerSecondPerAddress: ['rate-limits', 'are bounded, whatever they ask for, and before their bodies'],
  requestsPerSecondPerEndpoint: [
    'rate-limits',
    'requests to one endpoint are bounded, those to others are not',
  ],
  smallChunksPerSecond: ['small-chunks', 'smallChunksPerSecond: what it allows is read at once'],
  editsPerMinutePerInstallation: ['edit-rate', 'of one installation are bounded over all its levels'],
  ordersPerMinutePerOrganization: ['route-permissions', "orders: 'ordersPerMinutePerOrganization'"],
  taskBytes: ['tasks', 'taskBytes: of 64 KiB and not of one byte more'],
  tasksPendingPerTarget: ['task-schedule', 'tasksPendingPerTarget: the tasks of one target'],
  tasksPendingPerIntegration: ['task-schedule', 'tasksPendingPerIntegration: the tasks of all targets'],
  tasksPerMinutePerInstallation: ['tasks', 'tasksPerMinutePerInstallation: of the code of each installation'],
  tasksPerMinutePerIntegration: ['tasks', 'tasksPerMinutePerIntegration: of the code of all installations'],
  tasksPerMinutePerOrganization: ['tasks', 'tasksPerMinutePerOrganization: of all integrations'],
  schedulesPerManifest: ['schedules', 'a manifest with more schedules than schedulesPerManifest is refused'],
  taskGenerations: ['task-generations', 'taskGenerations: a task that queues itself ends'],
  failedCredentialsPerMinutePerAddress: [
    'rate-limits',
    'are bounded at the control listener, and a valid token',
  ],
  envelopeSignatureAgeMs: [
    'envelope-signatures',
    'envelopeSignatureAgeMs: met exactly, and passed by one second',
  ],
  trialCells: ['suspicion', 'as far as there are cells; the likeliest is alone'],
  quarantineCells: ['suspicion', 'that is full joins the two calmest places'],
  spareCellIdleMs: ['quarantine', 'an installation that was executing at a crash is kept apart'],
  requestHeadBytes: [
    'request-smuggling',
    'the head of a request is bounded in size and in number of headers',
  ],
  requestHeaders: ['request-smuggling', 'the head of a request is bounded in size and in number of headers'],
  bundleMs: ['bundler-limits', 'a build that takes too much CPU time is stopped'],
  fetchConnectMs: ['fetch-connections', 'whose name is never resolved is given up'],
  fetchConnections: ['fetch-connections', 'of all together is refused at once'],
  fetchConnectionsPerOrigin: ['fetch-connections', 'to one origin makes the fetches of one owner queue'],
  webhookMs: ['webhook-client-limits', 'is the time for all of a post, to the millisecond'],
  webhookConnectMs: [
    'webhook-client-limits',
    'webhookConnectMs is the time for look-up, TCP and TLS together',
  ],
  webhookResponseBytes: ['webhook-client-limits', 'webhookResponseBytes: of an answer of %i bytes'],
  webhookResponseKeptBytes: ['webhook-client-limits', 'ten bytes are kept'],
  webhookConnections: [
    'webhook-client-limits',
    'bounds the connections to all receivers; beyond, nothing is dialled',
  ],
  productRequestsInFlight: ['hostile-product', 'of all together, one more is refused at once'],
  productRequestsInFlightPerInstallation: ['hostile-product', 'one more is refused at once, others are not'],
  productConnectMs: ['hostile-product', 'that accepts connections and says nothing is given up'],
  productFirstByteMs: ['hostile-product', 'that is "%s" is answered for with %i %s'],
  productMs: ['hostile-product', 'ends at its bound, and the log names %s once'],
  productRequestBodyBytes: ['hostile-product', 'what they allow passes, in full'],
  productResponseBodyBytes: ['hostile-product', 'what they allow passes, in full'],
  callDepth: ['in-process-fetch', 'attack: an integration that calls itself'],
  callsInFlight: ['admission', 'runs calls up to its limit'],
  callsWaiting: ['admission', 'can queue calls up to the limit, and the next one is refused'],
  breachesBeforeCoolDown: ['circuit-breaker', 'begins with one breach too many'],
  coolDownMs: ['circuit-breaker', 'begins with one breach too many, and lasts its time'],
  coolDownMsMax: ['circuit-breaker', 'doubles its time with each breach in a row, up to a maximum'],
  configurationBytes: ['installation-edit', 'a configuration has at most configurationBytes'],
  installationsPerOrganization: ['installations', 'has at most installationsPerOrganization installations'],
  placesPerInstallation: ['targets', 'exists in at most placesPerInstallation spaces'],
  lifeEventsPendingPerInstallation: [
    'installation-events',
    'attack: edits in a loop whose events are not handled',
  ],
  completionMs: ['completions', 'is given up, and completionMs is named'],
  versionsPerIntegration: ['integrations', 'are kept up to versionsPerIntegration, and the oldest goes'],
  eventTypes: ['event-types', 'eventTypes bounds the number of types'],
  eventBytes: ['ingest', 'eventBytes and eventsPerBatch: the maximum is accepted, and one more is refused'],
  eventsPerBatch: [
    'ingest',
    'eventBytes and eventsPerBatch: the maximum is accepted, and one more is refused',
  ],
  deliveriesInFlight: ['fair-scheduler', 'deliveriesInFlight: in all'],
  deliveriesInFlightPerOrganization: [
    'fair-scheduler',
    'deliveriesInFlightPerOrganization: of one organization',
  ],
  deliveriesInFlightPerEndpoint: ['fair-scheduler', 'deliveriesInFlightPerEndpoint: to one endpoint'],
  failuresBeforeProbing: ['fair-scheduler', 'failuresBeforeProbing: in a row, gets one delivery at a time'],
  storageKeyBytes: ['stored-values', 'keys may be any text of up to storageKeyBytes that a path can name'],
  storageValueBytes: [
    'stored-values',
    'hostile values are refused by name, and one beyond storageValueBytes',
  ],
  storageOperationsPerCall: ['sdk/storage', 'storageOperationsPerCall: the maximum is done'],
  storageWrittenBytesPerMinute: [
    'storage/storage',
    'attack: a value that is written over and over is refused for an area',
  ],
  storageBytes: ['storage/storage', 'storageKeys and storageBytes: the quota is exact with changes at once'],
  storageKeys: ['storage/storage', 'storageKeys and storageBytes: the quota is exact with changes at once'],
  webhookPayloadBytes: [
    'handler-delivery',
    'webhookPayloadBytes: a payload that is %s has a maximum size, met exactly',
  ],
  deliveryLeaseMs: ['deliveries', 'lasts deliveryLeaseMs, and as long again after each renewal'],
  deliveryDays: ['delivery-retention', 'successful deliveries are kept for deliveredDays'],
  deliveredDays: ['delivery-retention', 'successful deliveries are kept for deliveredDays'],
  auditDays: ['audit', 'are deleted auditDays after they were made, not a day before'],
  lifeEventDays: ['lifecycle-event-store', 'finished events are kept for lifeEventDays'],
  deliveriesPerReplay: [
    'deliveries-api',
    'orders deliveriesPerReplay at once, and has a cursor only if there is more',
  ],
  logFollowers: ['log-following', 'followers are bounded: in all'],
  logFollowersPerInstallation: ['log-following', 'followers are bounded: in all'],
  logFollowersPerToken: ['log-following', 'followers are bounded: in all'],
  logFollowerBufferBytes: ['log-following', 'a client that does not read is dropped'],
  logLinesPerInstallation: [
    'database-conformance',
    'keep the newest lines of each installation, up to the limit',
  ],
};

describe('every limit', () => {
  test('is tested on both sides', () => {
    expect(names.filter((name) => !inTables.has(name) && !(name in ELSEWHERE))).toEqual([]);
  });

  test.each(Object.entries(ELSEWHERE))('%s is tested where this table says', (name, [file, title]) => {
    const text = readTest(file);
    expect({ title: text.includes(title), name: text.includes(name) }).toEqual({ title: true, name: true });
  });

  test('is named in a readable sentence', () => {
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

test('the operator has a page of all limits, which is that of the table', async () => {
  const rows = LIMIT_NAMES.map((name) => {
    const { default: value, about, isLowerable } = LIMITS[name];
    return `| \`${limitVariable(name)}\` | ${value.toLocaleString('en-US')} | ${about}${isLowerable ? ' ↓' : ''} |`;
  });
  await expect(`${LIMITS_PAGE}${rows.join('\n')}\n`).toMatchFileSnapshot(`${ROOT}docs/limits.md`);
});
