/**
 * Fair scheduling: turns, quotas, hints and back-offs, and random orders in which nothing is lost.
 */
import { describe, expect, test } from 'vitest';
import { begunAt } from '../../../src/host/delivery/scheduler/endpoint-queue.ts';
import {
  FairScheduler,
  HINTS_PER_ENDPOINT,
  type SchedulerLimits,
} from '../../../src/host/delivery/scheduler/fair-scheduler.ts';
import { EarliestFirst, Fifo } from '../../../src/host/delivery/scheduler/queues.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { cpuMs } from '../../support/measure/cpu-time.ts';

const schedulerWith = (limits: Partial<SchedulerLimits> = {}) =>
  new FairScheduler({ ...DEFAULT_LIMITS, ...limits });

/** Adds deliveries `a1`, `a2` … of endpoint `a`. */
function add(
  scheduler: FairScheduler,
  endpoint: string,
  count: number,
  organization = `of ${endpoint}`,
  integration = `for ${endpoint}`,
): void {
  for (let number = 1; number <= count; number += 1)
    scheduler.add({ id: `${endpoint}${number}`, endpoint, organization, integration });
}

/** Ids of deliveries that may start now, and refills, in turn. */
function begin(scheduler: FairScheduler): string[] {
  const begun: string[] = [];
  for (let next = scheduler.next(); next !== undefined; next = scheduler.next())
    begun.push('id' in next ? next.id : `refill ${next.endpoint}`);
  return begun;
}

