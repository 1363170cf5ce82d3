/** The trace of an event shows inactive targets; a replay delivers it once they are active. */
import { expect, test } from 'vitest';
import { ask } from '../../support/installation-api.ts';
import { WebhookInbox } from '../../support/receivers/webhook-inbox.ts';
import { startTestService } from '../../support/service.ts';

test('a webhook that is paused or not set up is in the trace of an event; a replay delivers it afterwards', async () => {
  const annex = await startTestService({ flags: ['--webhook-http', 'allow', '--egress-allow', '127.0.0.1'] });
  await annex.publishFixture('webhook');
  const { id } = await annex.install('webhook', 'acme');
  const whole = `/integrations/webhook/installations/${id}`;
  const site = `${whole}/sites/docs`;
  await ask(annex, 'POST', `${whole}/sites`, { json: { site: 'docs' } });
  const inbox = await WebhookInbox.start();
  const configure = (configuration: object) => ask(annex, 'PATCH', site, { json: { configuration } });
  const post = async () => {
    const event = {
      ...{
        type: 'site_view',
        organization: 'acme',
        siteId: 'docs',
        url: 'https://docs.example.com/',
        referrer: '',
      },
      visitor: { anonymousId: 'a', userAgent: 'x', ip: '203.0.113.9', cookies: {} },
    };
    const { body } = await ask(annex, 'POST', '/events', { json: event });
    const { body: traced } = await ask(annex, 'GET', `/events/${body['eventId']}`);
    return { deliveries: body['deliveries'], trace: traced['trace'] };
  };
  const missed = (outcome: string) => ({
    deliveries: 0,
    trace: [expect.objectContaining({ state: 'canceled', outcome, attempts: 0, site: 'docs' })],
  });

  // No type is selected yet: it is not subscribed.
  expect(await post()).toEqual({ deliveries: 0, trace: [] });
  await configure({ event_types: ['site_view'] });
  expect(await post()).toEqual(missed('pending'));
  expect(await configure({ webhook_url: inbox.url })).toMatchObject({ body: { status: 'active' } });
  await ask(annex, 'POST', `${site}/pause`);
  expect(await post()).toEqual(missed('paused'));
  await ask(annex, 'POST', `${site}/resume`);
  const replay = { installation: id, state: 'canceled' };
  expect((await ask(annex, 'POST', '/deliveries/replay', { json: replay })).body).toEqual({ replayed: 2 });
  for (let at = 0; at < 2; at += 1)
    expect(JSON.parse((await inbox.taken()).body)).toMatchObject({ type: 'site_view', siteId: 'docs' });
  // An edit that would make the target invalid is refused.
  expect(await configure({ webhook_url: 'htps://hooks.example.com/' })).toMatchObject({ status: 422 });
  expect(await post()).toMatchObject({ deliveries: 1 });
});
