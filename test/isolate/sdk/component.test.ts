/**
 * Components: from state and action to the next state and an element
 * (docs/contract/components.md#state).
 */
import { describe, expect, test } from 'vitest';
import {
  type ComponentDefinition,
  createComponent,
  createIntegration,
  type Integration,
  type IntegrationDefinition,
} from '../../../sandbox/sdk/index.ts';
import { Fragment, jsx, jsxs } from '../../../sandbox/sdk/jsx-runtime.ts';
import { fixture, runScript, scriptOf } from '../../support/bundle/uploaded.ts';
import { call, offered } from '../../support/sdk/integration-call.ts';

type Definition = Partial<
  ComponentDefinition<Record<string, unknown>, Record<string, unknown>, { action: string }, {}>
>;

const withComponent = (definition: Definition, events: IntegrationDefinition['events'] = {}): Integration =>
  createIntegration({
    components: [
      createComponent({
        componentId: 'c',
        render: ({ state, props }) => ({ type: 'drawn', state, props }),
        ...definition,
      }),
    ],
    events,
  });
const render = (extra: object = {}) => ({
  eventId: 'evt_1',
  type: 'ui_render',
  componentId: 'c',
  props: { p: 1 },
  context: { place: 'document' },
  ...extra,
});
const answer = async (integration: Integration, event: object) =>
  JSON.parse((await call(integration, event)).text);

describe('the state', () => {
  test("is the event's, if it has one", async () => {
    const integration = withComponent({ initialState: { s: 'initial' } });
    expect(await answer(integration, render({ state: { s: 'sent' } }))).toEqual({
      type: 'element',
      state: { s: 'sent' },
      props: { p: 1 },
      element: { type: 'drawn', state: { s: 'sent' }, props: { p: 1 } },
    });
  });

  test('otherwise the result of initialState for props, render context and context', async () => {
    const initialState: Definition['initialState'] = (props, place, context) => ({
      props,
      place,
      id: context.environment.installation?.id,
    });
    expect((await answer(withComponent({ initialState }), render())).state).toEqual({
      props: { p: 1 },
      place: { place: 'document' },
      id: 'inst_1',
    });
    expect((await answer(withComponent({ initialState: async () => ({ s: 1 }) }), render())).state).toEqual({
      s: 1,
    });
  });

  test('otherwise initialState itself, otherwise an empty object', async () => {
    expect((await answer(withComponent({ initialState: { s: 1 } }), render())).state).toEqual({ s: 1 });
    expect((await answer(withComponent({}), render())).state).toEqual({});
  });
});

describe('an action', () => {
  const act = (result: unknown) => answer(withComponent({ action: () => result as never }), ACTION);
  const ACTION = render({ state: { a: 1, b: 2 }, action: { action: 'press', extra: 3 } });

  test('replaces state and props by its result, and the component is rendered', async () => {
    expect(await act({ state: { a: 9 } })).toMatchObject({ state: { a: 9 }, element: { state: { a: 9 } } });
    expect((await act({ state: { a: 9 } })).state).not.toHaveProperty('b');
    expect(await act({ props: { q: 2 } })).toMatchObject({ props: { q: 2 }, state: { a: 1, b: 2 } });
    expect((await act({ props: { q: 2 } })).props).not.toHaveProperty('p');
  });

  test.each([{}, undefined])('that returns %j changes nothing', async (result) => {
    expect(await act(result)).toMatchObject({ state: { a: 1, b: 2 }, props: { p: 1 } });
  });

  test('sees the element and all of the action', async () => {
    let seen: unknown;
    const action: Definition['action'] = (element, received) => {
      seen = [element.state, element.props, element.context, received];
    };
    await call(withComponent({ action }), ACTION);
    expect(seen).toEqual([{ a: 1, b: 2 }, { p: 1 }, { place: 'document' }, { action: 'press', extra: 3 }]);
  });

  test('may complete, and nothing is rendered', async () => {
    const complete = { type: 'complete', returnValue: { picked: 1 } };
    const integration = withComponent({
      action: () => complete as never,
      render: () => {
        throw new Error('drawn');
      },
    });
    expect(await answer(integration, ACTION)).toEqual(complete);
  });

  test('that throws is 500', async () => {
    const { response } = await call(withComponent({ action: () => Promise.reject(new Error('x')) }), ACTION);
    expect(response.status).toBe(500);
  });
});

