/**
 * Two hundred concurrent edits of one installation: none is lost, and each has one event, in order.
 */
import { expect, test } from 'vitest';
import { type Installed, PATIENT, startTestService, type TestService } from '../../support/service.ts';

const EDITS = 200;
/** The most properties of a configuration: each is edited twice. */
const NAMES = Array.from({ length: EDITS / 2 }, (_, index) => `p${index}`);

/** Keeps the events in its isolate, and returns them on request. */
const RECORDER = `
  import { createIntegration } from '@annex/sdk';
  const received = [];
  export default createIntegration({
    fetch: async () => Response.json(received),
    events: { async installation_setup(event) { received.push(event); } },
  });`;

interface RecordedEvent {
  readonly eventId: string;
  readonly previous?: { readonly configuration: Record<string, number> };
}

interface Answer {
  readonly status: number;
  readonly configuration: Record<string, number>;
  readonly etag: string;
  /** Number of changes so far, by its tag. */
  readonly revision: number;
}

async function recorder(
  properties: readonly string[],
): Promise<{ annex: TestService; installed: Installed }> {
  const annex = await startTestService({ limits: PATIENT });
  const lines = properties.map(
    (name) => `      ${name}: { type: number, title: ${name}, description: A number. }`,
  );
  const manifest = `configurations:\n  account:\n    properties:\n${lines.join('\n')}\n`;
  await annex.publish('recorder', { 'index.js': RECORDER }, manifest);
  return { annex, installed: await annex.install('recorder', undefined, { notified: true }) };
}

async function send(
  { service, admin }: TestService,
  { id }: Installed,
  request: { configuration?: Record<string, number>; ifMatch?: string } = {},
): Promise<Answer> {
  const { configuration, ifMatch } = request;
  const response = await fetch(`${service.controlUrl}/v1/integrations/recorder/installations/${id}`, {
    method: configuration ? 'PATCH' : 'GET',
    headers: {
      authorization: `Bearer ${admin}`,
      ...(configuration && { 'content-type': 'application/json' }),
      ...(ifMatch && { 'if-match': ifMatch }),
    },
    ...(configuration && { body: JSON.stringify({ configuration }) }),
  });
  const body = (await response.json()) as { configuration?: Record<string, number> };
  const etag = response.headers.get('etag') ?? '';
  const revision = Number(/-(\d+)"$/.exec(etag)?.[1]);
  return { status: response.status, configuration: body.configuration ?? {}, etag, revision };
}

/** The events of the integration, once it has this many. */
async function eventsOf({ endpoint }: Installed, count: number): Promise<RecordedEvent[]> {
  const received = async () => (await (await fetch(endpoint)).json()) as RecordedEvent[];
  await expect.poll(async () => (await received()).length).toBeGreaterThanOrEqual(count);
  return received();
}

test('200 edits at once: no lost update, and one event each, in the order of the commits', async () => {
  const { annex, installed } = await recorder(NAMES);
  const answers = await Promise.all(
    [...NAMES, ...NAMES].map(async (name, value) => {
      const patch = { [name]: value };
      return { patch, ...(await send(annex, installed, { configuration: patch })) };
    }),
  );
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  const order = answers.toSorted((a, b) => a.revision - b.revision);
  expect(order.map(({ revision }) => revision)).toEqual(order.map((_, index) => index + 2));

  // The configuration after the installation and after each edit in this order.
  const states: Record<string, number>[] = [{}];
  for (const { patch } of order) states.push({ ...states.at(-1), ...patch });
  expect(order.map(({ configuration }) => configuration)).toEqual(states.slice(1));
  expect((await send(annex, installed)).configuration).toEqual(states.at(-1));

  const received = await eventsOf(installed, EDITS + 1);
  expect(new Set(received.map(({ eventId }) => eventId)).size).toBe(EDITS + 1);
  // Each event has the previous configuration.
  const before = received.map(({ previous }) => previous?.configuration);
  expect(before).toEqual([undefined, ...states.slice(0, -1)]);
});

test('increments with If-Match, repeated after each 412, all count', async () => {
  const { annex, installed } = await recorder(['count']);
  const refused: number[] = [];
  async function countUp(): Promise<number> {
    for (;;) {
      const { configuration, etag } = await send(annex, installed);
      const next = (configuration['count'] ?? 0) + 1;
      const { status, revision } = await send(annex, installed, {
        configuration: { count: next },
        ifMatch: etag,
      });
      if (status === 200) return revision;
      refused.push(status);
    }
  }
  const times = 60;
  const workers = Array.from({ length: 20 }, async () => {
    for (let round = 0; round < times / 20; round += 1) await countUp();
  });
  await Promise.all(workers);
  const { configuration, revision } = await send(annex, installed);
  expect({ configuration, revision }).toEqual({ configuration: { count: times }, revision: times + 1 });
  expect(new Set(refused)).toEqual(new Set([412]));
  const received = await eventsOf(installed, times + 1);
  expect(received.map(({ previous }) => previous?.configuration['count'] ?? 0)).toEqual([
    0,
    ...Array.from({ length: times }, (_, index) => index),
  ]);
});