test('endpoints take turns: one with many deliveries comes as often as one with few', () => {
  const scheduler = schedulerWith({ deliveriesInFlight: 1 });
  add(scheduler, 'a', 100);
  add(scheduler, 'b', 2);
  add(scheduler, 'c', 1);
  const order: string[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    const [id = ''] = begin(scheduler);
    order.push(id);
    scheduler.done(id.charAt(0), 'succeeded');
  }
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

describe('no more starts than may be in flight', () => {
  test('deliveriesInFlight: in all', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 3 });
    for (const endpoint of ['a', 'b', 'c', 'd']) add(scheduler, endpoint, 1);
    expect(begin(scheduler)).toEqual(['a1', 'b1', 'c1']);
    expect(scheduler.inFlight).toBe(3);
    scheduler.done('a', 'succeeded');
    expect(begin(scheduler)).toEqual(['d1']);
  });

  test('deliveriesInFlightPerEndpoint: to one endpoint', () => {
    const scheduler = schedulerWith({ deliveriesInFlightPerEndpoint: 2 });
    add(scheduler, 'a', 4);
    expect(begin(scheduler)).toEqual(['a1', 'a2']);
    scheduler.done('a', 'succeeded');
    expect(begin(scheduler)).toEqual(['a3']);
  });

  // Attack: an organization with a thousand endpoints that never answer.
  test('deliveriesInFlightPerOrganization: of one organization, whose blocked endpoints delay no other', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 10, deliveriesInFlightPerOrganization: 4 });
    for (let index = 0; index < 1_000; index += 1) add(scheduler, `slow ${index} `, 1, 'slow');
    add(scheduler, 'good', 2, 'good');
    expect(begin(scheduler)).toEqual([...[0, 1, 2, 3].map((index) => `slow ${index} 1`), 'good1', 'good2']);
    // The place of a delivery that ends goes to the next endpoint of the organization.
    scheduler.done('slow 0 ', 'failed');
    expect(begin(scheduler)).toEqual(['slow 4 1']);
    scheduler.done('good', 'succeeded');
    add(scheduler, 'good', 1, 'good');
    expect(begin(scheduler)).toEqual(['good1']);
  });

  // Attack: an integration in a thousand organizations whose code takes half a minute for each
  // event.
  test('one integration leaves a quarter, and its blocked endpoints delay no other', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 8 });
    for (let index = 0; index < 1_000; index += 1) add(scheduler, `slow ${index} `, 1, undefined, 'slow');
    add(scheduler, 'good', 2);
    expect(begin(scheduler)).toEqual([
      ...[0, 1, 2, 3, 4, 5].map((index) => `slow ${index} 1`),
      'good1',
      'good2',
    ]);
    scheduler.done('slow 0 ', 'succeeded');
    expect(begin(scheduler)).toEqual(['slow 6 1']);
    scheduler.done('good', 'succeeded');
    expect(begin(scheduler)).toEqual([]);
    add(scheduler, 'good', 1);
    expect(begin(scheduler)).toEqual(['good1']);
  });

  // Attack: an integration queues thousands of tasks that run for long.
  test('tasks have half of the places of their organization and of all; events take the rest', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 8, deliveriesInFlightPerOrganization: 4 });
    for (const organization of ['a', 'b', 'c'])
      for (let index = 0; index < 10; index += 1)
        add(scheduler, `${organization}${index}/tasks`, 1, organization, organization);
    expect(begin(scheduler)).toEqual(['a0/tasks1', 'a1/tasks1', 'b0/tasks1', 'b1/tasks1']);
    add(scheduler, 'a0', 1, 'a', 'a');
    add(scheduler, 'c0', 1, 'c', 'c');
    expect(begin(scheduler)).toEqual(['a01', 'c01']);
    // The place of a task that ends goes to the next.
    scheduler.done('a0/tasks', 'succeeded');
    scheduler.done('b0/tasks', 'succeeded');
    expect(begin(scheduler)).toHaveLength(2);
  });

  test('one place is enough for tasks: with a single one, each has its turn', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 1, deliveriesInFlightPerOrganization: 1 });
    for (let index = 0; index < 5; index += 1) add(scheduler, `${index}/tasks`, 2, 'a', 'a');
    const begun: string[] = [];
    for (let [id] = begin(scheduler); id !== undefined; [id] = begin(scheduler)) {
      begun.push(id);
      scheduler.done(id.slice(0, -1), 'succeeded');
    }
    expect(new Set(begun).size).toBe(10);
  });

  // Both quotas are used up: a place in one was taken again before the other had one.
  test('an endpoint whose organization and integration both have blocked endpoints has its turn', () => {
    for (const perOrganization of [1, 3]) {
      const limits = { deliveriesInFlight: 12, deliveriesInFlightPerEndpoint: 1 };
      const scheduler = schedulerWith({ ...limits, deliveriesInFlightPerOrganization: perOrganization });
      for (let index = 0; index < 6; index += 1) add(scheduler, `own ${index} `, 200, 'acme');
      for (let index = 0; index < 20; index += 1) add(scheduler, `theirs ${index} `, 200, undefined, 'hooks');
      add(scheduler, 'both ', 5, 'acme', 'hooks');
      const inFlight = begin(scheduler);
      const begun = [...inFlight];
      for (let ends = 0; ends < 1_000; ends += 1) {
        const [ended = ''] = inFlight.splice((ends * 7) % inFlight.length, 1);
        scheduler.done(ended.slice(0, ended.lastIndexOf(' ') + 1), 'succeeded');
        const next = begin(scheduler);
        inFlight.push(...next);
        begun.push(...next);
        expect(inFlight.filter((id) => /^(own|both)/.test(id)).length).toBeLessThanOrEqual(perOrganization);
        expect(inFlight.filter((id) => /^(theirs|both)/.test(id)).length).toBeLessThanOrEqual(9);
      }
      expect(begun.filter((id) => id.startsWith('both'))).toHaveLength(5);
    }
  });

  test('a reserved place that its endpoint does not use goes to the next one', () => {
    const scheduler = schedulerWith({ deliveriesInFlightPerOrganization: 1 });
    for (const endpoint of ['a', 'b', 'c']) add(scheduler, endpoint, 1, 'one');
    scheduler.addEndpoint({ endpoint: 'd', organization: 'one', integration: 'i' });
    expect(begin(scheduler)).toEqual(['a1']);
    scheduler.done('a', 'succeeded');
    expect(begin(scheduler)).toEqual(['b1']);
    scheduler.done('b', 'succeeded');
    expect(begin(scheduler)).toEqual(['c1']);
    scheduler.done('c', 'succeeded');
    // Its refill needs no place.
    expect(begin(scheduler)).toEqual(['refill d']);
    add(scheduler, 'e', 1, 'one');
    expect(begin(scheduler)).toEqual(['e1']);
    scheduler.refilled('d', { ids: ['d1'], more: false });
    expect(begin(scheduler)).toEqual([]);
    scheduler.done('e', 'succeeded');
    expect(begin(scheduler)).toEqual(['d1']);
  });
});

