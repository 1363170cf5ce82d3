/**
 * Turns of installations with lifecycle events: round-robin, one event at a time, seats per owner.
 */
import { expect, test } from 'vitest';
import { LifecycleOrder } from '../../../src/host/delivery/lifecycle/lifecycle-order.ts';

/** Takes turns until no installation may be next. @param events how many each has */
function run(order: LifecycleOrder, events: Map<string, number>, timesMax: number): string[] {
  const turns: string[] = [];
  for (let times = 0; times < timesMax; times += 1) {
    const next = order.next();
    if (next === undefined) break;
    const left = (events.get(next) ?? 0) - 1;
    events.set(next, left);
    turns.push(next);
    order.done(next, left > 0);
  }
  return turns;
}

test('an installation with a thousand events does not delay the first of another', () => {
  const order = new LifecycleOrder(1);
  const events = new Map([
    ['many', 1_000],
    ['few', 2],
    ['one', 1],
  ]);
  for (const id of events.keys()) order.add(id);
  expect(run(order, events, 7)).toEqual(['many', 'few', 'one', 'many', 'few', 'many', 'many']);
});

test('one event of an installation at a time, and no more installations than may be in flight', () => {
  const order = new LifecycleOrder(2);
  for (const id of ['a', 'b', 'c', 'a']) order.add(id);
  expect([order.next(), order.next(), order.next()]).toEqual(['a', 'b', undefined]);
  order.add('a');
  order.done('b', false);
  expect([order.next(), order.next()]).toEqual(['c', undefined]);
  expect(order.busy).toBe(2);
});

test('an installation that is added during its turn has another turn', () => {
  const order = new LifecycleOrder(1);
  order.add('a');
  order.next();
  order.add('a');
  order.done('a', false);
  expect(order.next()).toBe('a');
  order.done('a', false);
  expect(order.next()).toBeUndefined();
});

test('an installation that is added while its event fails does not back off', () => {
  const order = new LifecycleOrder(1);
  order.add('a');
  order.next();
  order.add('a');
  order.backOff('a', 100);
  expect(order.next()).toBe('a');
  order.backOff('a', 100);
  expect(order.next()).toBeUndefined();
});

test('a back-off ends at its time, or when the installation is added', () => {
  const order = new LifecycleOrder(2);
  order.add('a');
  order.add('b');
  order.next();
  order.next();
  order.backOff('a', 100);
  order.backOff('b', 250);
  expect(order.wake(99)).toBe(100);
  expect(order.next()).toBeUndefined();
  expect(order.wake(100)).toBe(250);
  expect([order.next(), order.next()]).toEqual(['a', undefined]);
  order.backOff('a', 300);
  order.add('b');
  expect([order.next(), order.next()]).toEqual(['b', undefined]);
  expect(order.wake(299)).toBe(300);
});

// Attack: a hundred installations of one publisher whose handlers take all their time.
test('an owner has a number of seats, and installations that wait for one delay no other owner', () => {
  const order = new LifecycleOrder(4, 2);
  const owners: Readonly<Record<string, string>> = { good: 'other' };
  const hasSeat = (id: string | undefined) => id !== undefined && order.takeSeat(id, owners[id] ?? 'slow');
  for (const id of ['s1', 's2', 's3', 's4', 's5', 'good']) order.add(id);
  const began: string[] = [];
  const begin = () => {
    for (let id = order.next(); id !== undefined; id = order.next()) if (hasSeat(id)) began.push(id);
  };
  begin();
  expect(began).toEqual(['s1', 's2', 'good']);
  // An installation that waits for a seat and is added has one turn, not two and not none.
  order.add('s3');
  expect(order.next()).toBeUndefined();
  order.done('s1', false);
  order.add('s3');
  begin();
  expect(began).toEqual(['s1', 's2', 'good', 's3']);
  // An installation without an event leaves its seat to the next, and so does one that backs off.
  order.done('s3', false);
  expect(order.next()).toBe('s4');
  order.done('s4', false);
  begin();
  expect(began.at(-1)).toBe('s5');
  order.add('s6');
  begin();
  expect(began).not.toContain('s6');
  order.backOff('s2', 100);
  begin();
  expect(began.at(-1)).toBe('s6');
});

test('in any order of operations, no seat is lost and none is taken twice', () => {
  const order = new LifecycleOrder(5, 2);
  const ids = Array.from({ length: 40 }, (_, index) => `${index}`);
  const ownerOf = (id: string) => `owner ${Number(id) % 3}`;
  const left = new Map(ids.map((id) => [id, 5]));
  const busy: string[] = [];
  for (const id of ids) order.add(id);
  // A pseudo-random walk with a fixed seed.
  for (let step = 0, seed = 7; step < 5_000; step += 1) {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    const any = ids[seed % ids.length] ?? '';
    if (seed % 7 === 0) order.add(any);
    if (seed % 11 === 0) order.wake(step);
    const next = order.next();
    if (next !== undefined) {
      expect(busy).not.toContain(next);
      if ((left.get(next) ?? 0) === 0) order.done(next, false);
      else if (order.takeSeat(next, ownerOf(next))) busy.push(next);
    }
    for (const owner of ['owner 0', 'owner 1', 'owner 2'])
      expect(busy.filter((id) => ownerOf(id) === owner).length).toBeLessThanOrEqual(2);
    if (busy.length < 3 && next !== undefined) continue;
    const [ended] = busy.splice(seed % Math.max(1, busy.length), 1);
    if (ended === undefined) continue;
    if (seed % 5 === 0) order.backOff(ended, step + 10);
    else {
      left.set(ended, (left.get(ended) ?? 0) - 1);
      order.done(ended, true);
    }
  }
  expect([...left.values()].every((events) => events === 0)).toBe(true);
});
