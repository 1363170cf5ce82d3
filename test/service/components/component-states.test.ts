/**
 * The table of component states, row by row, through a real service
 * (docs/contract/components.md#state).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

const SOURCE = `
import { createComponent, createIntegration } from '@annex/sdk';
const drawn = ({ state, props }) => (
  <block><text>{JSON.stringify([state, props])}</text></block>
);
const action = async (element, { action, ...extra }, context) => {
  switch (action) {
    case 'add': return { state: { ...element.state, ...extra } };
    case 'replace': return { state: extra };
    case 'props': return { props: extra };
    case 'both': return { state: { s: extra.s }, props: { p: extra.p } };
    case 'nothing': return;
    case 'complete': return { type: 'complete', returnValue: { picked: extra.pick } };
    case 'done': return { type: 'complete' };
    default: return {};
  }
};
const component = (componentId, initialState) =>
  createComponent({ componentId, initialState, action, render: async (element) => drawn(element) });
export default createIntegration({
  components: [
    component('function', (props) => ({ from: props })),
    component('async', async (props, where, context) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return { where, id: context.environment.installation.id !== '' };
    }),
    component('object', { s: 1 }),
    component('none'),
    createComponent({ componentId: 'actionless', initialState: { s: 1 }, render: drawn }),
  ],
});
`;

let service: TestService;
let installed: Installed;
beforeAll(async () => {
  service = await TestService.start();
  await service.publish('states', { 'index.tsx': SOURCE });
  installed = await service.install('states');
});
afterAll(() => service.stop());

const render = async (json: object) => {
  const path = `/v1/integrations/states/installations/${installed.id}/render`;
  const { status, body } = await service.api('POST', path, { json });
  expect(body).not.toHaveProperty('error');
  expect(status).toBe(200);
  return body;
};
const element = (state: object, props: object) => ({
  type: 'element',
  state,
  props,
  element: {
    type: 'block',
    children: [{ type: 'text', children: [JSON.stringify([state, props])] }],
  },
});

describe('a component is created: it is drawn with the state that initialState returns', () => {
  test.each([
    ['function', { props: { p: 1 } }, { from: { p: 1 } }, { p: 1 }],
    ['async', { context: { place: 'document' } }, { where: { place: 'document' }, id: true }, {}],
    ['object', {}, { s: 1 }, {}],
    ['none', {}, {}, {}],
  ])('%s', async (componentId, more, state, props) => {
    expect(await render({ componentId, ...more })).toEqual(element(state, props));
  });

  test('or with the state of the request', async () => {
    const sent = { componentId: 'object', state: { sent: true } };
    expect(await render(sent)).toEqual(element({ sent: true }, {}));
  });
});

describe('an action is dispatched', () => {
  const before = { componentId: 'object', state: { a: 1, b: 2 }, props: { p: 1 } };
  test.each([
    [
      'returns a state: that is the state, and it is drawn again',
      { action: 'add', a: 9 },
      { a: 9, b: 2 },
      { p: 1 },
    ],
    [
      'returns a state, which replaces all of the present one',
      { action: 'replace', a: 9 },
      { a: 9 },
      { p: 1 },
    ],
    ['returns props, which replace the present ones', { action: 'props', q: 2 }, { a: 1, b: 2 }, { q: 2 }],
    ['returns both', { action: 'both', s: 1, p: 2 }, { s: 1 }, { p: 2 }],
    [
      'has an unknown name, and the default case changes nothing',
      { action: 'unheard-of' },
      { a: 1, b: 2 },
      { p: 1 },
    ],
    ['returns nothing: no change', { action: 'nothing' }, { a: 1, b: 2 }, { p: 1 }],
  ])('%s', async (_title, action, state, props) => {
    expect(await render({ ...before, action })).toEqual(element(state, props));
  });

  test('without an action handler changes nothing', async () => {
    const sent = { ...before, componentId: 'actionless', action: { action: 'add' } };
    expect(await render(sent)).toEqual(element({ a: 1, b: 2 }, { p: 1 }));
  });

  test('without a state acts on the initial one', async () => {
    const sent = { componentId: 'object', action: { action: 'add', a: 9 } };
    expect(await render(sent)).toEqual(element({ s: 1, a: 9 }, {}));
  });

  test('that completes draws nothing and returns the value', async () => {
    expect(await render({ ...before, action: { action: 'complete', pick: 3 } })).toEqual({
      type: 'complete',
      returnValue: { picked: 3 },
    });
    expect(await render({ ...before, action: { action: 'done' } })).toEqual({ type: 'complete' });
  });
});