describe('an endpoint that fails', () => {
  test('failuresBeforeProbing: in a row, gets one delivery at a time until one succeeds', () => {
    const scheduler = schedulerWith({ failuresBeforeProbing: 3, deliveriesInFlightPerEndpoint: 5 });
    add(scheduler, 'a', 20);
    expect(begin(scheduler)).toHaveLength(5);
    scheduler.done('a', 'failed');
    scheduler.done('a', 'failed');
    expect(begin(scheduler)).toHaveLength(2);
    scheduler.done('a', 'failed');
    // Three in a row: deliveries in flight may end, none starts beside them.
    for (let left = 4; left > 0; left -= 1) {
      expect(begin(scheduler)).toEqual([]);
      scheduler.done('a', 'none');
    }
    expect(begin(scheduler)).toEqual(['a8']);
    scheduler.done('a', 'failed');
    expect(begin(scheduler)).toEqual(['a9']);
    scheduler.done('a', 'succeeded');
    expect(begin(scheduler)).toHaveLength(5);
  });

  test('is remembered while nothing waits for it', () => {
    const scheduler = schedulerWith({ failuresBeforeProbing: 1 });
    add(scheduler, 'a', 1);
    begin(scheduler);
    scheduler.done('a', 'failed');
    expect(scheduler.size).toBe(0);
    add(scheduler, 'a', 3);
    expect(begin(scheduler)).toEqual(['a1']);
  });
});

