/** The settings component of the webhook integration: state, secret, rotation and test event. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkSignature } from '../../../sandbox/sdk/verify-signature.js';
import { type Answer, ask } from '../../support/installation-api.ts';
import { WebhookInbox } from '../../support/receivers/webhook-inbox.ts';
import { startTestService, TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start({ flags: ['--webhook-http', 'allow', '--egress-allow', '127.0.0.1'] });
  await annex.publishFixture('webhook');
});
afterAll(() => annex.stop());

type Drawn = Record<string, unknown>;

/** Elements of a type, anywhere in a drawing. */
function elements(of: unknown, type: string): Drawn[] {
  if (typeof of !== 'object' || of === null) return [];
  const below = Object.values(of).flatMap((value) => elements(value, type));
  return 'type' in of && of.type === type ? [of as Drawn, ...below] : below;
}

/** The texts and hints of a drawing. */
const words = ({ body }: Answer): string =>
  ['text', 'hint']
    .flatMap((type) => elements(body['element'], type))
    .flatMap(({ children }) => [children].flat())
    .filter((child) => typeof child === 'string')
    .join(' ');
const buttons = ({ body }: Answer) =>
  Object.fromEntries(elements(body['element'], 'button').map((button) => [String(button['label']), button]));

let organizations = 0;
/** Installs the integration in a space and a site, and renders it there. */
async function installed(service = annex) {
  organizations += 1;
  const whole = await service.install('webhook', `settings-${organizations}`);
  await service.installBelow('webhook', whole, 'space', 'garden');
  await service.installBelow('webhook', whole, 'site', 'docs');
  const at = (place: string) => `/integrations/webhook/installations/${whole.id}${place}`;
  return {
    at,
    configure: (place: string, configuration: object) =>
      ask(service, 'PATCH', at(place), { json: { configuration } }),
    async secret(place: string): Promise<Drawn> {
      return (await ask(service, 'GET', `${at(place)}/webhook-secret`)).body;
    },
    async drawn(place: string, action?: object, state?: unknown): Promise<Answer> {
      const json = { componentId: 'settings', ...(action && { action }), ...(state ? { state } : {}) };
      const answer = await ask(service, 'POST', `${at(place)}/render`, { json });
      expect([answer.status, elements(answer.body['element'], 'configuration')]).toMatchObject([200, [{}]]);
      return answer;
    },
  };
}

describe('the component', () => {
  test('explains in the organization where webhooks are set up', async () => {
    const { drawn } = await installed();
    const answer = await drawn('');
    expect(words(answer)).toContain('Webhooks are set up in a space or on a site');
    expect(buttons(answer)).toEqual({});
  });

  test('lists missing settings before it is configured, and sends no test', async () => {
    const { drawn } = await installed();
    for (const place of ['/spaces/garden', '/sites/docs']) {
      const answer = await drawn(place);
      expect(words(answer)).toContain('Nothing is sent yet, because the settings are not complete.');
      expect(words(answer)).toContain('"webhook_url" must be set. "event_types" must be set.');
      expect(buttons(answer)['Send test event']).toMatchObject({ disabled: true });
    }
  });

  test('lists the problems of the configuration', async () => {
    const { drawn, configure } = await installed();
    await configure('/sites/docs', { webhook_url: 'ftp://x.example/', event_types: 'site_view' });
    const answer = await drawn('/sites/docs');
    expect(words(answer)).toContain('"event_types" must be a list');
    expect(words(answer)).toContain('"webhook_url" cannot be posted to.');
    await configure('/sites/docs', { webhook_url: 7, event_types: [7, null] });
    expect(words(await drawn('/sites/docs'))).toContain('"webhook_url" must be a string.');
  });

  test('shows the URL and the event types, once the configuration is complete', async () => {
    const { drawn, configure } = await installed();
    const event_types = ['site_view', 'page_feedback'];
    await configure('/sites/docs', { webhook_url: 'https://hooks.example.com/in', event_types });
    const answer = await drawn('/sites/docs');
    expect(words(answer)).toContain(
      'Sent to https://hooks.example.com/in: A page of the site is viewed; Feedback is given on a page.',
    );
    const [, type] = elements(answer.body['element'], 'select');
    expect(type).toMatchObject({ initialValue: 'site_view', disabled: false });
    expect(type?.['options']).toMatchObject(event_types.map((id) => ({ id })));
  });
});

