import { load } from '@annex/testing';
import { expect, test } from 'vitest';

const app = await load('.');

test('greets by name', async () => {
  const installation = await app.install();
  const answer = await installation.fetch('/?name=Ada');
  expect(await answer.json()).toEqual({ hello: 'Ada', from: '{{name}}' });
  expect(installation.logs).toMatchObject([{ level: 'info', text: "greeting { name: 'Ada' }" }]);
});
