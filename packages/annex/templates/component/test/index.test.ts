import { expect, test } from 'vitest';
import integration from '../src/index.tsx';
import { call } from './call.ts';

const rendering = { type: 'ui_render', componentId: 'counter', props: {} };

test('is drawn with no presses', async () => {
  const answer = await call(integration, rendering);
  expect(await answer.json()).toMatchObject({
    state: { count: 0 },
    element: { type: 'block', children: [{ type: 'button', label: 'Pressed 0 times' }] },
  });
});

test('counts a press', async () => {
  const press = { ...rendering, state: { count: 1 }, action: { action: 'increment' } };
  expect(await (await call(integration, press)).json()).toMatchObject({ state: { count: 2 } });
});
