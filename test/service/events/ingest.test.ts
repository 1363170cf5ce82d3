/** `POST /v1/events`: accepted events, refusals and their messages, and limits. */
import { beforeAll, describe, expect, test } from 'vitest';
import { HANDLED_EVENTS } from '../../../src/model/manifest/scope.ts';
import { POSTED_TYPES } from '../../../src/model/posted-event.ts';
import { SOUND_EVENTS } from '../../support/deliveries/posted-events.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

/** An integration with a handler for every type. */
const LISTENER = `
  import { createIntegration } from '@annex/sdk';
  const heard = () => {};
  export default createIntegration({ events: { ${[...POSTED_TYPES.keys()].map((type) => `${type}: heard`).join(', ')} } });`;
const SCOPES = 'space:content:read, space:metadata:read, space:git:sync, site:views:read';

let annex: TestService;
let count = 0;

type Members = Readonly<Record<string, unknown>>;

const soundEvent = (type: string, more: Members = {}): Members => ({
  type,
  organization: 'acme',
  ...SOUND_EVENTS[type],
  ...more,
});
const UPDATED = soundEvent('space_content_updated');
const post = (json: unknown, token = annex.platform) => annex.api('POST', '/v1/events', { json, token });
const messageOf = ({ body }: { body: Members }) =>
  (body['error'] as { message?: string } | undefined)?.message;

