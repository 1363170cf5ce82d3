/**
 * The URL of a receiver when it is saved: a refused one makes the target invalid
 * (docs/contract/webhooks.md#destination).
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { ask } from '../../support/installation-api.ts';
import { startTestService, TestService } from '../../support/service.ts';

const WEBHOOK = `configurations:
  account:
    properties:
      receiver: { type: string }
  site:
    properties:
      receiver: { type: string }
      events: { type: string, multiple: true, enum: [site_view] }
      note: { type: string }
    required: [events]
webhook: { url: receiver, eventTypes: events }
`;
const SOURCE = `import { createIntegration, deliverTo } from '@annex/sdk';
export default createIntegration({
  fetch: (_, { environment }) => Response.json([environment.configuration, environment.apiTokens]),
  events: { site_view: (event) => deliverTo('https://hooks.example.com/', event) },
});`;

/**
 * Publishes an integration with webhooks and installs it in a site. @returns the path of the target
 */
async function deployed(annex: TestService): Promise<string> {
  await annex.publish('posts', { 'index.ts': SOURCE }, WEBHOOK);
  const whole = await annex.install('posts', 'acme');
  await annex.installBelow('posts', whole, 'site', 'docs');
  return `/integrations/posts/installations/${whole.id}/sites/docs`;
}

interface Refusal {
  readonly code: string;
  readonly problems: readonly { readonly property: string; readonly message: string }[];
}

/** The refusal of an edit that would make an active target invalid. */
const refusal = ({ code, problems }: Refusal) => ({
  status: code,
  problems: problems.map(({ property, message }) => ({ property, message })),
});

describe('the URL of a receiver', () => {
  let annex: TestService;
  let path: string;
  beforeAll(async () => {
    annex = await TestService.start();
    path = await deployed(annex);
    return () => annex.stop();
  });
  const save = async (receiver: unknown, at = path) => {
    const configuration = { receiver, ...(at === path && { events: ['site_view'] }) };
    const { status, body } = await ask(annex, 'PATCH', at, { json: { configuration } });
    if (status === 422) return refusal(body['error'] as Refusal);
    expect([status, (body['configuration'] as { receiver?: unknown }).receiver]).toEqual([
      200,
      receiver ?? undefined,
    ]);
    return { status: body['status'], problems: body['problems'] };
  };
  const long = (chars: number) => `https://hooks.example.com/${'x'.repeat(chars - 26)}`;

  test.each([
    'https://hooks.example.com/in?key=k1',
    'https://hooks.example.com:8443/',
    'https://bücher.example/',
    long(2_048),
  ])('may be %s', async (url) => {
    expect(await save(url)).toEqual({ status: 'active', problems: undefined });
  });

  test.each<[string, RegExp]>([
    ['http://hooks.example.com/', /of http\b.* https only/],
    ['ftp://hooks.example.com/', /https/],
    ['hooks.example.com/in', /https/],
    ['', /https/],
    [long(2_049), /more than 2,048 characters/],
    ['https://user@hooks.example.com/', /a user name or a password/],
    ['https://:hunter2@hooks.example.com/', /a user name or a password/],
    ['https://hooks.example.com/in#part', /a fragment/],
    ['https://hooks.example.com/#', /a fragment/],
  ])('is not %s', async (url, why) => {
    const message = expect.stringMatching(
      new RegExp(`^"receiver" cannot be posted to\\. .*${why.source}.*\\.$`),
    );
    expect(await save(url)).toEqual({
      status: 'CONFIGURATION_INVALID',
      problems: [{ property: 'receiver', message }],
    });
  });

  // Attack: server-side request forgery (OWASP): internal services under all their names.
  test.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f000001/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://localhost/',
    'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
    'https://[fd00::1]/',
  ])('is not an address that is not public: %s', async (url) => {
    const { status, problems } = await save(url);
    expect(status).toBe('CONFIGURATION_INVALID');
    expect(problems).toEqual([
      { property: 'receiver', message: expect.stringMatching(/^"receiver" cannot be posted to\. ./) },
    ]);
  });

  test('attack: its error does not repeat it, because code of other integrations could read that', async () => {
    for (const url of ['https://:hunter2@hooks.example.com/', 'http://hooks.example.com/hunter2', 'hunter2'])
      expect(JSON.stringify((await save(url)).problems)).not.toMatch(/hunter2|hooks/);
  });

  test('may be missing if it is not required, and has one problem if it is not text', async () => {
    expect(await save(null)).toEqual({ status: 'active', problems: undefined });
    expect(await save(7)).toEqual({
      status: 'CONFIGURATION_INVALID',
      problems: [{ property: 'receiver', message: '"receiver" must be a string.' }],
    });
  });

  test('is checked only for integrations that post webhooks', async () => {
    const whole = path.replace('/sites/docs', '');
    expect(await save('http://127.0.0.1/', whole)).toMatchObject({ status: 'active' });
  });

  test('keeps the target from becoming active by another edit or by a resume', async () => {
    // An active target cannot become invalid by an edit; a paused one can.
    await ask(annex, 'POST', `${path}/pause`);
    await save('https://127.0.0.1/');
    await ask(annex, 'POST', `${path}/resume`);
    const json = { configuration: { note: 'x' } };
    expect((await ask(annex, 'PATCH', path, { json })).body).toMatchObject({ status: 'pending' });
    expect((await ask(annex, 'POST', `${path}/pause`)).body).toMatchObject({ status: 'paused' });
    expect((await ask(annex, 'POST', `${path}/resume`)).body).toMatchObject({ status: 'pending' });
    for (const read of [path, `${path}/configuration`])
      expect((await ask(annex, 'GET', read)).body).toMatchObject({ problems: [{ property: 'receiver' }] });
    await save('https://hooks.example.com/');
    expect((await ask(annex, 'POST', `${path}/pause`)).body).toMatchObject({ status: 'paused' });
    expect((await ask(annex, 'POST', `${path}/resume`)).body).toMatchObject({ status: 'active' });
  });
});

