/**
 * Members of `createIntegration` that are named after their event, and content sources
 * (docs/contract/calls.md#routing).
 */
import { describe, expect, test } from 'vitest';
import {
  createContentSource,
  createIntegration,
  ExposableError,
  type Integration,
} from '../../../sandbox/sdk/index.ts';
import { call, envelope, offered, request } from '../../support/sdk/integration-call.ts';

const event = (type: string, members: object = {}) => ({ eventId: 'evt_1', type, ...members });
const answerTo = async (integration: Integration, sent: object) => {
  const { response, text } = await call(integration, sent);
  return `${response.status} ${text}`;
};
const source = createContentSource({
  sourceId: 'models',
  getRevision: ({ props }) => ({ pages: [props['title']] }),
  getPageDocument: () => undefined,
});

describe('a published script', () => {
  test('is the response of its handler', async () => {
    const script = (given: { siteId?: string }) => new Response(`site ${given.siteId}`);
    const integration = createIntegration({ fetch_published_script: script });
    expect(await answerTo(integration, event('fetch_published_script', { siteId: 's1' }))).toBe(
      '200 site s1',
    );
  });

  test('is a no-op where the handler returns nothing', async () => {
    const integration = createIntegration({ fetch_published_script: () => undefined });
    expect(await answerTo(integration, event('fetch_published_script'))).toBe('200 /** no-op */');
  });

  test('may come from a handler in `events`, as older integrations have it', async () => {
    const events = { fetch_published_script: () => new Response('old') };
    const integration = createIntegration({ events } as object);
    expect(await answerTo(integration, event('fetch_published_script'))).toBe('200 old');
  });

  test('of another type is a fault of the code', async () => {
    const integration = createIntegration({ fetch_published_script: () => 'text' as never });
    const { response, reported } = await call(integration, event('fetch_published_script'));
    expect(response.status).toBe(500);
    expect(String(reported[0])).toContain('must return a Response, got string');
  });
});

test('visitor authentication is the response of its handler, as multipart too', async () => {
  const integration = createIntegration({
    fetch_visitor_authentication: ({ action = 'login' }) => Response.redirect(`https://id.example/${action}`),
  });
  const sent = event('fetch_visitor_authentication', { action: 'logout' });
  const whole = envelope({ event: JSON.stringify(sent), environment: '{}' });
  for (const { response } of [await call(integration, sent), await request(integration, whole)])
    expect([response.status, response.headers.get('location')]).toEqual([302, 'https://id.example/logout']);
});

test('visitor authentication without a response is a fault of the code', async () => {
  const integration = createIntegration({ fetch_visitor_authentication: () => undefined as never });
  expect((await call(integration, event('fetch_visitor_authentication'))).response.status).toBe(500);
});

describe('a task', () => {
  const tasks: unknown[] = [];
  const integration = createIntegration({
    task: ({ task }) => {
      if (task === 'fail') throw new ExposableError('later', 503);
      tasks.push(task);
    },
    events: { task: () => tasks.push('never') } as object,
  });

  test('reaches its handler, which wins over one in `events`, and is answered OK', async () => {
    expect(await answerTo(integration, event('task', { task: { type: 'sync' } }))).toBe('200 OK');
    expect(tasks).toEqual([{ type: 'sync' }]);
  });

  test('whose handler throws has failed', async () => {
    expect(await answerTo(integration, event('task', { task: 'fail' }))).toBe('503 {"error":"later"}');
  });
});

describe('a content source', () => {
  const integration = createIntegration({ contentSources: [source] });

  test('computes what its event asks for', async () => {
    const sent = { sourceId: 'models', props: { title: 'a' } };
    expect(await answerTo(integration, event('content_compute_revision', sent))).toBe('200 {"pages":["a"]}');
    expect(await answerTo(integration, event('content_compute_document', { source: 'models' }))).toBe(
      '200 {}',
    );
  });

  test('that does not exist is 404', async () => {
    expect(await answerTo(integration, event('content_compute_revision', { sourceId: 'x' }))).toBe(
      '404 {"error":"Content source x not found"}',
    );
  });
});

test.each(['fetch_published_script', 'fetch_visitor_authentication', 'task', 'content_compute_revision'])(
  'without a handler, %s is not handled',
  async (type) => {
    expect(await answerTo(createIntegration({}), event(type))).toBe(
      `406 Integration does not handle "${type}" events`,
    );
  },
);

test('the platform learns of every handled event once', () => {
  const integration = createIntegration({
    task() {},
    fetch_published_script: () => undefined,
    contentSources: [source],
    events: { space_view() {}, task() {} } as object,
  });
  expect(offered(integration).events.toSorted()).toEqual([
    'content_compute_document',
    'content_compute_revision',
    'fetch_published_script',
    'space_view',
    'task',
  ]);
});

test.each([
  [{ task: 'x' }, 'task must be a function'],
  [{ contentSources: {} }, 'contentSources must be an array'],
  [{ contentSources: [{}] }, 'contentSources[0] must come from createContentSource()'],
  [{ contentSources: [source, source] }, 'sourceId "models" is used twice'],
])('a wrong definition fails while the script loads', (definition, message) => {
  expect(() => createIntegration(definition as object)).toThrow(`createIntegration: ${message}`);
});

test.each([
  [{ getRevision() {}, getPageDocument() {} }, 'sourceId must be a non-empty string'],
  [{ sourceId: 'a', getRevision() {} }, 'getRevision and getPageDocument of "a" must be functions'],
])('a wrong content source fails while the script loads', (definition, message) => {
  expect(() => createContentSource(definition as never)).toThrow(`createContentSource: ${message}`);
});