describe('hints', () => {
  test('are bounded per endpoint; the store is queried for more when they are used up', () => {
    const scheduler = schedulerWith({ deliveriesInFlightPerEndpoint: 1_000, deliveriesInFlight: 1_000 });
    scheduler.add({ id: 'x', endpoint: 'a', organization: 'o', integration: 'i' });
    add(scheduler, 'a', HINTS_PER_ENDPOINT + 50);
    const begun = begin(scheduler);
    expect(begun).toHaveLength(64);
    for (let left = 1; left < HINTS_PER_ENDPOINT; left += 1) {
      scheduler.done('a', 'succeeded');
      begun.push(...begin(scheduler));
    }
    expect(begun.filter((id) => !id.startsWith('refill'))).toHaveLength(HINTS_PER_ENDPOINT);
    expect(begun.filter((id) => id.startsWith('refill'))).toEqual(['refill a']);
  });

  test('a delivery that is added during a refill causes another refill', () => {
    const scheduler = schedulerWith();
    scheduler.addEndpoint({ endpoint: 'a', organization: 'o', integration: 'i' });
    expect(begin(scheduler)).toEqual(['refill a']);
    add(scheduler, 'a', 1, 'o');
    expect(begin(scheduler)).toEqual([]);
    scheduler.refilled('a', { ids: ['old'], more: false });
    expect(begin(scheduler)).toEqual(['old', 'refill a']);
    scheduler.refilled('a', { ids: ['a1'], more: false });
    expect(begin(scheduler)).toEqual(['a1']);
  });

  test('an endpoint whose delivery another node has goes on with its hints, and backs off without any', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 1 });
    add(scheduler, 'a', 2);
    expect(begin(scheduler)).toEqual(['a1']);
    scheduler.outrun('a', 50);
    scheduler.done('a', 'none');
    expect(begin(scheduler)).toEqual(['a2']);
    scheduler.outrun('a', 50);
    scheduler.done('a', 'none');
    expect(begin(scheduler)).toEqual([]);
    scheduler.wake(49);
    expect(begin(scheduler)).toEqual([]);
    scheduler.wake(50);
    expect(begin(scheduler)).toEqual(['refill a']);
  });

  test('after as many misses in a row as may be in flight, hints are dropped for others of another place', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 1, deliveriesInFlightPerEndpoint: 3 });
    add(scheduler, 'a', 9);
    const misses = (count: number) => {
      for (let miss = 0; miss < count; miss += 1) {
        begin(scheduler);
        scheduler.outrun('a', 50);
        scheduler.done('a', 'none');
      }
    };
    misses(2);
    expect(begin(scheduler)).toEqual(['a3']);
    scheduler.claimed('a');
    scheduler.done('a', 'succeeded');
    misses(3);
    const next = () => scheduler.next();
    expect(next()).toMatchObject({ endpoint: 'a', isContested: true });
    scheduler.refilled('a', { ids: ['a8'], more: false });
    expect(next()).toMatchObject({ id: 'a8' });
  });

  test('hints of a contested endpoint begin elsewhere, and none is left out', () => {
    const due = { ids: ['a', 'b', 'c', 'd'], more: true };
    expect(begunAt(due, 0)).toEqual(due);
    expect(begunAt(due, 0.6)).toEqual({ ids: ['c', 'd', 'a', 'b'], more: true });
    expect(begunAt({ ids: [], more: false }, 0.6)).toEqual({ ids: [], more: false });
  });

  test('an endpoint that no other node works on is refilled in order', () => {
    const scheduler = schedulerWith();
    scheduler.addEndpoint({ endpoint: 'a', organization: 'o', integration: 'i' });
    expect(scheduler.next()).toMatchObject({ endpoint: 'a', isContested: false });
  });

  test('empty queues are dropped', () => {
    const scheduler = schedulerWith();
    for (let index = 0; index < 1_000; index += 1)
      scheduler.addEndpoint({ endpoint: `${index}`, organization: 'o', integration: 'i' });
    for (let refills = begin(scheduler); refills.length > 0; refills = begin(scheduler))
      for (const refill of refills)
        scheduler.refilled(refill.slice('refill '.length), { ids: [], more: false });
    expect(scheduler.size).toBe(0);
  });

  test('a bounded number of refills is in flight, and endpoints with hints do not wait for them', () => {
    const scheduler = schedulerWith();
    for (let index = 0; index < 100; index += 1)
      scheduler.addEndpoint({ endpoint: `${index}`, organization: `${index}`, integration: 'i' });
    add(scheduler, 'a', 1);
    const begun = begin(scheduler);
    expect(begun).toHaveLength(17);
    expect(begun[0]).toBe('a1');
    scheduler.refilled('0', { ids: [], more: false });
    expect(begin(scheduler)).toEqual(['refill 16']);
  });

  // Attack: an organization with many hanging endpoints. Their queues had a refill slot reserved,
  // and were blocked in their quota instead; no endpoint behind them was refilled before one of
  // those receivers answered.
  test('an endpoint that is blocked in a quota leaves its refill slot to the next one', () => {
    const scheduler = schedulerWith({ deliveriesInFlightPerOrganization: 1 });
    for (let index = 0; index < 40; index += 1)
      scheduler.addEndpoint({ endpoint: `slow ${index}`, organization: 'slow', integration: 'i' });
    scheduler.addEndpoint({ endpoint: 'good', organization: 'good', integration: 'i' });
    const refills = begin(scheduler);
    expect(refills).toHaveLength(16);
    const hints = (endpoint: string) => ({ ids: [`${endpoint}'s`], more: false });
    for (const refill of refills)
      scheduler.refilled(refill.slice('refill '.length), hints(refill.slice('refill '.length)));
    expect(begin(scheduler)).toEqual(["slow 0's", 'refill good']);
  });
});