test('setCache becomes Cache-Control, and without it there is none', async () => {
  const cached = withComponent({
    render: (element) => {
      element.setCache({ maxAge: 60 });
      return { type: 'block' };
    },
  });
  expect((await call(cached, render())).response.headers.get('cache-control')).toBe('max-age=60');
  const { response } = await call(withComponent({}), render());
  expect(response.headers.get('cache-control')).toBeNull();
  expect(response.headers.get('content-type')).toBe('application/json');
});

test('dynamicState stands for a value of client state', async () => {
  const integration = withComponent({
    render: (element) => ({ type: 'button', label: element.dynamicState('name') }),
  });
  expect((await answer(integration, render())).element).toEqual({
    type: 'button',
    label: { $state: 'name' },
  });
});

test('props and context that are not sent are empty', async () => {
  const integration = withComponent({
    render: ({ props, context }) => ({ type: 'drawn', props, context }),
  });
  const event = { type: 'ui_render', componentId: 'c' };
  expect(await answer(integration, event)).toMatchObject({ props: {}, element: { props: {}, context: {} } });
});

describe('an invalid result of a component is 500, and the error names the fault, with the stack of the definition', () => {
  const draw = (result: unknown): Definition => ({ render: () => result as never });
  const act = (result: unknown): Definition => ({ action: () => result as never });
  test.each<[Definition, string]>([
    [draw(undefined), 'render must return an element, not nothing'],
    [draw(null), 'render must return an element, not nothing'],
    [draw('text'), 'render must return an element, not a string'],
    [draw([]), 'render must return an element, not a list: put one element around it'],
    [draw({}), 'render must return an element, not an object without a type'],
    [{ initialState: (() => 5) as never }, 'initialState must be an object or make one, not a number'],
    [act('text'), 'action must return an object or nothing, not a string'],
    [act({ stat: {}, prop: {} }), 'action returned "stat", "prop"; a result has state and props'],
    [act({ type: 'done' }), 'action returned a type that is not "complete": "done"'],
    [act({ type: 'complete', value: 1 }), 'action returned "value"; complete has returnValue'],
    [act({ state: [] }), 'action returned a state that is a list'],
    [act({ props: 'a' }), 'action returned a props that is a string'],
  ])('%#: %s', async (definition, complaint) => {
    const event = render({ action: { action: 'press' } });
    const { response, reported } = await call(withComponent(definition), event);
    expect(response.status).toBe(500);
    const error = reported[0] as Error;
    expect(error.message).toContain(`Component "c": ${complaint}`);
    expect(error.stack).toMatch(/^TypeError: Component "c"[^\n]*\n +at withComponent .*component\.test/);
  });

  test.each([-1, 1.5, Number.NaN, 31_536_001, '60', undefined])('setCache of %s', async (maxAge) => {
    const integration = withComponent({
      render: (element) => {
        element.setCache({ maxAge: maxAge as number });
        return { type: 'block' };
      },
    });
    const { response, reported } = await call(integration, render());
    expect(response.status).toBe(500);
    expect(String(reported[0])).toMatch(/^RangeError: setCache: maxAge must be a whole number of seconds/);
  });
});

test.each(['unknown', '__proto__', 'toString'])('a component %s is 404', async (componentId) => {
  const { response, text } = await call(withComponent({}), render({ componentId }));
  expect([response.status, text]).toEqual([404, `Component ${componentId} not found`]);
  expect(response.headers.get('x-known-components')).toBe('c');
});

test('events.ui_render runs after, and the answer does not wait for it', async () => {
  const gate = Promise.withResolvers<void>();
  const integration = withComponent({}, { ui_render: () => gate.promise });
  const waiting: Promise<unknown>[] = [];
  const response = await offered(integration).handle(
    { event: render(), environment: {}, body: undefined },
    { waitUntil: (promise) => waiting.push(promise) },
  );
  expect([response.status, waiting.length]).toEqual([200, 1]);
  gate.resolve();
  await Promise.all(waiting);
});