/** A raw body that no serializer would write. */
async function postText(body: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${annex.service.controlUrl}/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${annex.platform}`, 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: response.status, body: (await response.json()) as Members };
}

beforeAll(async () => {
  annex = await TestService.start();
  return () => annex.stop();
});

describe('every type that can be posted', () => {
  test('is a type of handlers, and no lifecycle type', () => {
    expect([...POSTED_TYPES.keys()].sort()).toEqual(Object.keys(SOUND_EVENTS).sort());
    expect(HANDLED_EVENTS).toEqual(expect.arrayContaining([...POSTED_TYPES.keys()]));
  });

  test.each([...POSTED_TYPES.keys()])(
    '%s is accepted with its required members, and with more',
    async (type) => {
      const { eventId, ...sound } = soundEvent(type, { eventId: undefined });
      for (const more of [
        {},
        { eventId: `id-${type}`, installationId: 'ins_x', sinceThen: { deep: [1, null] } },
      ])
        expect(await post({ ...sound, ...more })).toMatchObject({ status: 202, body: { deliveries: 0 } });
    },
  );

  test.each(
    [...POSTED_TYPES].flatMap(([type, { schema }]) =>
      ((schema as { required?: string[] }).required ?? [])
        .filter((member) => member !== 'type')
        .map((member) => ({ type, member })),
    ),
  )('$type without "$member" is refused by name', async ({ type, member }) => {
    const answer = await post(soundEvent(type, { [member]: undefined }));
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'REQUEST_INVALID' } } });
    expect(messageOf(answer)).toMatch(new RegExp(`^body.*\\b${member}\\b`));
  });
});

describe('is refused, and the message names the reason:', () => {
  const feedback = (more: Members) => soundEvent('page_feedback', { feedback: { rating: 'ok', ...more } });
  const visitor = (more: Members) =>
    soundEvent('site_view', { visitor: { ...(SOUND_EVENTS['site_view']?.['visitor'] as object), ...more } });

  test.each<[what: string, event: unknown, message: string | RegExp]>([
    ['a number', 1, 'body must be an event, or an object with "events".'],
    ['a list', [UPDATED], 'body is not an event: it must be an object.'],
    [
      'no type',
      { organization: 'acme' },
      /^body\.type is missing: it must be one of space_view, .*page_feedback\.$/,
    ],
    ['a type that is no text', { type: 1 }, /^body\.type must be a string: one of space_view, /],
    [
      'a misspelled type',
      soundEvent('page_fedback'),
      'body.type is not a type that can be posted. Did you mean "page_feedback"?',
    ],
    [
      'an unknown type',
      soundEvent('rocket_launched'),
      /^body\.type is not a type that can be posted: it must be one of /,
    ],
    [
      'a type that is a member of prototypes',
      soundEvent('constructor'),
      /^body\.type is not a type that can be posted: it must/,
    ],
    [
      'a lifecycle event',
      soundEvent('space_installation_setup'),
      'body.type is "space_installation_setup", which is not posted: Annex creates lifecycle events itself.',
    ],
    [
      'ui_render',
      soundEvent('ui_render'),
      /^body\.type is "ui_render", which is not posted: .*POST …\/render/,
    ],
    ['fetch', soundEvent('fetch'), /^body\.type is "fetch", which is not posted: .*public endpoint/],
    [
      'no organization',
      { ...UPDATED, organization: undefined },
      /^body\.organization is missing: name the organization/,
    ],
    [
      'an organization that is no id',
      { ...UPDATED, organization: 'a b' },
      /^body\.organization must be 1 to 128 letters/,
    ],
    ['a space that is no id', { ...UPDATED, spaceId: 'a/b' }, /^body\.spaceId must be 1 to 128 letters/],
    [
      'an installation that is no id',
      { ...UPDATED, installationId: '' },
      /^body\.installationId must be 1 to 64 letters/,
    ],
    ['an empty revision', { ...UPDATED, revisionId: '' }, /^body\.revisionId must /],
    ['a rating', feedback({ rating: 'meh' }), 'body.feedback.rating must be one of bad, ok, good.'],
    [
      'a long comment',
      feedback({ comment: 'x'.repeat(513) }),
      /^body\.feedback\.comment must not have more than 512/,
    ],
    ['cookies that are no texts', visitor({ cookies: { a: 1 } }), 'body.visitor.cookies.a must be string.'],
    [
      'attack: a long name that fills the answer and the log',
      visitor({ cookies: { ['x'.repeat(100_000)]: 1 } }),
      'body.visitor.cookies.… must be string.',
    ],
    ['a visitor without a name', visitor({ anonymousId: undefined }), /^body\.visitor .*anonymousId/],
    [
      'a state',
      soundEvent('space_gitsync_completed', { state: 'ok' }),
      /^body\.state must be one of success, failure\.$/,
    ],
  ])('%s', async (_, event, message) => {
    const answer = await post(event);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'REQUEST_INVALID' } } });
    if (message instanceof RegExp) expect(messageOf(answer)).toMatch(message);
    else expect(messageOf(answer)).toBe(message);
  });

  test('an eventId that is not 1 to 255 printable characters', async () => {
    for (const eventId of ['a', '~!{}/?#%', 'x'.repeat(255)])
      expect((await post({ ...UPDATED, eventId })).status).toBe(202);
    for (const eventId of ['', 'x'.repeat(256), 'a b', 'a\nb', 'a\u0000', 'ä', 1, null]) {
      const answer = await post({ ...UPDATED, eventId });
      expect([eventId, answer.status]).toEqual([eventId, 400]);
      expect(messageOf(answer)).toBe(
        'body.eventId must be a string of 1 to 255 printable ASCII characters, without spaces.',
      );
    }
  });

  test('a comment of 512 characters is not', async () => {
    expect((await post(feedback({ comment: 'x'.repeat(512) }))).status).toBe(202);
  });

  test('attack: a member that would be a prototype, a number that is none, endless nesting', async () => {
    const text = (more: string) => `${JSON.stringify(UPDATED).slice(0, -1)},${more}}`;
    const nested = (levels: number) => `"deep":${'['.repeat(levels)}${']'.repeat(levels)}`;
    const refused = async (more: string) => messageOf(await postText(text(more)));
    expect(await refused('"__proto__":{"type":"x"}')).toMatch(
      /^body has a member "__proto__", or "constructor"/,
    );
    expect(await refused('"a":{"__proto__":1}')).toMatch(/^body has a member "__proto__", or "constructor"/);
    expect(await refused('"constructor":{"prototype":1}')).toMatch(/^body has a member "__proto__"/);
    expect(await refused('"far":1e999')).toBe('body holds a number that is too large.');
    expect((await postText(text(nested(31)))).status).toBe(202);
    expect(await refused(nested(32))).toBe('body is nested more than 32 levels deep.');
    expect(await refused(nested(900))).toBe('body is nested more than 32 levels deep.');
    expect(await refused(nested(100_000))).toBe('body is nested deeper than 1000.');
  });

  test('a body that is empty or not JSON', async () => {
    expect(messageOf(await postText('{"type"'))).toMatch(/^body is not JSON: at line 1, column 8/);
    expect(messageOf(await postText(''))).toMatch(/^body is missing: send JSON/);
    expect(messageOf(await postText('x', { 'content-type': 'text/csv' }))).toMatch(
      /^body has an unsupported content type/,
    );
  });
});

describe('many at once', () => {
  test('are answered one by one, in order', async () => {
    const events = [
      UPDATED,
      soundEvent('site_view', { eventId: 'batched' }),
      { ...UPDATED, eventId: 'batched-2' },
    ];
    const first = await post({ events });
    expect(first).toEqual({
      status: 202,
      body: {
        events: [
          { eventId: expect.stringMatching(/^evt_/), deliveries: 0 },
          { eventId: 'batched', deliveries: 0 },
          { eventId: 'batched-2', deliveries: 0 },
        ],
      },
    });
    const again = await post({ events: events.slice(1) });
    expect(again).toMatchObject({ status: 200, body: { events: [{ known: true }, { known: true }] } });
  });

  test('are accepted together or not at all, and the message names the invalid one', async () => {
    const events = (bad: unknown) => [{ ...UPDATED, eventId: 'of-a-bad-batch' }, bad];
    for (const [bad, message] of [
      [{ ...UPDATED, spaceId: undefined }, /^body\.events\[1\] must have required properties spaceId\.$/],
      [soundEvent('space_veiw'), /^body\.events\[1\]\.type .*"space_view"/],
      [null, /^body\.events\[1\] is not an event/],
    ] as const) {
      const answer = await post({ events: events(bad) });
      expect(answer.status).toBe(400);
      expect(messageOf(answer)).toMatch(message);
    }
    expect((await annex.api('GET', '/v1/events/of-a-bad-batch')).status).toBe(404);
  });

  test.each([
    [{ events: [] }, 'body.events must be a list of at least one event.'],
    [{ events: UPDATED }, 'body.events must be a list of at least one event.'],
    [
      { organization: 'acme', events: [UPDATED] },
      'body has "events" and "organization": members of events belong into each event.',
    ],
  ])('%j is refused', async (body, message) => {
    const answer = await post(body);
    expect([answer.status, messageOf(answer)]).toEqual([400, message]);
  });

  test('an event may have a member "events"', async () => {
    expect(await post({ ...UPDATED, events: [1] })).toMatchObject({ status: 202, body: { deliveries: 0 } });
  });
});

describe('the event that handlers get', () => {
  test('is the posted event, without the members for Annex alone', async () => {
    const installed = await withScopes('listening', 'garden-club');
    for (const type of POSTED_TYPES.keys()) {
      count += 1;
      const more = {
        eventId: `heard-${count}`,
        organization: 'garden-club',
        z: 1,
        a: { '0': 'x', list: [1.5, null] },
      };
      const answer = await post(soundEvent(type, more));
      expect(answer).toEqual({ status: 202, body: { eventId: `heard-${count}`, deliveries: 1 } });
      const [delivery] = await annex.service.store.deliveryList.ofEvent(`heard-${count}`);
      expect(delivery).toMatchObject({
        type,
        target: { installationId: installed.id, level: 'organization' },
      });
      const stored = await annex.service.store.eventList.read(`heard-${count}`);
      expect(stored?.body.startsWith(`{"eventId":"heard-${count}","type":"${type}",`)).toBe(true);
      const { organization, ...said } = soundEvent(type, more);
      expect(JSON.parse(stored?.body ?? '')).toEqual(said);
    }
  });

  /** Publishes and installs an integration that subscribes to all types. */
  async function withScopes(name: string, organization: string): Promise<Installed> {
    const form = new FormData();
    const head = `name: ${name}\ntitle: t\ndescription: d\norganization: acme\nvisibility: public\nscript: index.js`;
    form.append('manifest', `${head}\nscopes: [${SCOPES}]\n`);
    form.append('files', new Blob([LISTENER]), 'index.js');
    expect((await annex.api('POST', '/v1/integrations', { form })).status).toBe(201);
    return annex.install(name, organization);
  }
});

describe('only the product posts', () => {
  test('an organization gets 403, before its body is read', async () => {
    const { body } = await annex.api('POST', '/v1/tokens', {
      json: { kind: 'organization', organization: 'acme' },
    });
    const refused = await post(UPDATED, String(body['token']));
    expect(refused).toMatchObject({ status: 403, body: { error: { code: 'TOKEN_FORBIDDEN' } } });
    const response = await fetch(`${annex.service.controlUrl}/v1/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${body['token']}`, 'content-type': 'application/json' },
      body: 'no JSON at all',
    });
    expect(response.status).toBe(403);
    expect((await post(UPDATED, annex.admin)).status).toBe(202);
  });
});

describe('limits', () => {
  const refusal = (name: string, max: number, used?: number) => ({
    status: 413,
    body: { error: { code: 'REQUEST_TOO_LARGE', limit: { name, max, ...(used !== undefined && { used }) } } },
  });
  const ofBytes = (bytes: number) => {
    const bare = JSON.stringify({ ...UPDATED, pad: '' }).length;
    return { ...UPDATED, pad: 'x'.repeat(bytes - bare) };
  };

  test('eventBytes and eventsPerBatch: the maximum is accepted, and one more is refused', async () => {
    const limited = await startTestService({ limits: { eventBytes: 1_000, eventsPerBatch: 3 } });
    const send = (json: object) => limited.api('POST', '/v1/events', { json });
    const met = (name: string) => limited.metric(`annex_limits_met_total{limit="${name}"}`);
    expect((await send(ofBytes(1_000))).status).toBe(202);
    expect((await send({ events: [UPDATED, UPDATED, ofBytes(1_000)] })).status).toBe(202);
    expect([await met('eventBytes'), await met('eventsPerBatch')]).toEqual([0, 0]);
    expect(await send(ofBytes(1_001))).toMatchObject(refusal('eventBytes', 1_000, 1_001));
    const inBatch = await send({ events: [UPDATED, ofBytes(1_001)] });
    expect(inBatch).toMatchObject(refusal('eventBytes', 1_000, 1_001));
    expect(messageOf(inBatch)).toBe('body.events[1] has 1,001 bytes; the limit is 1,000 bytes (eventBytes).');
    const tooMany = await send({ events: [UPDATED, UPDATED, UPDATED, UPDATED] });
    expect(tooMany).toMatchObject(refusal('eventsPerBatch', 3, 4));
    expect([await met('eventBytes'), await met('eventsPerBatch')]).toEqual([2, 1]);
  });

  test('a batch may be as large as a request; beyond that, requestBodyBytes is named', async () => {
    const limited = await startTestService({ limits: { requestBodyBytes: 3_000_000 } });
    const event = ofBytes(250_000);
    // More than the framework's own limit.
    const many = await limited.api('POST', '/v1/events', { json: { events: Array(11).fill(event) } });
    expect(many.status).toBe(202);
    const more = await limited.api('POST', '/v1/events', { json: { events: Array(13).fill(event) } });
    expect(more).toMatchObject(refusal('requestBodyBytes', 3_000_000));
    expect(messageOf(more)).toBe('The body is too large; the limit is 3,000,000 bytes (requestBodyBytes).');
    expect(await limited.metric('annex_limits_met_total{limit="requestBodyBytes"}')).toBe(1);
  });
});