/**
 * Endpoints of organizations of all sizes, a store that answers refills in any order, and receivers
 * that may never answer. An endpoint whose quotas have places must not wait, whatever the others
 * wait for.
 */
test('in any order of refills, answers and hanging receivers, no endpoint with free quotas waits', () => {
  const limits = {
    deliveriesInFlight: 12,
    deliveriesInFlightPerOrganization: 4,
    deliveriesInFlightPerEndpoint: 2,
  };
  for (let seed = 1; seed <= 40; seed += 1) {
    const scheduler = schedulerWith({ ...limits, failuresBeforeProbing: 1_000 });
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
    for (const endpoint of slow) scheduler.setSlow(endpoint, true);
    const slowOnes = () => inFlight.filter(({ endpoint }) => slow.has(endpoint));
    const hasSlowPlace = ({ endpoint, integration }: (typeof endpoints)[number]) =>
      !slow.has(endpoint) ||
      (slowOnes().length < 9 && slowOnes().filter((each) => each.integration === integration).length < 7);
    const refilling = new Set<string>();
    const inFlight: (typeof endpoints)[number][] = [];
    const of = (name: keyof (typeof endpoints)[number], value: string) =>
      inFlight.filter((each) => each[name] === value).length;
    for (const whose of endpoints) scheduler.addEndpoint(whose);
    for (let steps = 0; scheduler.size > 0 && steps < 5_000; steps += 1) {
      for (let next = scheduler.next(); next !== undefined; next = scheduler.next()) {
        const { endpoint } = next;
        if (!('id' in next)) refilling.add(endpoint);
        else {
          waiting.set(endpoint, (waiting.get(endpoint) ?? 0) - 1);
          inFlight.push(endpoints[Number(endpoint.slice(1))] as (typeof endpoints)[number]);
        }
      }
      const waitingWithPlaces = endpoints.filter(
        ({ endpoint, organization, integration }) =>
          hasSlowPlace({ endpoint, organization, integration }) &&
          (waiting.get(endpoint) ?? 0) > 0 &&
          !refilling.has(endpoint) &&
          of('endpoint', endpoint) < limits.deliveriesInFlightPerEndpoint &&
          of('organization', organization) < limits.deliveriesInFlightPerOrganization &&
          of('integration', integration) < 9,
      );
      // An endpoint with free quotas waits only if all refill slots or all places are taken.
      if (refilling.size < 16 && inFlight.length < limits.deliveriesInFlight)
        expect(waitingWithPlaces).toEqual([]);
      const refilled = [...refilling][draw(refilling.size)];
      // Receivers answer only after everything else has ended.
      if (refilled !== undefined && (draw(8) > 0 || inFlight.length === 0)) {
        refilling.delete(refilled);
        const ids = Array.from(
          { length: waiting.get(refilled) ?? 0 },
          (_, index) => `${refilled}-${steps}-${index}`,
        );
        scheduler.refilled(refilled, { ids, more: false });
      } else if (refilling.size === 0 || draw(4) === 0) {
        const [ended] = inFlight.splice(draw(inFlight.length), 1);
        if (ended === undefined) continue;
        const isSlow = draw(3) === 0;
        if (isSlow) slow.add(ended.endpoint);
        else slow.delete(ended.endpoint);
        scheduler.setSlow(ended.endpoint, isSlow);
        scheduler.done(ended.endpoint, 'succeeded');
      }
    }
    expect([scheduler.size, scheduler.inFlight, [...waiting.values()].filter((left) => left !== 0)]).toEqual([
      0,
      0,
      [],
    ]);
  }
});

