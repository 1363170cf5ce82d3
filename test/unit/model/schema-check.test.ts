/** The cost of checking a value is bounded by its schema, however large the value is. */
import Type from 'typebox';
import { describe, expect, test } from 'vitest';
import { EDIT_BODIES } from '../../../src/host/http/control/installations/installation-view.ts';
import { configurationChecker } from '../../../src/model/configuration-check.ts';
import { POSTED_TYPES } from '../../../src/model/posted-event.ts';
import { schemaCheck } from '../../../src/model/schema-check.ts';
import { faultText } from '../../../src/model/schema-fault.ts';

/** Wraps a value so that reads of its items or members are counted. */
function counting<Value extends object>(value: Value): { readonly value: Value; reads(): number } {
  let reads = 0;
  const counted = new Proxy(value, {
    get(target, name, receiver) {
      reads += 1;
      return Reflect.get(target, name, receiver);
    },
  });
  return { value: counted, reads: () => reads };
}

const named = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, value]));

describe('a check reads of a value', () => {
  const check = schemaCheck(EDIT_BODIES.organization);

  // Attack: a body of wrong items, each of which would become a fault.
  test.each([
    ['wrong items', 1],
    ['right items', 'x'],
  ])('no entry of a list with too many %s', (_title, item) => {
    const { value, reads } = counting(new Array(520_000).fill(item));
    const faults = check({ externalIds: value });
    expect(faultText('body', faults)).toBe('body.externalIds must not have more than 5 items.');
    expect(reads()).toBeLessThan(20);
  });

  test('a few of the members that no schema has', () => {
    const { value, reads } = counting(named(150_000, 1));
    const faults = check(value);
    expect(faults.length).toBeLessThanOrEqual(10);
    expect(faultText('body', faults)).toMatch(/^body has unknown members: m0, m1, /);
    expect(reads()).toBeLessThan(100);
  });

  test('no member of an object with free members if the fault is elsewhere', () => {
    const { value, reads } = counting(named(100_000, 1));
    expect(faultText('body', check({ configuration: value, externalIds: 1 }))).toBe(
      'body.externalIds must be array.',
    );
    expect(reads()).toBeLessThan(100);
  });

  test('enough to find the one invalid member of a long record', () => {
    const record = schemaCheck(Type.Object({ cookies: Type.Record(Type.String(), Type.String()) }));
    const cookies = { ...named(10_000, 'x'), last: 1 };
    expect(faultText('body', record({ cookies }))).toContain('body.cookies.last must be string');
    expect(record({ cookies: named(10_000, 'x') })).toEqual([]);
  });

  test('as little of an event', () => {
    const { check: checkEvent } = POSTED_TYPES.get('space_view') ?? { check: () => [] };
    const { value, reads } = counting(named(100_000, 1));
    expect(checkEvent(value)).not.toEqual([]);
    expect(reads()).toBeLessThan(200);
  });
});

describe('a check of a configuration reads', () => {
  const declared = {
    properties: {
      events: {
        type: 'string',
        title: 'Events',
        description: 'Which.',
        multiple: true,
        enum: ['a', 'b', 'c'],
      },
    },
    required: ['events'],
  } as unknown as Parameters<typeof configurationChecker>[0];
  const check = configurationChecker(declared);

  // Attack: 64 KiB of values, each of which is compared with every declared choice.
  test('one entry more of a list than there are choices', () => {
    const { value, reads } = counting(new Array(20_000).fill('a'));
    expect(check({ events: value })).toMatchObject([{ property: 'events' }]);
    expect(reads()).toBeLessThan(50);
  });

  test('is no property that is not declared', () => {
    const { value, reads } = counting({ events: ['a'], ...named(10_000, 1) });
    expect(check(value)).toEqual([]);
    expect(reads()).toBeLessThan(50);
  });

  test.each([
    [{ events: ['a', 'b', 'c'] }, 0],
    [{ events: ['a', 'b', 'c', 'a'] }, 1],
    [{ events: ['a', 'd'] }, 1],
    [{ events: [] }, 1],
    [{ toString: 1 }, 1],
  ])('decides as the whole would: %j', (configuration, problems) => {
    expect(check(configuration)).toHaveLength(problems);
  });
});
