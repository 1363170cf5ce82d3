/** The examples of what people see: a poll, a video, settings in steps, each the way a host product would use it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, ask, codeOf } from './support/installation-api.ts';
import { type Installed, TestService } from './support/service.ts';

let service: TestService;
const installed = new Map<string, Installed>();
const at = (name: string) => `/integrations/${name}/installations/${installed.get(name)?.id}`;
const render = (name: string, json: object): Promise<Answer> =>
  ask(service, 'POST', `${at(name)}/render`, { json });

beforeAll(async () => {
  service = await TestService.start();
  for (const name of ['poll', 'embed', 'settings']) {
    await service.publishFixture(name);
    installed.set(name, await service.install(name, 'acme'));
  }
});
afterAll(() => service.stop());

/** Elements of a type, wherever they are in a drawing. */
function elements(of: unknown, type: string): Record<string, unknown>[] {
  if (typeof of !== 'object' || of === null) return [];
  const below = Object.values(of).flatMap((value) => elements(value, type));
  return 'type' in of && of.type === type ? [of as Record<string, unknown>, ...below] : below;
}

describe('poll', () => {
  const props = { question: 'Lunch?', answers: 'Pizza\nSalad' };
  const drawn = (more: object = {}) => render('poll', { componentId: 'poll', props, ...more });

  test('is drawn with its answers, and may be kept until somebody votes', async () => {
    const first = await drawn();
    expect(elements(first.body['element'], 'radio').map(({ value }) => value)).toEqual(['Pizza', 'Salad']);
    expect(first.headers.get('cache-control')).toBe('max-age=60');
    const vote = { action: 'vote', answer: 'Salad', comment: 'Too hot', anonymous: false };
    const voted = await drawn({ state: first.body['state'], action: vote });
    expect(voted.body['state']).toEqual({
      votes: { Salad: 1 },
      voted: true,
      thanks: 'Thank you for "Salad": Too hot.',
    });
    expect(voted.headers.get('cache-control')).toBe('no-store');
    const again = await drawn({ state: voted.body['state'], action: { ...vote, answer: 'Pizza' } });
    expect(again.body['state']).toEqual(voted.body['state']);
  });

  test('votes with what is in the fields', async () => {
    const { body } = await drawn();
    const [button] = elements(body['element'], 'button');
    expect(button?.['onPress']).toEqual({
      action: 'vote',
      answer: { $state: 'answer' },
      comment: { $state: 'comment' },
      anonymous: { $state: 'anonymous' },
    });
  });

  test('is set up in a window, whose value becomes its props', async () => {
    const { body } = await drawn();
    const [control] = (body['element'] as { controls: { onPress: Record<string, unknown> }[] }).controls;
    expect(control?.onPress).toEqual({ action: '@ui.modal.open', componentId: 'set-up', props });
    const modal = await render('poll', { componentId: 'set-up', props });
    expect(modal.body['element']).toMatchObject({ type: 'modal', submit: { type: 'button' } });
    for (const type of ['textinput', 'select', 'switch'])
      expect(elements(modal.body['element'], type)).not.toEqual([]);
    const save = {
      action: 'save',
      question: 'Dinner?',
      answers: 'Soup\n\nBread',
      shown: 'voters',
      sorted: true,
    };
    const saved = await render('poll', { componentId: 'set-up', props, action: save });
    const value = { question: 'Dinner?', answers: 'Bread\nSoup', shown: 'voters' };
    expect(saved.body).toEqual({ type: 'complete', returnValue: value });
    const closed = { action: '@ui.modal.close', returnValue: value };
    const state = { votes: { Salad: 3 }, voted: true };
    const next = await drawn({ state, action: closed });
    expect([next.body['props'], next.body['state']]).toEqual([value, { votes: {}, voted: false }]);
  });

  test('goes through Markdown and comes back', async () => {
    const json = { organization: 'acme', blocks: [{ integration: 'poll', componentId: 'poll', props }] };
    const written = await ask(service, 'POST', '/blocks/markdown', { json });
    const markdown = '```poll question="Lunch?"\nPizza\nSalad\n```';
    expect(written.body).toEqual({ blocks: [{ markdown }] });
    const parse = { organization: 'acme', markdown: `# Today\n\n${markdown}\n\n\`\`\`js\n1\n\`\`\`\n` };
    const parsed = await ask(service, 'POST', '/blocks/parse', { json: parse });
    expect(parsed.body).toEqual({
      blocks: [
        {
          ...{ integration: 'poll', installation: installed.get('poll')?.id, componentId: 'poll' },
          ...{ props, firstLine: 3, lastLine: 6 },
        },
      ],
    });
  });

  test('what is no block in Markdown is said to be none; another organization has none', async () => {
    const block = { integration: 'poll', componentId: 'poll', props: {} };
    const blocks = [{ ...block, componentId: 'set-up' }, { ...block, integration: 'embed' }, block];
    const written = await ask(service, 'POST', '/blocks/markdown', {
      json: { organization: 'acme', blocks },
    });
    expect(written.body).toEqual({ blocks: [{}, {}, { markdown: '```poll\n```' }] });
    const foreign = { organization: 'another', markdown: '```poll\na\n```' };
    expect((await ask(service, 'POST', '/blocks/parse', { json: foreign })).body).toEqual({ blocks: [] });
  });

  test('attack: props of any depth are refused before they are written', async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    const json = `{"organization":"acme","blocks":[{"integration":"poll","componentId":"poll","props":${deep}}]}`;
    const response = await fetch(`${service.service.controlUrl}/v1/blocks/markdown`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.admin}`, 'content-type': 'application/json' },
      body: json,
    });
    expect(response.status).toBe(400);
  });
});

describe('embed', () => {
  const unfurl = (url: string) =>
    ask(service, 'POST', '/blocks/unfurl', { json: { organization: 'acme', url } });

  test('makes a video of its address, and a frame with a page of its own', async () => {
    const { body } = await unfurl('https://video.example.com/watch/abc123');
    expect(body).toMatchObject({
      ...{
        integration: 'embed',
        componentId: 'video',
        props: { url: 'https://video.example.com/watch/abc123' },
      },
    });
    const [frame] = elements(body['element'], 'webframe');
    const { url = '' } = (frame?.['source'] ?? {}) as { url?: string };
    expect(url).toBe(`${installed.get('embed')?.endpoint}/player?id=abc123`);
    const page = await fetch(url);
    expect(await page.text()).toContain('https://video.example.com/embed/abc123');
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; frame-src https://video.example.com",
    );
  });

  test('wants nothing of an address that is no video', async () => {
    expect(codeOf(await unfurl('https://video.example.com/watch/no/video'))).toBe('404 UNFURL_UNMATCHED');
  });

  test('is a card until it has an address', async () => {
    const { body } = await render('embed', { componentId: 'video' });
    expect(elements(body['element'], 'card')).toHaveLength(1);
  });
});

describe('settings', () => {
  const setUp = (more: object = {}) => render('settings', { componentId: 'set-up', ...more });

  test('are drawn in steps, with what is set', async () => {
    const { body } = await setUp();
    const [stepper] = elements(body['element'], 'stepper');
    expect(stepper?.['activeStep']).toBe('where');
    expect(elements(stepper, 'step').map(({ id }) => id)).toEqual(['where', 'when']);
    const next = await setUp({ state: body['state'], action: { action: 'go', step: 'when' } });
    expect(next.body['state']).toEqual({ step: 'when' });
  });

  test('say what is wrong at the step it is in, and save nothing', async () => {
    const { body } = await setUp({ state: { step: 'when' }, action: { action: 'save', channel: 'news' } });
    expect(body['state']).toMatchObject({ step: 'where', fault: expect.stringContaining('#news') });
    expect((await fetch(`${installed.get('settings')?.endpoint}`)).status).toBe(409);
  });

  test('are saved by the component itself, as its installation', async () => {
    const action = { action: 'save', channel: '#news', rhythm: 'weekly', quiet: true };
    const { body } = await setUp({ state: { step: 'when' }, action });
    const configuration = { channel: '#news', rhythm: 'weekly', quiet: true };
    expect(body).toEqual({ type: 'complete', returnValue: configuration });
    expect((await ask(service, 'GET', at('settings'))).body['configuration']).toEqual(configuration);
    const said = await fetch(`${installed.get('settings')?.endpoint}`);
    expect(await said.text()).toBe('A digest goes to #news, weekly.');
    const again = await setUp();
    expect(elements(again.body['element'], 'textinput')[0]?.['initialValue']).toBe('#news');
    const [entry] = (await ask(service, 'GET', '/audit?action=installation.edit')).body['items'] as object[];
    expect(entry).toMatchObject({ actor: expect.objectContaining({ kind: 'installation' }) });
  });
});