describe('places are left for endpoints that answer in time', () => {
  /** Adds deliveries of an endpoint with its own organization and a shared integration. */
  const sharing = (scheduler: FairScheduler, endpoint: string, deliveries: number) =>
    add(scheduler, endpoint, deliveries, `of ${endpoint}`, 'shared');

  // Attack: two hundred hanging receivers that hold every place of their integration, ten seconds
  // at a time.
  test('hanging receivers of two hundred organizations have three quarters of their integration’s places', () => {
    const scheduler = schedulerWith();
    for (let index = 0; index < 200; index += 1) {
      scheduler.setSlow(`hangs ${index} `, true);
      sharing(scheduler, `hangs ${index} `, 300);
    }
    expect(begin(scheduler)).toHaveLength(144);
    sharing(scheduler, 'good', 1);
    expect(begin(scheduler)).toEqual(['good1']);
  });

  test('slow endpoints of all integrations together have three quarters of all places', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 16 });
    for (let index = 0; index < 40; index += 1) {
      scheduler.setSlow(`hangs ${index} `, true);
      add(scheduler, `hangs ${index} `, 1);
    }
    expect(begin(scheduler)).toHaveLength(12);
    add(scheduler, 'good', 1);
    expect(begin(scheduler)).toEqual(['good1']);
  });

  test('an endpoint that has answered in time waits for no slow one, wherever it is blocked', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 16 });
    scheduler.setSlow('good', true);
    sharing(scheduler, 'good', 2);
    expect(begin(scheduler)).toEqual(['good1', 'good2']);
    for (let index = 0; index < 40; index += 1) {
      scheduler.setSlow(`hangs ${index} `, true);
      sharing(scheduler, `hangs ${index} `, 1);
    }
    expect(begin(scheduler)).toHaveLength(7);
    // It is blocked behind the others when its first attempt ends.
    sharing(scheduler, 'good', 3);
    expect(begin(scheduler)).toEqual([]);
    scheduler.setSlow('good', false);
    scheduler.done('good', 'succeeded');
    expect(begin(scheduler)).toContain('good1');
  });

  test('an endpoint with a single delivery passes those with a backlog, and they have their turns', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 1 });
    for (let index = 0; index < 100; index += 1) add(scheduler, `backlog ${index} `, 50);
    const order = begin(scheduler);
    const turns = (count: number) => {
      for (let turn = 0; turn < count; turn += 1) {
        scheduler.done(order.at(-1)?.replace(/\d+$/, '') ?? '', 'succeeded');
        order.push(...begin(scheduler));
      }
    };
    // Each has had one turn, so its backlog is known.
    turns(150);
    order.splice(0, 150);
    for (let index = 0; index < 20; index += 1) add(scheduler, `single ${index} `, 1);
    turns(24);
    const kinds = order.slice(1).map((id) => (id.startsWith('single') ? 's' : 'b'));
    expect(kinds.join('')).toBe('ssssssssbssssssssbssssbb');
  });
});

describe('an endpoint that backs off', () => {
  test('is resumed at its retryAt, and earlier only by a new delivery', () => {
    const scheduler = schedulerWith();
    add(scheduler, 'a', 1);
    add(scheduler, 'b', 1);
    expect(begin(scheduler)).toEqual(['a1', 'b1']);
    scheduler.retryAt('a', 100);
    scheduler.retryAt('b', 250);
    scheduler.done('a', 'failed');
    scheduler.done('b', 'failed');
    expect([scheduler.nextAt, scheduler.size]).toEqual([100, 2]);
    scheduler.wake(99);
    expect(begin(scheduler)).toEqual([]);
    add(scheduler, 'b', 1);
    expect(begin(scheduler)).toEqual(['b1']);
    scheduler.wake(100);
    expect(begin(scheduler)).toEqual(['refill a']);
    expect(scheduler.nextAt).toBe(250);
    scheduler.refilled('a', { ids: [], more: false, nextAt: 180 });
    expect(scheduler.nextAt).toBe(180);
  });

  test('is refilled later if the store has failed', () => {
    const scheduler = schedulerWith();
    scheduler.addEndpoint({ endpoint: 'a', organization: 'o', integration: 'i' });
    expect(begin(scheduler)).toEqual(['refill a']);
    scheduler.refillFailed('a', 5_000);
    expect(begin(scheduler)).toEqual([]);
    scheduler.wake(5_000);
    expect(begin(scheduler)).toEqual(['refill a']);
  });
});

