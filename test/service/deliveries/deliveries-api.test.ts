/**
 * The API of deliveries: their state and attempts, redelivery, cancellation and replay
 * (docs/contract/webhooks.md#redelivery-and-replay). Receivers are real and fail on purpose.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, ask, codeOf, type Question } from '../../support/installation-api.ts';
import { RecordingReceiver } from '../../support/receivers/recording-receiver.ts';
import { type Installed, TestService } from '../../support/service.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

interface DeliveryView {
  readonly id: string;
  readonly eventId: string;
  readonly state: string;
  readonly createdAt: string;
  readonly [member: string]: unknown;
}

/** Most deliveries of one replay. */
const REPLAYED_MAX = 3;
/** Time for real failures and real deliveries. */
const WAIT = { timeout: 90_000 };

let receiver: RecordingReceiver;
let annex: TestService;
/** Organizations with a webhook in the site `docs` and the space `garden`, both to the receiver. */
const installed = new Map<string, Installed>();
const tokens = new Map<string, string>();

beforeAll(async () => {
  receiver = await RecordingReceiver.start();
  annex = await TestService.start({
    flags: RecordingReceiver.FLAGS,
    limits: { deliveriesPerReplay: REPLAYED_MAX },
  });
  await annex.publishFixture('webhook');
  for (const organization of ['beach', 'hill']) {
    installed.set(organization, await settled(organization));
    const token = await annex.service.store.tokens.create({ kind: 'organization', organization }, OPERATOR);
    tokens.set(organization, token.token);
  }
});
afterAll(async () => {
  await annex.stop();
  await receiver.stop();
});
beforeEach(() => {
  receiver.answer = { status: 200 };
});

async function settled(organization: string): Promise<Installed> {
  const here = await annex.install('webhook', organization);
  for (const [level, place, events] of [
    ['site', 'docs', ['site_view', 'page_feedback']],
    ['space', 'garden', ['space_content_updated']],
  ] as const) {
    await annex.installBelow('webhook', here, level, place);
    const configuration = { webhook_url: `${receiver.url}/in?key=hush`, event_types: events };
    const path = `/integrations/webhook/installations/${here.id}/${level}s/${place}`;
    const { body } = await ask(annex, 'PATCH', path, { json: { configuration } });
    expect(body['status']).toBe('active');
  }
  return here;
}

const VISITED = {
  visitor: { anonymousId: 'a', userAgent: 'b', ip: '192.0.2.1', cookies: {} },
  url: 'https://example.com/',
  referrer: '',
};
const EVENTS = {
  site_view: { siteId: 'docs', ...VISITED },
  page_feedback: { siteId: 'docs', feedback: { rating: 'good' }, ...VISITED },
  space_content_updated: { spaceId: 'garden', revisionId: 'r1' },
};

/** Posts an event. @returns its delivery, once it is in this state */
async function delivered(
  state: string,
  type: keyof typeof EVENTS = 'site_view',
  organization = 'beach',
): Promise<DeliveryView> {
  const json = { type, organization, ...EVENTS[type] };
  const { status, body } = await ask(annex, 'POST', '/events', { json });
  expect([status, body['deliveries']]).toEqual([202, 1]);
  return becomes(state, async () => {
    const [found] = await list(`event=${body['eventId']}`);
    return found;
  });
}

async function becomes(state: string, look: () => Promise<DeliveryView | undefined>): Promise<DeliveryView> {
  await expect.poll(async () => (await look())?.state, WAIT).toBe(state);
  const found = await look();
  if (found === undefined) throw new Error('The delivery has disappeared.');
  return found;
}

const answerOf = (query: string, token = annex.platform) =>
  ask(annex, 'GET', `/deliveries?${query}`, { token });
const itemsOf = ({ body }: Answer) => body['items'] as DeliveryView[];
const list = async (query: string, token?: string) => itemsOf(await answerOf(query, token));
const idsOf = (all: readonly DeliveryView[]) => all.map(({ id }) => id);
const read = async (id: string, question: Question = {}) => ask(annex, 'GET', `/deliveries/${id}`, question);
const order = (id: string, what: 'redeliver' | 'cancel', question: Question = {}) =>
  ask(annex, 'POST', `/deliveries/${id}/${what}`, question);
const now = async (id: string) => (await read(id)).body as DeliveryView;
const here = (organization = 'beach') => installed.get(organization)?.id ?? '';