test('events.ui_render receives renderings only, without the action', async () => {
  const received: object[] = [];
  const action: Definition['action'] = (_element, { action: name }) =>
    name === 'done' ? { type: 'complete' as const } : { state: { s: 2 } };
  const integration = withComponent({ action }, { ui_render: (event) => void received.push(event) });
  const pressed = (name: string) => render({ action: { action: name, secret: 'typed' } });
  await call(integration, render());
  await call(integration, pressed('more'));
  await call(integration, pressed('done'));
  await call(
    withComponent(
      {
        render: () => {
          throw new Error('broken');
        },
      },
      { ui_render: (event) => void received.push(event) },
    ),
    render(),
  );
  expect(received).toEqual([render(), render()]);
});

test('events.ui_render that fails is reported and changes no answer', async () => {
  const error = new Error('late');
  const integration = withComponent({}, { ui_render: () => Promise.reject(error) });
  const { response, reported } = await call(integration, render());
  expect([response.status, reported]).toEqual([200, [error]]);
});

test.each([
  [{ componentId: '', render() {} }, /componentId must be a non-empty string/],
  [{ render() {} }, /componentId must be a non-empty string/],
  [{ componentId: 'a' }, /render of "a" must be a function/],
  [{ componentId: 'a', render() {}, action: {} }, /action of "a" must be a function/],
])('a wrong definition is a TypeError: %j', (definition, message) => {
  expect(() => createComponent(definition as never)).toThrow(message);
});

describe('JSX', () => {
  test('makes plain elements; only an element with children has a list of them', () => {
    expect(jsx('divider', { size: 'small' })).toEqual({ type: 'divider', size: 'small' });
    expect(jsx('text', { children: 'a' })).toEqual({ type: 'text', children: ['a'] });
    expect(jsx('block', { children: false })).toEqual({ type: 'block', children: [] });
  });

  test('flattens lists and fragments, drops empty values, and writes numbers as text', () => {
    const fragment = jsx(Fragment as never, { children: ['b', ['c', null]] });
    const list = ['a', [fragment, [undefined, true, [0]]], false, '', 1n];
    expect(jsxs('text', { children: list })).toEqual({
      type: 'text',
      children: ['a', 'b', 'c', '0', '', '1'],
    });
  });

  test('runs function components with their props', () => {
    const Greeting = ({ name, children }: Record<string, unknown>) => [`Hello ${name}`, children as string];
    expect(jsx('text', { children: jsx(Greeting, { name: 'Ada', children: '!' }) })).toEqual({
      type: 'text',
      children: ['Hello Ada', '!'],
    });
  });

  test.each([
    [
      () => jsx('block', { children: Promise.resolve() }),
      /a child of <block> is a promise \(await it first\)/,
    ],
    [() => jsx('block', { children: () => {} }), /is of type function/],
    [() => jsx('block', { children: { text: 'x' } }), /is of type object/],
    [() => jsx(undefined as never, {}), /element type is undefined/],
  ])('refuses values that cannot be drawn', (draw, message) => {
    expect(draw).toThrow(message);
  });
});

test('the example counter counts', async () => {
  const counter = await runScript<Integration>(await scriptOf(fixture('counter'), 'src/index.tsx'));
  const drawn = (count: number) => ({
    type: 'element',
    state: { count },
    props: {},
    element: {
      type: 'block',
      children: [{ type: 'button', label: `Pressed ${count} times`, onPress: { action: 'increment' } }],
    },
  });
  const event = (extra: object) => render({ componentId: 'counter', props: {}, ...extra });
  expect(await answer(counter, event({}))).toEqual(drawn(0));
  expect(await answer(counter, event({ state: { count: 4 }, action: { action: 'increment' } }))).toEqual(
    drawn(5),
  );
  expect(await answer(counter, event({ state: { count: 4 }, action: { action: 'unknown' } }))).toEqual(
    drawn(4),
  );
});