test('ten thousand endpoints take turns, back off and resume as fast as a few', () => {
  const scheduler = schedulerWith({ deliveriesInFlight: 64 });
  const count = 10_000;
  for (let index = 0; index < count; index += 1) add(scheduler, `${index} `, 3, `${index}`);
  const seen = new Map<string, number>();
  let now = 0;
  const turns = () => {
    for (let steps = 0; seen.size < 2 * count && steps < 10 * count; steps += 1) {
      for (const id of begin(scheduler)) {
        const endpoint = `${id.split(' ')[0]} `;
        seen.set(id, (seen.get(id) ?? 0) + 1);
        now += 1;
        scheduler.retryAt(endpoint, now + 1_000);
        scheduler.done(endpoint, 'succeeded');
      }
    }
  };
  // Some microseconds each; a scan of all of them each time would take minutes.
  expect(cpuMs(turns)).toBeLessThan(5_000);
  expect(Math.max(...seen.values())).toBe(1);
});

test('in any order of operations, no delivery is lost and no quota is exceeded', () => {
  const limits = {
    deliveriesInFlight: 7,
    deliveriesInFlightPerOrganization: 3,
    deliveriesInFlightPerEndpoint: 2,
  };
  const scheduler = schedulerWith({ ...limits, failuresBeforeProbing: 2 });
  /** The store, by endpoint: ids and due times. */
  const store = new Map<string, Map<string, number>>();
  const endpoints = Array.from({ length: 12 }, (_, index) => `e${index}`);
  const organizationOf = (endpoint: string) => `o${Number(endpoint.slice(1)) % 3}`;
  const integrationOf = (endpoint: string) => (Number(endpoint.slice(1)) % 4 === 0 ? 'rare' : 'common');
  for (const endpoint of endpoints) store.set(endpoint, new Map());
  const inFlight: { endpoint: string; id: string }[] = [];
  let now = 0;
  let seed = 11;
  const draw = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  const due = (endpoint: string) => {
    const rows = [...(store.get(endpoint) ?? [])].filter(([id]) => !inFlight.some((each) => each.id === id));
    const ids = rows.filter(([, at]) => at <= now).map(([id]) => id);
    const later = rows.map(([, at]) => at).filter((at) => at > now);
    return { ids, more: false, ...(later.length > 0 && { nextAt: Math.min(...later) }) };
  };
  const step = () => {
    scheduler.wake(now);
    for (let next = scheduler.next(); next !== undefined; next = scheduler.next()) {
      if (!('id' in next)) scheduler.refilled(next.endpoint, due(next.endpoint));
      else if ((store.get(next.endpoint)?.get(next.id) ?? Number.POSITIVE_INFINITY) > now)
        scheduler.done(next.endpoint, 'none');
      else if (draw(10) === 0) {
        // The store fails.
        scheduler.backOff(next.endpoint, now + 1 + draw(5));
        scheduler.done(next.endpoint, 'none');
      } else inFlight.push(next);
    }
    expect(inFlight.length).toBeLessThanOrEqual(limits.deliveriesInFlight);
    for (const endpoint of endpoints)
      expect(inFlight.filter((each) => each.endpoint === endpoint).length).toBeLessThanOrEqual(2);
    for (const organization of ['o0', 'o1', 'o2'])
      expect(
        inFlight.filter((each) => organizationOf(each.endpoint) === organization).length,
      ).toBeLessThanOrEqual(3);
    expect(inFlight.filter((each) => integrationOf(each.endpoint) === 'common').length).toBeLessThanOrEqual(
      6,
    );
  };
  const end = () => {
    const [ended] = inFlight.splice(draw(inFlight.length), 1);
    if (ended === undefined) return;
    scheduler.setSlow(ended.endpoint, draw(2) === 0);
    if (draw(3) === 0) {
      const at = now + 1 + draw(50);
      store.get(ended.endpoint)?.set(ended.id, at);
      scheduler.retryAt(ended.endpoint, at);
      scheduler.done(ended.endpoint, 'failed');
    } else {
      store.get(ended.endpoint)?.delete(ended.id);
      scheduler.done(ended.endpoint, 'succeeded');
    }
  };
  for (let made = 0; made < 3_000; made += 1) {
    const endpoint = endpoints[draw(endpoints.length)] ?? '';
    store.get(endpoint)?.set(`${made}`, now);
    const organization = organizationOf(endpoint);
    scheduler.add({ id: `${made}`, endpoint, organization, integration: integrationOf(endpoint) });
    now += draw(3);
    step();
    if (draw(4) > 0) end();
  }
  for (let steps = 0; steps < 20_000 && scheduler.size > 0; steps += 1) {
    now += 1;
    step();
    end();
  }
  expect([...store.values()].map(({ size }) => size)).toEqual(endpoints.map(() => 0));
  expect([scheduler.size, scheduler.inFlight]).toEqual([0, 0]);
});

