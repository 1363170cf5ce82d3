/** A component that is shown, without a page: queue, client state, cache and slices. */
import { describe, expect, test } from 'vitest';
import { readTree } from '../../../packages/components/src/drawing/drawn-tree.ts';
import { LIMITS, SLICE } from '../../../packages/components/src/limits.ts';
import { AnswerCache, freshMs } from '../../../packages/components/src/session/answer-cache.ts';
import { ClientState } from '../../../packages/components/src/session/client-state.ts';
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
  const adopt = (client: ClientState, since: number, ...children: unknown[]) => {
    const tree = readTree(block(...children));
    if (tree === undefined) throw new Error('No tree.');
    client.adopt(tree, since);
  };

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
    adopt(client, 0, ...children);
    expect(client.peek('s')).toEqual(value);
  });

  test('keeps what the user enters, also where the same drawing comes again', () => {
    const client = new ClientState();
    adopt(client, 0, field('s', 'a'));
    client.enter('s', 'typed');
    adopt(client, client.edits, field('s', 'a'));
    expect(client.peek('s')).toBe('typed');
  });

  test('takes an initial value that has changed, unless the user has gone on meanwhile', () => {
    const client = new ClientState();
    adopt(client, 0, field('s', 'a'));
    const since = client.edits;
    adopt(client, since, field('s', 'b'));
    expect(client.peek('s')).toBe('b');
    client.enter('s', 'typed');
    adopt(client, since, field('s', 'c'));
    expect(client.peek('s')).toBe('typed');
  });

  test('has a bounded number of names, and those of the present drawing go first', () => {
    const client = new ClientState();
    const names = (prefix: string) =>
      Array.from({ length: 6_000 }, (_, index) => field(`${prefix}${index}`, 'x'));
    adopt(client, 0, ...names('a'));
    adopt(client, 0, ...names('b'));
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
