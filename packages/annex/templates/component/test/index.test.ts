import { load } from '@annex/testing';
import { expect, test } from 'vitest';

const app = await load('.');

test('counts its presses', async () => {
  const installation = await app.install();
  const counter = await installation.render('counter');
  await counter.press('Pressed 0 times');
  await counter.press('Pressed 1 times');
  expect(counter.state).toEqual({ count: 2 });
  expect(counter.element.children).toMatchObject([{ type: 'button', label: 'Pressed 2 times' }]);
});
