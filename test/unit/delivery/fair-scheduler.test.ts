/** Whose turn it is: lanes go round, each with so much room, and nothing is forgotten whatever happens in whichever order. */
import { describe, expect, test } from 'vitest';
import { EarliestFirst } from '../../../src/delivery/scheduler/earliest-first.ts';
import {
  FairScheduler,
  HINTS_PER_ENDPOINT,
  type SchedulerLimits,
} from '../../../src/delivery/scheduler/fair-scheduler.ts';
import { Fifo } from '../../../src/delivery/scheduler/fifo.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';

const lanesOf = (limits: Partial<SchedulerLimits> = {}) =>
  new FairScheduler({ ...DEFAULT_LIMITS, ...limits });

/** Hints of deliveries `a1`, `a2` … of endpoint `a`. */
function add(
  lanes: FairScheduler,
  endpoint: string,
  count: number,
  organization = `of ${endpoint}`,
  integration = `for ${endpoint}`,
): void {
  for (let number = 1; number <= count; number += 1)
    lanes.add({ id: `${endpoint}${number}`, endpoint, organization, integration });
}

/** Ids that may begin now, in their order. */
function begin(lanes: FairScheduler): string[] {
  const begun: string[] = [];
  for (let next = lanes.next(); next !== undefined; next = lanes.next())
    begun.push('id' in next ? next.id : `look ${next.endpoint}`);
  return begun;
}