describe('a delivery', () => {
  test('is shown with every attempt, the payload and the answer of the receiver', async () => {
    receiver.answer = { status: 404, body: '<script>alert("hush")</script>' };
    const shown = await delivered('failed', 'page_feedback');
    expect(shown).toEqual({
      id: expect.any(String),
      eventId: expect.stringMatching(/^evt_/),
      ...{ type: 'page_feedback', kind: 'webhook', integration: 'webhook', organization: 'beach' },
      ...{ installation: here(), site: 'docs', state: 'failed', attempts: 1, retries: 0 },
      outcome: expect.any(String),
      createdAt: expect.stringMatching(/Z$/),
      finishedAt: expect.stringMatching(/Z$/),
    });
    const { body, headers, text } = await read(shown.id);
    const [request] = receiver.about(shown.eventId);
    expect(body).toEqual({
      ...shown,
      history: [
        {
          ...{ number: 1, result: 'failed', outcome: shown['outcome'], status: 404 },
          ...{ at: expect.stringMatching(/Z$/), durationMs: expect.any(Number) },
          destination: `${receiver.url}/in`,
          response: '<script>alert("hush")</script>',
        },
      ],
      destination: `${receiver.url}/in`,
      payload: request?.body,
    });
    // Attack: a receiver that answers with an HTML page. It is text in JSON, never content of its
    // own.
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(text).not.toContain('key=hush');
  });

  test('that is redelivered has the same event and the same bytes, with a new budget', async () => {
    receiver.answer = { status: 400 };
    const { id, eventId } = await delivered('failed');
    receiver.answer = { status: 200 };
    const answer = await order(id, 'redeliver');
    expect([answer.status, answer.body]).toMatchObject([200, { id, eventId, retries: 0 }]);
    expect((await becomes('delivered', () => now(id)))['attempts']).toBe(2);
    const [first, second, ...others] = receiver.about(eventId);
    expect(others).toEqual([]);
    expect(second?.body).toBe(first?.body);
    for (const header of ['x-platform-event', 'x-platform-delivery', 'x-platform-attempt'])
      expect(second?.headers[header]).toBe(first?.headers[header]);
    expect((await now(id))['history']).toMatchObject([
      { number: 1, status: 400 },
      { number: 2, status: 200, result: 'succeeded' },
    ]);
    // A successful delivery may be redelivered, too.
    await order(id, 'redeliver');
    await expect.poll(() => receiver.about(eventId).length, WAIT).toBe(3);
  });

  test('that waits for its next attempt shows its time; it can be canceled, and not redelivered before', async () => {
    receiver.answer = { status: 500 };
    const { id, eventId } = await delivered('pending');
    await expect.poll(async () => (await now(id))['retries'], WAIT).toBeGreaterThan(0);
    const pending = await now(id);
    expect(Date.parse(String(pending['dueAt']))).toBeGreaterThan(Date.parse(pending.createdAt));
    expect(pending).not.toHaveProperty('finishedAt');
    expect(codeOf(await order(id, 'redeliver'))).toBe('409 DELIVERY_PENDING');
    const canceled = await order(id, 'cancel');
    expect([canceled.status, canceled.body]).toMatchObject([200, { id, state: 'canceled' }]);
    expect(canceled.body).not.toHaveProperty('dueAt');
    expect(codeOf(await order(id, 'cancel'))).toBe('409 DELIVERY_OVER');
    const posted = receiver.about(eventId).length;
    expect((await now(id)).state).toBe('canceled');
    // It waits no longer: the next post is the redelivery.
    receiver.answer = { status: 200 };
    expect((await order(id, 'redeliver')).body['state']).toBe('pending');
    await becomes('delivered', () => now(id));
    expect(receiver.about(eventId)).toHaveLength(posted + 1);
  });

  test('has an entry in the audit for each order', async () => {
    receiver.answer = { status: 400 };
    const { id } = await delivered('failed');
    const token = tokens.get('beach') ?? '';
    await order(id, 'redeliver', { token });
    const { body } = await ask(annex, 'GET', `/audit?installation=${here()}&limit=1`);
    expect(body['items']).toMatchObject([
      {
        ...{ action: 'delivery.redeliver', organization: 'beach', integration: 'webhook', site: 'docs' },
        actor: { kind: 'organization' },
      },
    ]);
  });
});

