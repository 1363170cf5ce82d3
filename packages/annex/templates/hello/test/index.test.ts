import { expect, test } from 'vitest';
import integration from '../src/index.ts';
import { call, requestEvent } from './call.ts';

test('greets by name', async () => {
  const environment = { integration: { name: '{{name}}' } };
  const answer = await call(integration, requestEvent('GET', 'https://example.com/?name=Ada'), environment);
  expect(await answer.json()).toEqual({ hello: 'Ada', from: '{{name}}' });
});