describe('the secret', () => {
  test('is drawn on request, and is not part of the state', async () => {
    const { drawn, secret } = await installed();
    const hidden = await drawn('/spaces/garden');
    const { secret: known } = await secret('/spaces/garden');
    expect(hidden.text).not.toContain(known);
    const shown = await drawn('/spaces/garden', { action: 'show' }, hidden.body['state']);
    expect(elements(shown.body['element'], 'codeblock')).toMatchObject([{ content: known }]);
    expect(shown.body['state']).toEqual({ shown: true });
    expect(shown.headers.get('cache-control')).toBe('no-store');
    const again = await drawn('/spaces/garden', { action: 'hide' }, shown.body['state']);
    expect([again.body['state'], again.text.includes(String(known))]).toEqual([{}, false]);
  });

  test.each([
    ['instant', undefined, 'the one before it is no longer valid'],
    ['hour', 3_600, 'the one before it stays valid for one hour'],
    ['day', 86_400, 'the one before it stays valid for 24 hours'],
    ['nonsense', undefined, 'the one before it is no longer valid'],
  ])('is rotated, and the previous one stays valid: %s', async (overlap, seconds, said) => {
    const { drawn, secret } = await installed();
    const before = await secret('/sites/docs');
    const answer = await drawn('/sites/docs', { action: 'rotate', overlap });
    const after = await secret('/sites/docs');
    expect(after['secret']).not.toBe(before['secret']);
    expect(elements(answer.body['element'], 'codeblock')).toMatchObject([{ content: after['secret'] }]);
    expect(words(answer)).toContain(said);
    const { until } = (after['previous'] ?? {}) as { until?: string };
    const lasts = until && (Date.parse(until) - Date.parse(String(after['createdAt']))) / 1_000;
    expect(lasts).toBe(seconds);
    expect(until === undefined || words(answer).includes(until)).toBe(true);
  });

  test('is not rotated without a confirmation', async () => {
    const { drawn } = await installed();
    expect(buttons(await drawn('/sites/docs'))['Rotate secret']).toMatchObject({
      onPress: { action: 'rotate', overlap: { $state: 'overlap' } },
      confirm: { title: 'Rotate the secret?', confirm: 'Rotate secret', style: 'danger' },
    });
  });
});

describe('a test event', () => {
  test.each([
    ['/spaces/garden', 'none', undefined, 'space_content_updated'],
    ['/sites/docs', 'one', 'page_feedback', 'page_feedback'],
    ['/sites/docs', 'one that is not selected', 'space_view', 'site_view'],
  ])('is posted from %s and signed like any other, if %s is requested', async (place, _, type, sent) => {
    const { drawn, configure, secret } = await installed();
    const inbox = await WebhookInbox.start();
    const event_types = place === '/sites/docs' ? ['site_view', 'page_feedback'] : ['space_content_updated'];
    await configure(place, { webhook_url: inbox.url, event_types });
    const answer = await drawn(place, { action: 'test', type });
    const { headers, body } = await inbox.taken();
    expect(JSON.parse(body)).toMatchObject({ type: sent });
    expect(words(answer)).toContain(`A test event is on its way: ${JSON.parse(body).eventId}.`);
    const known = String((await secret(place))['secret']);
    const checked = await checkSignature(String(headers['x-platform-signature']), body, known);
    expect(checked).toMatchObject({ valid: true });
  });

  test('is not sent before the settings are complete, with the reason', async () => {
    const { drawn } = await installed();
    const answer = await drawn('/sites/docs', { action: 'test' });
    expect(words(answer)).toMatch(/That did not work\. [^{}/]*pending/);
  });
});

test('a refusal of the API is shown at its button, with another try', async () => {
  const small = await startTestService({ limits: { editsPerMinutePerInstallation: 3 } });
  await small.publishFixture('webhook');
  const { drawn } = await installed(small);
  let answer = await drawn('/sites/docs', { action: 'show' });
  for (let times = 0; times < 3; times += 1) answer = await drawn('/sites/docs', { action: 'show' });
  expect(words(answer)).toMatch(/That did not work\. /);
  expect(words(answer)).not.toContain('/integrations/');
  expect(Object.keys(buttons(answer))).toContain('Try again');
  const rotated = await drawn('/sites/docs', { action: 'rotate' });
  expect(words(rotated)).toMatch(/That did not work\. /);
});