test('a FIFO queue returns items in their order, and those added before all others first', () => {
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

test('a heap returns the earliest first', () => {
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

describe('an endpoint with a pace', () => {
  const PACE = { intervalMs: 100, notBefore: 0 };

  test('has a turn in each interval, loses none, and takes no place while it waits', () => {
    const scheduler = schedulerWith({ deliveriesInFlight: 1 });
    scheduler.wake(1_000);
    add(scheduler, 'a', 5);
    scheduler.setPace('a', PACE);
    const at: [number, string][] = [];
    for (let now = 1_000; now < 2_000; now += 10) {
      scheduler.wake(now);
      for (const id of begin(scheduler)) {
        at.push([now, id]);
        if (id.startsWith('refill')) scheduler.refilled('a', { ids: [], more: false });
        else scheduler.done('a', 'succeeded');
      }
    }
    const turns = at.filter(([, id]) => !id.startsWith('refill'));
    expect(turns).toEqual([1, 2, 3, 4, 5].map((number) => [900 + 100 * number, `a${number}`]));
    expect(scheduler.size).toBe(0);
  });

  test('does not delay others, and goes on at once when the pace is taken away', () => {
    const scheduler = schedulerWith();
    add(scheduler, 'a', 3);
    scheduler.setPace('a', { ...PACE, notBefore: 50 });
    add(scheduler, 'b', 2);
    expect(begin(scheduler)).toEqual(['b1', 'b2']);
    expect(scheduler.nextAt).toBe(50);
    scheduler.wake(49);
    expect(begin(scheduler)).toEqual([]);
    scheduler.wake(50);
    expect(begin(scheduler)).toEqual(['a1']);
    scheduler.setPace('a', undefined);
    scheduler.done('a', 'succeeded');
    expect(begin(scheduler)).toEqual(['a2', 'a3', 'refill a']);
  });

  test('is not before the later of two times, such as another node has taken', () => {
    const scheduler = schedulerWith();
    add(scheduler, 'a', 2);
    scheduler.setPace('a', { ...PACE, notBefore: 300 });
    scheduler.setPace('a', { ...PACE, notBefore: 200 });
    expect(begin(scheduler)).toEqual([]);
    expect(scheduler.nextAt).toBe(300);
  });
});