test('lanes go round: one with many deliveries comes as often as one with few', () => {
  const lanes = lanesOf({ deliveriesInFlight: 1 });
  add(lanes, 'a', 100);
  add(lanes, 'b', 2);
  add(lanes, 'c', 1);
  const order: string[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    const [id = ''] = begin(lanes);
    order.push(id);
    lanes.done(id.charAt(0), 'succeeded');
  }
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

describe('no more begins than may be under way', () => {
  test('deliveriesInFlight: of all together', () => {
    const lanes = lanesOf({ deliveriesInFlight: 3 });
    for (const endpoint of ['a', 'b', 'c', 'd']) add(lanes, endpoint, 1);
    expect(begin(lanes)).toEqual(['a1', 'b1', 'c1']);
    expect(lanes.inFlight).toBe(3);
    lanes.done('a', 'succeeded');
    expect(begin(lanes)).toEqual(['d1']);
  });

  test('deliveriesInFlightPerEndpoint: to one endpoint', () => {
    const lanes = lanesOf({ deliveriesInFlightPerEndpoint: 2 });
    add(lanes, 'a', 4);
    expect(begin(lanes)).toEqual(['a1', 'a2']);
    lanes.done('a', 'succeeded');
    expect(begin(lanes)).toEqual(['a3']);
  });

  // Attack: an organization with a thousand endpoints that never answer.
  test("deliveriesInFlightPerOrganization: of one organization's, whose other lanes keep nobody waiting", () => {
    const lanes = lanesOf({ deliveriesInFlight: 10, deliveriesInFlightPerOrganization: 4 });
    for (let index = 0; index < 1_000; index += 1) add(lanes, `slow ${index} `, 1, 'slow');
    add(lanes, 'good', 2, 'good');
    expect(begin(lanes)).toEqual([...[0, 1, 2, 3].map((index) => `slow ${index} 1`), 'good1', 'good2']);
    // One that ends has the next one of its own called up, in turn.
    lanes.done('slow 0 ', 'failed');
    expect(begin(lanes)).toEqual(['slow 4 1']);
    lanes.done('good', 'succeeded');
    add(lanes, 'good', 1, 'good');
    expect(begin(lanes)).toEqual(['good1']);
  });

  // Attack: an integration that a thousand organizations have installed, and whose code takes half a minute for each event.
  test('a quarter is left by one integration, whose other lanes keep nobody waiting', () => {
    const lanes = lanesOf({ deliveriesInFlight: 8 });
    for (let index = 0; index < 1_000; index += 1) add(lanes, `slow ${index} `, 1, undefined, 'slow');
    add(lanes, 'good', 2);
    expect(begin(lanes)).toEqual([...[0, 1, 2, 3, 4, 5].map((index) => `slow ${index} 1`), 'good1', 'good2']);
    lanes.done('slow 0 ', 'succeeded');
    expect(begin(lanes)).toEqual(['slow 6 1']);
    lanes.done('good', 'succeeded');
    expect(begin(lanes)).toEqual([]);
    add(lanes, 'good', 1);
    expect(begin(lanes)).toEqual(['good1']);
  });

  // An organization and an integration that are both at their bounds: what is free of one was gone when something of the other was.
  test('a lane whose organization and integration both have others waiting has its turn all the same', () => {
    for (const perOrganization of [1, 3]) {
      const limits = { deliveriesInFlight: 12, deliveriesInFlightPerEndpoint: 1 };
      const lanes = lanesOf({ ...limits, deliveriesInFlightPerOrganization: perOrganization });
      for (let index = 0; index < 6; index += 1) add(lanes, `own ${index} `, 200, 'acme');
      for (let index = 0; index < 20; index += 1) add(lanes, `theirs ${index} `, 200, undefined, 'hooks');
      add(lanes, 'both ', 5, 'acme', 'hooks');
      const underWay = begin(lanes);
      const begun = [...underWay];
      for (let ends = 0; ends < 1_000; ends += 1) {
        const [ended = ''] = underWay.splice((ends * 7) % underWay.length, 1);
        lanes.done(ended.slice(0, ended.lastIndexOf(' ') + 1), 'succeeded');
        const next = begin(lanes);
        underWay.push(...next);
        begun.push(...next);
        expect(underWay.filter((id) => /^(own|both)/.test(id)).length).toBeLessThanOrEqual(perOrganization);
        expect(underWay.filter((id) => /^(theirs|both)/.test(id)).length).toBeLessThanOrEqual(9);
      }
      expect(begun.filter((id) => id.startsWith('both'))).toHaveLength(5);
    }
  });

  test('what is promised to a lane and of no use to it is the next one’s', () => {
    const lanes = lanesOf({ deliveriesInFlightPerOrganization: 1 });
    for (const endpoint of ['a', 'b', 'c']) add(lanes, endpoint, 1, 'one');
    lanes.look({ endpoint: 'd', organization: 'one', integration: 'i' });
    expect(begin(lanes)).toEqual(['a1']);
    lanes.done('a', 'succeeded');
    expect(begin(lanes)).toEqual(['b1']);
    lanes.done('b', 'succeeded');
    expect(begin(lanes)).toEqual(['c1']);
    lanes.done('c', 'succeeded');
    // It is looked up without a place of its own.
    expect(begin(lanes)).toEqual(['look d']);
    add(lanes, 'e', 1, 'one');
    expect(begin(lanes)).toEqual(['e1']);
    lanes.found('d', { ids: ['d1'], more: false });
    expect(begin(lanes)).toEqual([]);
    lanes.done('e', 'succeeded');
    expect(begin(lanes)).toEqual(['d1']);
  });
});

describe('an endpoint that fails', () => {
  test('failuresBeforeProbing: so often in a row gets one delivery at a time, until one succeeds', () => {
    const lanes = lanesOf({ failuresBeforeProbing: 3, deliveriesInFlightPerEndpoint: 5 });
    add(lanes, 'a', 20);
    expect(begin(lanes)).toHaveLength(5);
    lanes.done('a', 'failed');
    lanes.done('a', 'failed');
    expect(begin(lanes)).toHaveLength(2);
    lanes.done('a', 'failed');
    // Three in a row: what is under way may end, nothing begins beside it.
    for (let left = 4; left > 0; left -= 1) {
      expect(begin(lanes)).toEqual([]);
      lanes.done('a', 'nothing');
    }
    expect(begin(lanes)).toEqual(['a8']);
    lanes.done('a', 'failed');
    expect(begin(lanes)).toEqual(['a9']);
    lanes.done('a', 'succeeded');
    expect(begin(lanes)).toHaveLength(5);
  });

  test('is remembered as one, also while nothing waits for it', () => {
    const lanes = lanesOf({ failuresBeforeProbing: 1 });
    add(lanes, 'a', 1);
    begin(lanes);
    lanes.done('a', 'failed');
    expect(lanes.size).toBe(0);
    add(lanes, 'a', 3);
    expect(begin(lanes)).toEqual(['a1']);
  });
});

describe('hints', () => {
  test('are so many of a lane; the store is asked for what they leave out, when they are used up', () => {
    const lanes = lanesOf({ deliveriesInFlightPerEndpoint: 1_000, deliveriesInFlight: 1_000 });
    lanes.add({ id: 'x', endpoint: 'a', organization: 'o', integration: 'i' });
    add(lanes, 'a', HINTS_PER_ENDPOINT + 50);
    const begun = begin(lanes);
    expect(begun).toHaveLength(64);
    for (let left = 1; left < HINTS_PER_ENDPOINT; left += 1) {
      lanes.done('a', 'succeeded');
      begun.push(...begin(lanes));
    }
    expect(begun.filter((id) => !id.startsWith('look'))).toHaveLength(HINTS_PER_ENDPOINT);
    expect(begun.filter((id) => id.startsWith('look'))).toEqual(['look a']);
  });

  test('what comes while the store is asked is asked for again', () => {
    const lanes = lanesOf();
    lanes.look({ endpoint: 'a', organization: 'o', integration: 'i' });
    expect(begin(lanes)).toEqual(['look a']);
    add(lanes, 'a', 1, 'o');
    expect(begin(lanes)).toEqual([]);
    lanes.found('a', { ids: ['old'], more: false });
    expect(begin(lanes)).toEqual(['old', 'look a']);
    lanes.found('a', { ids: ['a1'], more: false });
    expect(begin(lanes)).toEqual(['a1']);
  });

  test('lanes that nothing is left of are gone', () => {
    const lanes = lanesOf();
    for (let index = 0; index < 1_000; index += 1)
      lanes.look({ endpoint: `${index}`, organization: 'o', integration: 'i' });
    for (let looks = begin(lanes); looks.length > 0; looks = begin(lanes))
      for (const look of looks) lanes.found(look.slice('look '.length), { ids: [], more: false });
    expect(lanes.size).toBe(0);
  });

  test('only so many lanes are looked up at once, and those that know what is due do not wait for them', () => {
    const lanes = lanesOf();
    for (let index = 0; index < 100; index += 1)
      lanes.look({ endpoint: `${index}`, organization: `${index}`, integration: 'i' });
    add(lanes, 'a', 1);
    const begun = begin(lanes);
    expect(begun).toHaveLength(17);
    expect(begun[0]).toBe('a1');
    lanes.found('0', { ids: [], more: false });
    expect(begin(lanes)).toEqual(['look 16']);
  });

  // Attack: an organization with many endpoints that hang. Its lanes waited for a look, had their turn, and stood aside for their
  // room instead; nobody behind them was looked up before one of those receivers answered.
  test('a lane that is to be looked up and finds its room full leaves its look to the next one', () => {
    const lanes = lanesOf({ deliveriesInFlightPerOrganization: 1 });
    for (let index = 0; index < 40; index += 1)
      lanes.look({ endpoint: `slow ${index}`, organization: 'slow', integration: 'i' });
    lanes.look({ endpoint: 'good', organization: 'good', integration: 'i' });
    const looks = begin(lanes);
    expect(looks).toHaveLength(16);
    const hints = (endpoint: string) => ({ ids: [`${endpoint}'s`], more: false });
    for (const look of looks) lanes.found(look.slice('look '.length), hints(look.slice('look '.length)));
    expect(begin(lanes)).toEqual(["slow 0's", 'look good']);
  });
});

/**
 * Endpoints of organizations of all sizes, a store that answers a look whenever it likes, and receivers that may never answer.
 * Whoever could go must not stand, whatever the others wait for.
 */
test('in any order of looks, answers and hanging receivers, nothing that has room waits', () => {
  const limits = {
    deliveriesInFlight: 12,
    deliveriesInFlightPerOrganization: 4,
    deliveriesInFlightPerEndpoint: 2,
  };
  for (let seed = 1; seed <= 40; seed += 1) {
    const lanes = lanesOf({ ...limits, failuresBeforeProbing: 1_000 });
    let state = seed;
    const draw = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((state / 2 ** 31) * below);
    };
    const endpoints = Array.from({ length: 80 }, (_, index) => ({
      endpoint: `e${index}`,
      // One has most of them.
      organization: index % 4 === 0 ? `o${index}` : 'big',
      integration: `i${index % 5}`,
    }));
    const waiting = new Map(endpoints.map(({ endpoint }) => [endpoint, 1 + draw(4)]));
    const slow = new Set(endpoints.filter(() => draw(3) === 0).map(({ endpoint }) => endpoint));
    for (const endpoint of slow) lanes.setSlow(endpoint, true);
    const slowOnes = () => underWay.filter(({ endpoint }) => slow.has(endpoint));
    const hasSlowPlace = ({ endpoint, integration }: (typeof endpoints)[number]) =>
      !slow.has(endpoint) ||
      (slowOnes().length < 9 && slowOnes().filter((each) => each.integration === integration).length < 7);
    const looking = new Set<string>();
    const underWay: (typeof endpoints)[number][] = [];
    const of = (name: keyof (typeof endpoints)[number], value: string) =>
      underWay.filter((each) => each[name] === value).length;
    for (const whose of endpoints) lanes.look(whose);
    for (let steps = 0; lanes.size > 0 && steps < 5_000; steps += 1) {
      for (let next = lanes.next(); next !== undefined; next = lanes.next()) {
        const { endpoint } = next;
        if (!('id' in next)) looking.add(endpoint);
        else {
          waiting.set(endpoint, (waiting.get(endpoint) ?? 0) - 1);
          underWay.push(endpoints[Number(endpoint.slice(1))] as (typeof endpoints)[number]);
        }
      }
      const stands = endpoints.filter(
        ({ endpoint, organization, integration }) =>
          hasSlowPlace({ endpoint, organization, integration }) &&
          (waiting.get(endpoint) ?? 0) > 0 &&
          !looking.has(endpoint) &&
          of('endpoint', endpoint) < limits.deliveriesInFlightPerEndpoint &&
          of('organization', organization) < limits.deliveriesInFlightPerOrganization &&
          of('integration', integration) < 9,
      );
      // Whoever could go waits for one of the looks, all of which are out, or for a place, all of which are taken.
      if (looking.size < 16 && underWay.length < limits.deliveriesInFlight) expect(stands).toEqual([]);
      const looked = [...looking][draw(looking.size)];
      // Receivers answer only once everything else has come to an end.
      if (looked !== undefined && (draw(8) > 0 || underWay.length === 0)) {
        looking.delete(looked);
        const ids = Array.from(
          { length: waiting.get(looked) ?? 0 },
          (_, index) => `${looked}-${steps}-${index}`,
        );
        lanes.found(looked, { ids, more: false });
      } else if (looking.size === 0 || draw(4) === 0) {
        const [ended] = underWay.splice(draw(underWay.length), 1);
        if (ended === undefined) continue;
        const isSlow = draw(3) === 0;
        if (isSlow) slow.add(ended.endpoint);
        else slow.delete(ended.endpoint);
        lanes.setSlow(ended.endpoint, isSlow);
        lanes.done(ended.endpoint, 'succeeded');
      }
    }
    expect([lanes.size, lanes.inFlight, [...waiting.values()].filter((left) => left !== 0)]).toEqual([
      0,
      0,
      [],
    ]);
  }
});

describe('a place is left for who answers in time', () => {
  /** So many endpoints, each of an organization of its own, that all use one integration. */
  const sharing = (lanes: FairScheduler, endpoint: string, deliveries: number) =>
    add(lanes, endpoint, deliveries, `of ${endpoint}`, 'shared');

  // Attack: two hundred receivers that hang. They had every place of their integration, ten seconds at a time.
  test('hanging receivers of two hundred organizations have three quarters of their integration’s places', () => {
    const lanes = lanesOf();
    for (let index = 0; index < 200; index += 1) {
      lanes.setSlow(`hangs ${index} `, true);
      sharing(lanes, `hangs ${index} `, 300);
    }
    expect(begin(lanes)).toHaveLength(144);
    sharing(lanes, 'good', 1);
    expect(begin(lanes)).toEqual(['good1']);
  });

  test('slow endpoints of all integrations together have three quarters of all places', () => {
    const lanes = lanesOf({ deliveriesInFlight: 16 });
    for (let index = 0; index < 40; index += 1) {
      lanes.setSlow(`hangs ${index} `, true);
      add(lanes, `hangs ${index} `, 1);
    }
    expect(begin(lanes)).toHaveLength(12);
    add(lanes, 'good', 1);
    expect(begin(lanes)).toEqual(['good1']);
  });

  test('an endpoint that has shown that it answers waits for no slow one, wherever it stands', () => {
    const lanes = lanesOf({ deliveriesInFlight: 16 });
    lanes.setSlow('good', true);
    sharing(lanes, 'good', 2);
    expect(begin(lanes)).toEqual(['good1', 'good2']);
    for (let index = 0; index < 40; index += 1) {
      lanes.setSlow(`hangs ${index} `, true);
      sharing(lanes, `hangs ${index} `, 1);
    }
    expect(begin(lanes)).toHaveLength(7);
    // It stands aside behind the others when its first attempt ends.
    sharing(lanes, 'good', 3);
    expect(begin(lanes)).toEqual([]);
    lanes.setSlow('good', false);
    lanes.done('good', 'succeeded');
    expect(begin(lanes)).toContain('good1');
  });

  test('a lane with a single delivery passes those with a backlog, and they have their turns', () => {
    const lanes = lanesOf({ deliveriesInFlight: 1 });
    for (let index = 0; index < 100; index += 1) add(lanes, `backlog ${index} `, 50);
    const order = begin(lanes);
    const turns = (count: number) => {
      for (let turn = 0; turn < count; turn += 1) {
        lanes.done(order.at(-1)?.replace(/\d+$/, '') ?? '', 'succeeded');
        order.push(...begin(lanes));
      }
    };
    // Each has had one turn, so it is known that there is more of it.
    turns(150);
    order.splice(0, 150);
    for (let index = 0; index < 20; index += 1) add(lanes, `single ${index} `, 1);
    turns(24);
    const kinds = order.slice(1).map((id) => (id.startsWith('single') ? 's' : 'b'));
    expect(kinds.join('')).toBe('ssssssssbssssssssbssssbb');
  });
});

describe('a lane that rests', () => {
  test('is woken at its time, and no sooner, unless there is news of it', () => {
    const lanes = lanesOf();
    add(lanes, 'a', 1);
    add(lanes, 'b', 1);
    expect(begin(lanes)).toEqual(['a1', 'b1']);
    lanes.later('a', 100);
    lanes.later('b', 250);
    lanes.done('a', 'failed');
    lanes.done('b', 'failed');
    expect([lanes.nextAt, lanes.size]).toEqual([100, 2]);
    lanes.wake(99);
    expect(begin(lanes)).toEqual([]);
    add(lanes, 'b', 1);
    expect(begin(lanes)).toEqual(['b1']);
    lanes.wake(100);
    expect(begin(lanes)).toEqual(['look a']);
    expect(lanes.nextAt).toBe(250);
    lanes.found('a', { ids: [], more: false, nextAt: 180 });
    expect(lanes.nextAt).toBe(180);
  });

  test('is left alone when the store could not be asked', () => {
    const lanes = lanesOf();
    lanes.look({ endpoint: 'a', organization: 'o', integration: 'i' });
    expect(begin(lanes)).toEqual(['look a']);
    lanes.leave('a', 5_000);
    expect(begin(lanes)).toEqual([]);
    lanes.wake(5_000);
    expect(begin(lanes)).toEqual(['look a']);
  });
});

test('ten thousand lanes go round, rest and are woken in the time that a few take', () => {
  const lanes = lanesOf({ deliveriesInFlight: 64 });
  const count = 10_000;
  for (let index = 0; index < count; index += 1) add(lanes, `${index} `, 3, `${index}`);
  const seen = new Map<string, number>();
  const started = performance.now();
  let now = 0;
  for (let steps = 0; seen.size < 2 * count && steps < 10 * count; steps += 1) {
    for (const id of begin(lanes)) {
      const endpoint = `${id.split(' ')[0]} `;
      seen.set(id, (seen.get(id) ?? 0) + 1);
      now += 1;
      lanes.later(endpoint, now + 1_000);
      lanes.done(endpoint, 'succeeded');
    }
  }
  expect(Math.max(...seen.values())).toBe(1);
  // Some microseconds each: with a look at all of them each time it would be minutes.
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('in any order of what happens, no delivery is forgotten, and no bound is passed', () => {
  const limits = {
    deliveriesInFlight: 7,
    deliveriesInFlightPerOrganization: 3,
    deliveriesInFlightPerEndpoint: 2,
  };
  const lanes = lanesOf({ ...limits, failuresBeforeProbing: 2 });
  /** What the store has, by endpoint: ids and when they are due. */
  const store = new Map<string, Map<string, number>>();
  const endpoints = Array.from({ length: 12 }, (_, index) => `e${index}`);
  const organizationOf = (endpoint: string) => `o${Number(endpoint.slice(1)) % 3}`;
  const integrationOf = (endpoint: string) => (Number(endpoint.slice(1)) % 4 === 0 ? 'rare' : 'common');
  for (const endpoint of endpoints) store.set(endpoint, new Map());
  const underWay: { endpoint: string; id: string }[] = [];
  let now = 0;
  let seed = 11;
  const draw = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  const due = (endpoint: string) => {
    const rows = [...(store.get(endpoint) ?? [])].filter(([id]) => !underWay.some((each) => each.id === id));
    const ids = rows.filter(([, at]) => at <= now).map(([id]) => id);
    const later = rows.map(([, at]) => at).filter((at) => at > now);
    return { ids, more: false, ...(later.length > 0 && { nextAt: Math.min(...later) }) };
  };
  const step = () => {
    lanes.wake(now);
    for (let next = lanes.next(); next !== undefined; next = lanes.next()) {
      if (!('id' in next)) lanes.found(next.endpoint, due(next.endpoint));
      else if ((store.get(next.endpoint)?.get(next.id) ?? Number.POSITIVE_INFINITY) > now)
        lanes.done(next.endpoint, 'nothing');
      else if (draw(10) === 0) {
        // The store fails.
        lanes.rest(next.endpoint, now + 1 + draw(5));
        lanes.done(next.endpoint, 'nothing');
      } else underWay.push(next);
    }
    expect(underWay.length).toBeLessThanOrEqual(limits.deliveriesInFlight);
    for (const endpoint of endpoints)
      expect(underWay.filter((each) => each.endpoint === endpoint).length).toBeLessThanOrEqual(2);
    for (const organization of ['o0', 'o1', 'o2'])
      expect(
        underWay.filter((each) => organizationOf(each.endpoint) === organization).length,
      ).toBeLessThanOrEqual(3);
    expect(underWay.filter((each) => integrationOf(each.endpoint) === 'common').length).toBeLessThanOrEqual(
      6,
    );
  };
  const end = () => {
    const [ended] = underWay.splice(draw(underWay.length), 1);
    if (ended === undefined) return;
    lanes.setSlow(ended.endpoint, draw(2) === 0);
    if (draw(3) === 0) {
      const at = now + 1 + draw(50);
      store.get(ended.endpoint)?.set(ended.id, at);
      lanes.later(ended.endpoint, at);
      lanes.done(ended.endpoint, 'failed');
    } else {
      store.get(ended.endpoint)?.delete(ended.id);
      lanes.done(ended.endpoint, 'succeeded');
    }
  };
  for (let made = 0; made < 3_000; made += 1) {
    const endpoint = endpoints[draw(endpoints.length)] ?? '';
    store.get(endpoint)?.set(`${made}`, now);
    const organization = organizationOf(endpoint);
    lanes.add({ id: `${made}`, endpoint, organization, integration: integrationOf(endpoint) });
    now += draw(3);
    step();
    if (draw(4) > 0) end();
  }
  for (let steps = 0; steps < 20_000 && lanes.size > 0; steps += 1) {
    now += 1;
    step();
    end();
  }
  expect([...store.values()].map(({ size }) => size)).toEqual(endpoints.map(() => 0));
  expect([lanes.size, lanes.inFlight]).toEqual([0, 0]);
});

test('a queue gives back what it was given, in that order, but for what was let in before all others', () => {
  const queue = new Fifo<number>();
  const out: (number | undefined)[] = [];
  for (let index = 0; index < 5_000; index += 1) {
    queue.push(index);
    if (index % 3 !== 0) out.push(queue.shift());
  }
  while (queue.length > 0) out.push(queue.shift());
  expect(out).toEqual(Array.from({ length: 5_000 }, (_, index) => index));
  expect(queue.shift()).toBeUndefined();
  for (const item of [3, 4]) queue.push(item);
  queue.unshift(2);
  expect(queue.shift()).toBe(2);
  for (const item of [1, 0]) queue.unshift(item);
  expect([queue.length, ...[1, 2, 3, 4, 5].map(() => queue.shift())]).toEqual([4, 0, 1, 3, 4, undefined]);
});

test('a heap gives back the earliest first', () => {
  const heap = new EarliestFirst<number>();
  const times = Array.from({ length: 2_000 }, (_, index) => (index * 7_919) % 2_003);
  for (const at of times) heap.push(at, at);
  const out: (number | undefined)[] = [];
  while (heap.length > 0) {
    expect(heap.peek()).toEqual({ at: heap.peek()?.item, item: heap.peek()?.item });
    out.push(heap.pop()?.at);
  }
  expect(out).toEqual(times.toSorted((a, b) => a - b));
  expect(heap.pop()).toBeUndefined();
});