describe('deliveries', () => {
  test('are listed newest first, in pages, with filters', async () => {
    const [view, feedback, content] = [
      await delivered('delivered', 'site_view'),
      await delivered('delivered', 'page_feedback'),
      await delivered('delivered', 'space_content_updated'),
    ];
    const all = [content.id, feedback.id, view.id];
    const since = `installation=${here()}&from=${view.createdAt}`;
    expect(idsOf(await list(since))).toEqual(all);
    expect(idsOf(await list(`${since}&site=docs`))).toEqual([feedback.id, view.id]);
    expect(idsOf(await list(`${since}&space=garden`))).toEqual([content.id]);
    expect(idsOf(await list(`${since}&space=other`))).toEqual([]);
    expect(idsOf(await list(`${since}&type=page_feedback`))).toEqual([feedback.id]);
    expect(idsOf(await list(`${since}&state=delivered`))).toEqual(all);
    expect(idsOf(await list(`${since}&state=failed`))).toEqual([]);
    expect(idsOf(await list(`event=${view.eventId}`))).toEqual([view.id]);
    expect(idsOf(await list('event=evt_none'))).toEqual([]);
    // `from` is included, `to` is excluded.
    const { createdAt } = feedback;
    expect(idsOf(await list(`${since}&to=${createdAt}`))).not.toContain(feedback.id);
    expect(idsOf(await list(`installation=${here()}&from=${createdAt}`))).toContain(feedback.id);

    const first = await answerOf(`${since}&limit=2`);
    expect(idsOf(itemsOf(first))).toEqual(all.slice(0, 2));
    const second = await answerOf(`${since}&limit=2&cursor=${first.body['next']}`);
    expect(idsOf(itemsOf(second))).toEqual(all.slice(2));
    expect(second.body).not.toHaveProperty('next');
  });

  test.each([
    ['type=nothing', 'must be one of space_view'],
    ['state=done', 'must be one of pending, delivered, unhandled, failed, canceled'],
    ['space=a&site=b', 'exclude each other'],
    ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'query.from is later than query.to'],
    ['from=yesterday', 'query.from'],
    ['to=2026-02-30', 'query.to'],
    ['cursor=YWJj', 'query.cursor is not the `next`'],
    ['what=ever', 'unknown members: what'],
  ])('are refused to %s', async (query, why) => {
    const answer = await answerOf(query);
    expect(codeOf(answer)).toBe('400 REQUEST_INVALID');
    expect(answer.error.message).toContain(why);
  });

  test('from and to may be equal, which selects nothing', async () => {
    expect(await list('from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z')).toEqual([]);
  });

  test('are shown to their organization alone; the platform and the operator see all', async () => {
    const [ours, theirs] = [
      await delivered('delivered', 'site_view', 'beach'),
      await delivered('delivered', 'site_view', 'hill'),
    ];
    const [beach = '', hill = ''] = [tokens.get('beach'), tokens.get('hill')];
    const since = `from=${ours.createdAt}`;
    expect(idsOf(await list(since, beach))).toEqual([ours.id]);
    expect(idsOf(await list(since, hill))).toEqual([theirs.id]);
    for (const token of [annex.platform, annex.admin])
      expect(idsOf(await list(since, token))).toEqual([theirs.id, ours.id]);
    expect(idsOf(await list(`${since}&organization=hill`))).toEqual([theirs.id]);
    expect(codeOf(await answerOf('organization=hill', beach))).toBe('403 TOKEN_FORBIDDEN');
    // An event of another tenant is answered as absent.
    expect(await list(`event=${theirs.eventId}`, beach)).toEqual([]);
    // Attack: an answer that reveals what another organization has.
    const others = await answerOf(`installation=${here('hill')}`, beach);
    const absent = await answerOf('installation=ins_none', beach);
    expect([codeOf(others), codeOf(absent)]).toEqual(Array(2).fill('404 INSTALLATION_UNKNOWN'));
    expect(others.error.message.replace(here('hill'), 'ins_none')).toBe(absent.error.message);
    for (const answer of [
      await read(theirs.id, { token: beach }),
      await order(theirs.id, 'redeliver', { token: beach }),
      await order(theirs.id, 'cancel', { token: beach }),
      await read(theirs.id.replace('.', '.9'), { token: beach }),
    ])
      expect(codeOf(answer)).toBe('404 DELIVERY_UNKNOWN');
  });

  test('stay readable for the organization once it has uninstalled', async () => {
    const uninstalled = await settled('lake');
    const shown = await delivered('delivered', 'site_view', 'lake');
    const { token } = await annex.service.store.tokens.create(
      { kind: 'organization', organization: 'lake' },
      OPERATOR,
    );
    await ask(annex, 'DELETE', `/integrations/webhook/installations/${uninstalled.id}`);
    expect(idsOf(await list(`installation=${uninstalled.id}`, token))).toEqual([shown.id]);
    expect((await read(shown.id, { token })).body).toMatchObject({
      id: shown.id,
      payload: expect.any(String),
    });
    expect(codeOf(await answerOf(`installation=${uninstalled.id}`, tokens.get('beach')))).toBe(
      '404 INSTALLATION_UNKNOWN',
    );
    const replay = { token, json: { installation: uninstalled.id } };
    expect(codeOf(await ask(annex, 'POST', '/deliveries/replay', replay))).toBe('404 INSTALLATION_UNKNOWN');
  });
});

