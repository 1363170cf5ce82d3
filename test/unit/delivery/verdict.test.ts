/** Life events: what becomes of one after a call for it, how long it waits for the next, and whose turn it is. */
import { describe, expect, test } from 'vitest';
import type { CallResult } from '../../../src/calls/call.ts';
import {
  ATTEMPTS_MAX,
  DELAY_MS_MAX,
  delayMs,
  handlerOutcome,
} from '../../../src/delivery/handler-outcome.ts';
import { LifecycleOrder } from '../../../src/delivery/lifecycle/lifecycle-order.ts';
import { AnnexError, type ErrorCode } from '../../../src/errors.ts';
import { OUTCOMES, type Outcome } from '../../../src/protocol/wire.ts';

const answered = (status: number): CallResult => ({
  outcome: 'ok',
  response: { status, headers: [], body: Buffer.alloc(0) },
});
const refused = (code: ErrorCode, retryAfterS?: number): CallResult => ({
  outcome: 'loadShed',
  refusal: new AnnexError(code, 'No.', retryAfterS === undefined ? {} : { retryAfterS }),
});

describe('an event', () => {
  test.each([
    [200, 'delivered'],
    [204, 'delivered'],
    [299, 'delivered'],
    [301, 'failed'],
    [400, 'failed'],
    [404, 'failed'],
    [406, 'unhandled'],
    [429, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
  ] as const)('that is answered with %i is %s', (status, next) => {
    expect(handlerOutcome(answered(status))).toEqual({ next, outcome: `answered ${status}` });
  });

  // Every word in which a call can end without an answer.
  const WITHOUT_ANSWER: Readonly<Record<Outcome, 'failed' | 'again'>> = {
    ok: 'again',
    exception: 'failed',
    exceededCpu: 'failed',
    exceededMemory: 'failed',
    exceededWallTime: 'failed',
    responseTooLarge: 'failed',
    canceled: 'again',
    loadShed: 'again',
    cellCrashed: 'again',
    internalError: 'again',
  };
  test.each(OUTCOMES)('whose call ends with %s and no answer is told again, or not', (outcome) => {
    expect(handlerOutcome({ outcome })).toMatchObject({ next: WITHOUT_ANSWER[outcome], outcome });
  });

  test.each([
    ['INSTALLATION_COOLING', 40, 40_000],
    ['INSTALLATION_QUARANTINED', 30, 30_000],
    ['CALL_SHED', undefined, 1_000],
    ['SERVICE_STOPPING', undefined, 1_000],
  ] as const)(
    'whose call is refused with %s is told again, when there is use in it',
    (code, afterS, leastMs) => {
      expect(handlerOutcome(refused(code, afterS))).toEqual({ next: 'again', outcome: code, leastMs });
    },
  );

  test('waits a second, then twice as long each time, up to a minute', () => {
    const delays = Array.from({ length: ATTEMPTS_MAX - 1 }, (_, index) => delayMs(index + 1, 0, 0));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('waits a little longer by chance, and no less than there is use in', () => {
    expect([0, 0.5, 1].map((chance) => delayMs(1, 0, chance))).toEqual([1_000, 1_050, 1_100]);
    expect(delayMs(1, 40_000, 0)).toBe(40_000);
    expect(delayMs(8, 40_000, 0)).toBe(DELAY_MS_MAX);
    expect(delayMs(1, 3_600_000, 1)).toBe(66_000);
  });
});

describe('turns', () => {
  /** Takes turns until nobody may be next; each has so many events. */
  function run(turns: LifecycleOrder, events: Map<string, number>, timesMax: number): string[] {
    const order: string[] = [];
    for (let times = 0; times < timesMax; times += 1) {
      const next = turns.next();
      if (next === undefined) break;
      const left = (events.get(next) ?? 0) - 1;
      events.set(next, left);
      order.push(next);
      turns.done(next, left > 0);
    }
    return order;
  }

  test('one with a thousand events does not keep another from its first', () => {
    const turns = new LifecycleOrder(1);
    const events = new Map([
      ['many', 1_000],
      ['few', 2],
      ['one', 1],
    ]);
    for (const id of events.keys()) turns.tell(id);
    expect(run(turns, events, 7)).toEqual(['many', 'few', 'one', 'many', 'few', 'many', 'many']);
  });

  test('one event of an installation at a time, and no more installations than may be under way', () => {
    const turns = new LifecycleOrder(2);
    for (const id of ['a', 'b', 'c', 'a']) turns.tell(id);
    expect([turns.next(), turns.next(), turns.next()]).toEqual(['a', 'b', undefined]);
    turns.tell('a');
    turns.done('b', false);
    expect([turns.next(), turns.next()]).toEqual(['c', undefined]);
    expect(turns.busy).toBe(2);
  });

  test('news that comes while the store is asked for the next event is not lost', () => {
    const turns = new LifecycleOrder(1);
    turns.tell('a');
    turns.next();
    turns.tell('a');
    turns.done('a', false);
    expect(turns.next()).toBe('a');
    turns.done('a', false);
    expect(turns.next()).toBeUndefined();
  });

  test('one of which there was news while its event failed does not rest before that is looked at', () => {
    const turns = new LifecycleOrder(1);
    turns.tell('a');
    turns.next();
    turns.tell('a');
    turns.rest('a', 100);
    expect(turns.next()).toBe('a');
    turns.rest('a', 100);
    expect(turns.next()).toBeUndefined();
  });

  test('one that rests is not woken before its time, unless there is news of it', () => {
    const turns = new LifecycleOrder(2);
    turns.tell('a');
    turns.tell('b');
    turns.next();
    turns.next();
    turns.rest('a', 100);
    turns.rest('b', 250);
    expect(turns.wake(99)).toBe(100);
    expect(turns.next()).toBeUndefined();
    expect(turns.wake(100)).toBe(250);
    expect([turns.next(), turns.next()]).toEqual(['a', undefined]);
    turns.rest('a', 300);
    turns.tell('b');
    expect([turns.next(), turns.next()]).toEqual(['b', undefined]);
    expect(turns.wake(299)).toBe(300);
  });

  // Attack: a hundred installations of one publisher's, whose handlers take all their time.
  test('those of one owner have so many seats, and whoever waits for one keeps nobody of another waiting', () => {
    const turns = new LifecycleOrder(4, 2);
    const owners: Readonly<Record<string, string>> = { good: 'other' };
    const sits = (id: string | undefined) => id !== undefined && turns.sit(id, owners[id] ?? 'slow');
    for (const id of ['s1', 's2', 's3', 's4', 's5', 'good']) turns.tell(id);
    const began: string[] = [];
    const begin = () => {
      for (let id = turns.next(); id !== undefined; id = turns.next()) if (sits(id)) began.push(id);
    };
    begin();
    expect(began).toEqual(['s1', 's2', 'good']);
    // News of one that waits for a seat does not have it told twice at once, and loses it neither.
    turns.tell('s3');
    expect(turns.next()).toBeUndefined();
    turns.done('s1', false);
    turns.tell('s3');
    begin();
    expect(began).toEqual(['s1', 's2', 'good', 's3']);
    // One that has nothing to hear after all leaves its seat to the next, and so does one that rests.
    turns.done('s3', false);
    expect(turns.next()).toBe('s4');
    turns.done('s4', false);
    begin();
    expect(began.at(-1)).toBe('s5');
    turns.tell('s6');
    begin();
    expect(began).not.toContain('s6');
    turns.rest('s2', 100);
    begin();
    expect(began.at(-1)).toBe('s6');
  });

  test('in any order of what happens, no seat is lost and none is taken twice', () => {
    const turns = new LifecycleOrder(5, 2);
    const ids = Array.from({ length: 40 }, (_, index) => `${index}`);
    const ownerOf = (id: string) => `owner ${Number(id) % 3}`;
    const left = new Map(ids.map((id) => [id, 5]));
    const busy: string[] = [];
    for (const id of ids) turns.tell(id);
    // A walk that is the same each time.
    for (let step = 0, seed = 7; step < 5_000; step += 1) {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      const any = ids[seed % ids.length] ?? '';
      if (seed % 7 === 0) turns.tell(any);
      if (seed % 11 === 0) turns.wake(step);
      const next = turns.next();
      if (next !== undefined) {
        expect(busy).not.toContain(next);
        if ((left.get(next) ?? 0) === 0) turns.done(next, false);
        else if (turns.sit(next, ownerOf(next))) busy.push(next);
      }
      for (const owner of ['owner 0', 'owner 1', 'owner 2'])
        expect(busy.filter((id) => ownerOf(id) === owner).length).toBeLessThanOrEqual(2);
      if (busy.length < 3 && next !== undefined) continue;
      const [ended] = busy.splice(seed % Math.max(1, busy.length), 1);
      if (ended === undefined) continue;
      if (seed % 5 === 0) turns.rest(ended, step + 10);
      else {
        left.set(ended, (left.get(ended) ?? 0) - 1);
        turns.done(ended, true);
      }
    }
    expect([...left.values()].every((events) => events === 0)).toBe(true);
  });
});