test('plain http and a listed address may be saved if the operator allows both', async () => {
  const annex = await startTestService({ flags: ['--webhook-http', 'allow', '--egress-allow', '127.0.0.1'] });
  const path = await deployed(annex);
  const save = async (receiver: string) => {
    const json = { configuration: { receiver, events: ['site_view'] } };
    const { body, error } = await ask(annex, 'PATCH', path, { json });
    return body['status'] ?? error.code;
  };
  expect(await save('http://hooks.example.com/')).toBe('active');
  expect(await save('http://127.0.0.1:8080/in')).toBe('active');
  expect(await save('http://127.0.0.2:8080/in')).toBe('CONFIGURATION_INVALID');
  expect(await save(`${annex.service.controlUrl}/v1/audit`)).toBe('CONFIGURATION_INVALID');
});

describe('at publish', () => {
  test('a selectable type without a handler is a warning', async () => {
    const annex = await startTestService();
    const more = WEBHOOK.replace('[site_view]', '[site_view, page_feedback]');
    const { status, body } = await annex.tryPublish('posts', { 'index.ts': SOURCE }, more);
    expect(status).toBe(201);
    const warnings = (body['warnings'] as { message: string; line: number }[]).filter(({ message }) =>
      message.includes('can be selected'),
    );
    expect(warnings).toEqual([
      {
        severity: 'warning',
        message:
          '"page_feedback" can be selected, but the script has no handler for it, so it is never posted.',
        hint: 'Add "page_feedback" to the "events" of the integration, or remove it from the choices.',
        file: 'platform-manifest.yaml',
        ...{ line: 15, column: expect.any(Number) },
      },
    ]);
  });

  test('an invalid webhook member is refused', async () => {
    const annex = await startTestService();
    const more = WEBHOOK.replace('eventTypes: events', 'eventTypes: event');
    const { status, body } = await annex.tryPublish('posts', { 'index.ts': SOURCE }, more);
    expect([status, JSON.stringify(body)]).toEqual([
      422,
      expect.stringContaining('Did you mean \\"events\\"?'),
    ]);
  });
});