describe('a replay', () => {
  const replay = (json: object, token = tokens.get('beach') ?? '', query = '') =>
    ask(annex, 'POST', `/deliveries/replay${query}`, { token, json: { installation: here(), ...json } });
  /** Three failed deliveries, one of each type. */
  const failed = async (): Promise<
    readonly [view: DeliveryView, feedback: DeliveryView, content: DeliveryView]
  > => {
    receiver.answer = { status: 410 };
    const all = [
      await delivered('failed', 'site_view'),
      await delivered('failed', 'page_feedback'),
      await delivered('failed', 'space_content_updated'),
    ] as const;
    receiver.answer = { status: 200 };
    return all;
  };
  const statesOf = async (all: readonly DeliveryView[]) =>
    Promise.all(all.map(async ({ id }) => (await now(id)).state));
  const arrived = (one: DeliveryView) => becomes('delivered', () => now(one.id));

  test('redelivers failed deliveries, by place, type and time', async () => {
    const [view, feedback, content] = await failed();
    const from = view.createdAt;
    expect((await replay({ from, site: 'docs', type: 'page_feedback' })).body).toEqual({ replayed: 1 });
    await arrived(feedback);
    expect(await statesOf([view, content])).toEqual(['failed', 'failed']);
    expect((await replay({ from, to: content.createdAt, space: 'garden' })).body).toEqual({ replayed: 0 });
    expect((await replay({ from, space: 'garden' })).body).toEqual({ replayed: 1 });
    await arrived(content);
    expect(await statesOf([view])).toEqual(['failed']);
    expect((await replay({ from })).body).toEqual({ replayed: 1 });
    await arrived(view);
    for (const { eventId } of [view, feedback, content]) {
      const [first, second] = receiver.about(eventId);
      expect(second?.body).toBe(first?.body);
    }
  });

  test('counts with dryRun what it would order, page by page, and changes nothing', async () => {
    const three = await failed();
    const from = three[0].createdAt;
    const count = (json: object) => replay({ from, ...json }, undefined, '?dryRun=true');
    expect((await count({})).body).toEqual({ replayed: REPLAYED_MAX });
    expect((await count({ site: 'docs', type: 'page_feedback' })).body).toEqual({ replayed: 1 });
    expect((await count({ state: 'delivered' })).body).toEqual({ replayed: 0 });
    expect(await statesOf(three)).toEqual(['failed', 'failed', 'failed']);
    expect((await replay({ from, space: 'garden' })).body).toEqual({ replayed: 1 });
    await arrived(three[2]);
    expect((await count({})).body).toEqual({ replayed: 2 });
  });

  test('takes another state if given, and never pending deliveries', async () => {
    const from = (await delivered('delivered')).createdAt;
    expect((await replay({ from })).body).toEqual({ replayed: 0 });
    expect((await replay({ from, state: 'delivered' })).body).toEqual({ replayed: 1 });
    for (const state of ['pending', 'done']) {
      const answer = await replay({ from, state });
      expect(answer.error).toMatchObject({
        code: 'REQUEST_INVALID',
        message: 'body.state must be one of delivered, unhandled, failed, canceled, held.',
      });
    }
  });

  test('orders deliveriesPerReplay at once, and has a cursor only if there is more', async () => {
    const three = await failed();
    const from = three[0].createdAt;
    expect((await replay({ from })).body).toEqual({ replayed: REPLAYED_MAX });
    for (const one of three) await arrived(one);
    const four = [...(await failed()), (await failed())[0]] as const;
    const later = four[0].createdAt;
    const first = await replay({ from: later });
    expect(first.body).toEqual({ replayed: REPLAYED_MAX, next: expect.any(String) });
    const second = await replay({ from: later, cursor: first.body['next'] });
    expect(second.body['replayed']).toBe(REPLAYED_MAX);
    for (const one of four) await arrived(one);
  });

  test('is refused if its selection makes no sense', async () => {
    const refused = async (json: object) => (await replay(json)).error?.message;
    expect(await refused({ space: 'a', site: 'b' })).toContain('body.space and body.site exclude each other');
    expect(await refused({ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' })).toBe(
      'body.from is later than body.to.',
    );
    expect(await refused({ cursor: 'YWJj' })).toBe(
      'body.cursor is not the `next` of a page of this list: send a `next` unchanged, or leave it out.',
    );
    expect(await refused({ installation: undefined })).toContain('installation');
    expect(codeOf(await replay({ installation: 'ins_none' }))).toBe('404 INSTALLATION_UNKNOWN');
    expect(codeOf(await replay({}, tokens.get('hill')))).toBe('404 INSTALLATION_UNKNOWN');
  });
});
