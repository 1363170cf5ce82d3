/** A component that is shown, without a page: queue, client state, cache and slices. */
import { describe, expect, test } from 'vitest';
import { readTree } from '../../../packages/components/src/drawing/drawn-tree.ts';
import { LIMITS, SLICE } from '../../../packages/components/src/limits.ts';
import { AnswerCache, freshMs } from '../../../packages/components/src/session/answer-cache.ts';
import { ClientState, type Entered } from '../../../packages/components/src/session/client-state.ts';
import { ComponentSession } from '../../../packages/components/src/session/component-session.ts';
import { Slices } from '../../../packages/components/src/session/slices.ts';
import type { RenderAnswer, RenderRequest } from '../../../packages/components/src/transport.ts';
import { WORDS } from '../../../packages/components/src/words.ts';

const block = (...children: unknown[]) => ({ type: 'block', children });
const drawn = (state: object, element: object = block()): RenderAnswer => ({
  status: 200,
  body: { type: 'element', state, props: {}, element },
});
const CLOCK = { now: () => 0, turn: async () => {} };

/** A session, the requests that it has sent, and an answer for the one that waits. */
function started() {
  const requests: RenderRequest[] = [];
  const waiting: ((answer: RenderAnswer) => void)[] = [];
  const completed: unknown[] = [];
  const session = new ComponentSession({
    componentId: 'c',
    props: { p: 1 },
    context: undefined,
    transport: (request) => {
      requests.push(request);
      return new Promise((resolve) => waiting.push(resolve));
    },
    cache: new AnswerCache(() => 0),
    clock: CLOCK,
    words: WORDS,
    onComplete: (value) => completed.push(value),
    onDrawn: () => {},
    onFailure: () => {},
  });
  session.start();
  const answer = async (given: RenderAnswer) => {
    waiting.shift()?.(given);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { session, requests, completed, answer };
}

describe('a session', () => {
  test('sends an action with the state that the one before it has left', async () => {
    const { session, requests, answer } = started();
    session.dispatch('/0', { action: 'one' });
    session.dispatch('/1', { action: 'two' });
    expect(requests).toEqual([{ componentId: 'c', props: { p: 1 } }]);
    await answer(drawn({ n: 0 }));
    expect(requests.at(-1)).toEqual({
      componentId: 'c',
      props: {},
      state: { n: 0 },
      action: { action: 'one' },
    });
    expect([...session.busy.value]).toEqual(['/0', '/1']);
    await answer(drawn({ n: 1 }));
    expect(requests.at(-1)).toMatchObject({ state: { n: 1 }, action: { action: 'two' } });
    await answer(drawn({ n: 2 }));
    expect(session.busy.value.size).toBe(0);
  });

  test('goes on after a failure, which can be repeated', async () => {
    const { session, requests, answer } = started();
    await answer(drawn({ n: 0 }));
    session.dispatch('/0', { action: 'one' });
    session.dispatch('/1', { action: 'two' });
    await answer({ status: 502, body: { error: { code: 'RENDER_FAILED', message: 'It broke.' } } });
    expect(session.failures.value.get('/0')).toMatchObject({ message: 'It broke.', code: 'RENDER_FAILED' });
    await answer(drawn({ n: 2 }));
    session.failures.value.get('/0')?.retry?.();
    expect(session.failures.value.size).toBe(0);
    expect(requests.at(-1)).toMatchObject({ state: { n: 2 }, action: { action: 'one' } });
  });

  test('lets a number of actions wait, and refuses more', () => {
    const { session } = started();
    for (let count = 0; count < LIMITS.waitingActions; count += 1) session.dispatch('/0', { action: 'a' });
    expect(session.failures.value.size).toBe(0);
    session.dispatch('/1', { action: 'a' });
    expect(session.failures.value.get('/1')?.code).toBe('TOO_MANY_ACTIONS');
  });

  test('that completes sends nothing more', async () => {
    const { session, requests, completed, answer } = started();
    session.dispatch('/0', { action: 'a' });
    await answer({ status: 200, body: { type: 'complete', returnValue: 7 } });
    session.dispatch('/0', { action: 'a' });
    expect(completed).toEqual([7]);
    expect(requests).toHaveLength(1);
  });
});

describe('client state', () => {
  const field = (state: string, initialValue?: unknown) => ({ type: 'textinput', state, initialValue });
  const box = (state: string, value: string, initialValue?: unknown) => ({
    type: 'checkbox',
    state,
    value,
    initialValue,
  });
  /** A drawing, with the state that the code answers to what it was sent. */
  const adoptWith = (client: ClientState, state: object, sent: Entered, ...children: unknown[]) => {
    const tree = readTree(block(...children));
    if (tree === undefined) throw new Error('No tree.');
    client.adopt(tree, { ...state }, sent);
  };
  const adopt = (client: ClientState, ...children: unknown[]) =>
    adoptWith(client, {}, client.entered, ...children);

  test.each([
    ['a field', [field('s', 'a')], 'a'],
    ['a field without a value', [field('s')], ''],
    ['a switch', [{ type: 'switch', state: 's' }], false],
    [
      'radio buttons',
      [
        { type: 'radio', state: 's', value: 1, initialValue: 1 },
        { type: 'radio', state: 's', value: 2 },
      ],
      1,
    ],
    ['radio buttons without a value', [{ type: 'radio', state: 's', value: 1 }], undefined],
    ['one checkbox', [box('s', 'a', true)], true],
    ['one checkbox with a list', [box('s', 'a', ['a'])], ['a']],
    ['checkboxes', [box('s', 'a', true), box('s', 'b'), box('s', 'c', true)], ['a', 'c']],
    ['code', [{ type: 'codeblock', state: 's', content: 'x' }], 'x'],
    ['a field in an input', [{ type: 'input', label: 'L', element: field('s', 'a') }], 'a'],
  ])('begins with the initial value of %s', (_name, children, value) => {
    const client = new ClientState();
    adopt(client, ...children);
    expect(client.peek('s')).toEqual(value);
  });

  test('keeps what the user enters, also where the same drawing comes again', () => {
    const client = new ClientState();
    adopt(client, field('s', 'a'));
    client.enter('s', 'typed');
    adopt(client, field('s', 'a'));
    expect(client.peek('s')).toBe('typed');
  });

  test('takes an initial value that has changed, unless the user has gone on meanwhile', () => {
    const client = new ClientState();
    adopt(client, field('s', 'a'));
    const sent = client.entered;
    adopt(client, field('s', 'b'));
    expect(client.peek('s')).toBe('b');
    client.enter('s', 'typed');
    adoptWith(client, {}, sent, field('s', 'c'));
    expect(client.peek('s')).toBe('typed');
  });

  const LIST = { type: 'select', state: 's', options: [{ id: 'a', label: 'A' }] };
  test.each([
    ['a field, over its initial value', [field('s', 'a')], 'b', 'b'],
    ['a field, from a number', [field('s')], 7, 7],
    ['a field, but what is null is not there', [field('s', 'a')], null, 'a'],
    ['a select', [LIST], 'a', 'a'],
    ['a select of several', [{ ...LIST, multiple: true }], ['a'], ['a']],
    ['a switch', [{ type: 'switch', state: 's' }], true, true],
    ['radio buttons', [{ type: 'radio', state: 's', value: 1, initialValue: 1 }], 2, 2],
    ['one checkbox', [box('s', 'a')], true, true],
    ['one checkbox, a list', [box('s', 'a')], ['a'], ['a']],
    ['checkboxes', [box('s', 'a', true), box('s', 'b')], ['b'], ['b']],
    ['code', [{ type: 'codeblock', state: 's', content: 'x' }], 'y', 'y'],
    ['a field in an input', [{ type: 'input', label: 'L', element: field('s', 'a') }], 'b', 'b'],
    ['a field named as a member of all objects', [field('constructor')], undefined, undefined],
    // What the field cannot show is sent back as it came, until the user enters a value.
    ['a field that cannot show it', [field('s', 'a')], { id: 'b' }, undefined],
    ['a switch that cannot show it', [{ type: 'switch', state: 's' }], 'on', undefined],
    ['checkboxes that cannot show it', [box('s', 'a'), box('s', 'b')], true, undefined],
  ])('begins with the state of the name: %s', (_name, children, state, value) => {
    const client = new ClientState();
    adoptWith(client, { s: state }, client.entered, ...children);
    expect(client.entered.values['s']).toEqual(value);
  });

  test('follows what the code sets, and keeps what it only sends back', () => {
    const client = new ClientState();
    adoptWith(client, { s: '' }, client.entered, field('s'));
    client.enter('s', 'typed');
    expect(client.entered.values).toEqual({ s: 'typed' });
    adoptWith(client, { s: 'typed' }, client.entered, field('s'));
    adoptWith(client, {}, client.entered, field('s'));
    expect(client.peek('s')).toBe('typed');
    for (const [set, shown] of [
      ['set', 'set'],
      ['', ''],
      [null, ''],
    ]) {
      client.enter('s', 'typed');
      adoptWith(client, { s: set }, client.entered, field('s'));
      expect(client.peek('s')).toBe(shown);
    }
  });

  test('follows neither while the user goes on, or composes characters', () => {
    const client = new ClientState();
    adoptWith(client, { s: '' }, client.entered, field('s'));
    const sent = client.entered;
    client.enter('s', 'typed meanwhile');
    adoptWith(client, { s: 'set' }, sent, field('s'));
    expect(client.peek('s')).toBe('typed meanwhile');
    client.compose('s');
    adoptWith(client, { s: 'set' }, client.entered, field('s'));
    expect(client.peek('s')).toBe('typed meanwhile');
    client.compose(undefined);
    adoptWith(client, { s: 'set' }, client.entered, field('s'));
    expect(client.peek('s')).toBe('set');
  });

  test('a field that comes back begins with the state, else with what it had', () => {
    const client = new ClientState();
    adopt(client, field('s'));
    client.enter('s', 'typed');
    adopt(client);
    expect(client.entered.values).toEqual({});
    adopt(client, field('s'));
    expect(client.peek('s')).toBe('typed');
    adopt(client);
    adoptWith(client, { s: 'set' }, client.entered, field('s'));
    expect(client.peek('s')).toBe('set');
  });

  test('a binding is the field that is shown, else the state', () => {
    const client = new ClientState();
    adoptWith(client, { s: 'of the state', other: [1] }, client.entered);
    expect(client.resolve([{ $state: 's' }, { $state: 'other' }, { $state: 'toString' }])).toEqual([
      'of the state',
      [1],
      null,
    ]);
    adoptWith(client, { s: 'of the state' }, client.entered, field('s'));
    client.enter('s', 'typed');
    expect(client.resolve({ $state: 's' })).toBe('typed');
  });

  test('is sent with the values at the press, and what drawings have set since', async () => {
    const { session, requests, answer } = started();
    const count = block(field('count'), field('note'));
    await answer(drawn({ count: 0, own: 1 }, count));
    session.client.enter('note', 'pressed');
    session.dispatch('/0', { action: 'one' });
    session.dispatch('/0', { action: 'two' });
    session.client.enter('note', 'later');
    expect(requests.at(-1)?.state).toEqual({ count: 0, own: 1, note: 'pressed' });
    await answer(drawn({ count: 1, own: 2, note: 'pressed' }, count));
    expect(requests.at(-1)?.state).toEqual({ count: 1, own: 2, note: 'pressed' });
    await answer(drawn({ count: 2, own: 3, note: '' }, count));
    expect(session.client.peek('note')).toBe('later');
    expect(session.client.peek('count')).toBe(2);
  });

  test('of a refused action is sent anew as it is when the user tries again', async () => {
    const { session, requests, answer } = started();
    await answer(drawn({}, block(field('name'))));
    session.dispatch('/0', { action: 'save' });
    await answer({ status: 400, body: { error: { code: 'RENDER_REFUSED', message: 'Give it a name.' } } });
    session.client.enter('name', 'Ada');
    session.failures.value.get('/0')?.retry?.();
    expect(requests.at(-1)).toMatchObject({ state: { name: 'Ada' }, action: { action: 'save' } });
  });

  test('of a field named as the prototype is a member like any other', () => {
    const client = new ClientState();
    adopt(client, field('__proto__'));
    client.enter('__proto__', 'typed');
    expect(Object.entries(client.entered.values)).toEqual([['__proto__', 'typed']]);
    expect(Object.getPrototypeOf({ ...{ own: 1 }, ...client.entered.values })).toBe(Object.prototype);
  });

  test('has a bounded number of names, and those of the present drawing go first', () => {
    const client = new ClientState();
    const names = (prefix: string) =>
      Array.from({ length: 6_000 }, (_, index) => field(`${prefix}${index}`, 'x'));
    adopt(client, ...names('a'));
    adopt(client, ...names('b'));
    expect(client.peek('a0')).toBeUndefined();
    expect(client.peek(`b${LIMITS.stateKeys - 1}`)).toBe('x');
    expect(client.peek(`b${LIMITS.stateKeys}`)).toBeUndefined();
  });
});

describe('answers', () => {
  const answer = (cacheControl: string | undefined, status = 200): RenderAnswer => ({
    ...{ status, body: {} },
    ...(cacheControl !== undefined && { cacheControl }),
  });

  test.each([
    ['max-age=60', 60_000],
    ['private, max-age=1', 1_000],
    ['max-age=0', 0],
    ['no-store, max-age=60', 0],
    ['x-max-age=60', 0],
    [undefined, 0],
    ['max-age=999999999', 86_400_000],
  ])('with %j are fresh for %i ms', (cacheControl, ms) => {
    expect(freshMs(answer(cacheControl))).toBe(ms);
  });

  test('of failures and of actions are not cached, and others until their age', async () => {
    let now = 0;
    let asked = 0;
    const cache = new AnswerCache(() => now);
    const ask = (request: object, given = answer('max-age=1')) =>
      cache.ask(
        { componentId: 'c', props: {}, ...request },
        async () => {
          asked += 1;
          return given;
        },
        new AbortController().signal,
      );
    await ask({});
    await ask({});
    expect(asked).toBe(1);
    await ask({ props: { other: 1 } }, answer('max-age=1', 500));
    await ask({ props: { other: 1 } });
    expect(asked).toBe(3);
    await ask({ action: { action: 'a' } });
    await ask({ action: { action: 'a' } });
    expect(asked).toBe(5);
    now = 1_000;
    await ask({});
    expect(asked).toBe(6);
  });
});

describe('slices', () => {
  /** @param ms that each slice takes */
  const reveal = async (cost: number, ms: number) => {
    let now = 0;
    const shown: number[] = [];
    const slices = new Slices({
      now: () => now,
      turn: async () => {
        shown.push(slices.revealed.peek());
        now += ms;
      },
    });
    return { count: await slices.reveal(cost), shown, end: slices.revealed.peek() };
  };

  test('a small drawing is one slice', async () => {
    expect(await reveal(SLICE.cost, 0)).toEqual({ count: 1, shown: [], end: Number.POSITIVE_INFINITY });
  });

  test('a large one is several, smaller where they take long and larger where they are short', async () => {
    const usual = await reveal(500, (SLICE.shortMs + SLICE.longMs) / 2);
    expect(usual).toMatchObject({ count: 10, shown: [50, 100, 150, 200, 250, 300, 350, 400, 450] });
    expect((await reveal(1_500, 0)).count).toBe(11);
    expect((await reveal(500, 1_000)).count).toBeGreaterThan(30);
  });

  test('a newer drawing ends the one that is revealed', async () => {
    const turns: (() => void)[] = [];
    const slices = new Slices({ now: () => 0, turn: () => new Promise((resolve) => turns.push(resolve)) });
    const first = slices.reveal(100_000);
    const second = slices.reveal(1);
    for (const turn of turns) turn();
    expect(await second).toBe(1);
    expect(await first).toBe(1);
    expect(turns).toHaveLength(1);
  });
});
