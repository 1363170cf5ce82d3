/**
 * The limits of a request before it becomes a call: its body, the parts of an envelope, calls in
 * flight and waiting.
 */
import { expect, test } from 'vitest';
import { describeLimits, type LimitRow, lower } from '../../support/limit-table.ts';
import { startTestService } from '../../support/service.ts';

const LIMITS = { requestBodyBytes: 2_000, envelopePartBytes: 1_000 };

const SOURCE = `export default { async fetch(request) { await request.formData(); return new Response('fine'); } };`;

const raw =
  (bytes: number): LimitRow['within'] =>
  ({ endpoint }) =>
    fetch(endpoint, { method: 'POST', body: 'x'.repeat(bytes) });
/** Without a content-length. */
const streamed =
  (bytes: number): LimitRow['within'] =>
  ({ endpoint }) =>
    fetch(endpoint, {
      method: 'POST',
      body: new Blob(['x'.repeat(bytes)]).stream(),
      duplex: 'half',
    } as RequestInit);
const envelopeBody =
  (bytes: number): LimitRow['within'] =>
  (installed, annex) =>
    annex.envelope(
      installed,
      { type: 'fetch', request: { method: 'POST', url: 'https://a.example/', headers: {} } },
      { body: 'x'.repeat(bytes) },
    );
const part =
  (name: 'event' | 'environment', bytes: number): LimitRow['within'] =>
  (installed, annex) => {
    const request = { method: 'GET', url: 'https://a.example/', headers: {} };
    const padded = (value: object) => {
      const bare = JSON.stringify({ ...value, pad: '' }).length;
      return JSON.stringify({ ...value, pad: 'x'.repeat(bytes - bare) });
    };
    const event = { type: 'fetch', request };
    return name === 'event'
      ? annex.envelope(installed, padded(event))
      : annex.envelope(installed, event, { environment: padded({}) });
  };

const body = (of: typeof raw): LimitRow => ({
  limit: 'requestBodyBytes',
  within: of(LIMITS.requestBodyBytes),
  beyond: of(LIMITS.requestBodyBytes + 1),
  answer: [413, 'REQUEST_TOO_LARGE'],
  used: LIMITS.requestBodyBytes + 1,
  log: /^A request was refused\. .*the limit is 2,000 bytes \(requestBodyBytes\)\.$/,
});
const envelopePart = (name: 'event' | 'environment'): LimitRow => ({
  limit: 'envelopePartBytes',
  within: part(name, LIMITS.envelopePartBytes),
  beyond: part(name, LIMITS.envelopePartBytes + 1),
  answer: [413, 'REQUEST_TOO_LARGE'],
  used: LIMITS.envelopePartBytes + 1,
  log: /^A request was refused\. The part has 1,001 bytes; the limit is 1,000 bytes \(envelopePartBytes\)\.$/,
});

const { used: _, ...ofUnknownLength } = body(streamed);
describeLimits({
  source: SOURCE,
  limits: LIMITS,
  rows: [body(raw), ofUnknownLength, body(envelopeBody), envelopePart('event'), envelopePart('environment')],
});

test.each(['deployment', 'integration'])(
  'callsInFlightPerInstallation and callsWaitingPerInstallation of the %s: one more call than fit is 503',
  async (whose) => {
    const limits = { callsInFlightPerInstallation: 2, callsWaitingPerInstallation: 1 };
    const annex = await startTestService({ limits: whose === 'deployment' ? limits : {} });
    const held = await annex.deploy(
      'held',
      `const waiting = []; export default { async fetch() {
         await new Promise((go) => { waiting.push(go); if (waiting.length === 2) setTimeout(() => { for (const next of waiting.splice(0)) next(); }, 300); else setTimeout(go, 1_000); });
         return new Response('fine'); } };`,
    );
    if (whose === 'integration') await lower(annex, 'held', limits);
    const met = (name: string) => annex.metric(`annex_limits_met_total{limit="${name}"}`);

    const fits = await Promise.all([1, 2, 3].map(() => fetch(held.endpoint)));
    expect(fits.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await met('callsInFlightPerInstallation')).toBe(1);
    expect(await met('callsWaitingPerInstallation')).toBe(0);

    const over = await Promise.all([1, 2, 3, 4].map(() => fetch(held.endpoint)));
    expect(over.map(({ status }) => status).sort()).toEqual([200, 200, 200, 503]);
    const shed = over.find(({ status }) => status === 503);
    expect(shed?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await shed?.json()).toMatchObject({
      error: { code: 'CALL_SHED', limit: { name: 'callsWaitingPerInstallation', max: 1 } },
    });
    expect(await met('callsWaitingPerInstallation')).toBe(1);
    const texts = (await annex.log(held)).map(({ text }) => text);
    expect(texts).toContainEqual(expect.stringContaining('the limit is 1 (callsWaitingPerInstallation)'));
  },
);
