/** `Temporal.Now` of an isolate: correct, and no finer than the other clocks. */
import ivm from 'isolated-vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

test('attack: no function of Temporal.Now has fractions of a millisecond', async () => {
  expect(
    await isolate.run(`
      const finer = new Set();
      for (let i = 0; i < 2000; i++) {
        for (const [name, parts] of [['plainDateTimeISO', Temporal.Now.plainDateTimeISO()], ['plainTimeISO', Temporal.Now.plainTimeISO('UTC')], ['zonedDateTimeISO', Temporal.Now.zonedDateTimeISO()]])
          if (parts.microsecond !== 0 || parts.nanosecond !== 0) finer.add(name);
        if (Temporal.Now.instant().epochNanoseconds % 1000000n !== 0n) finer.add('instant');
      }
      return [...finer];`),
  ).toEqual([]);
});

test('Temporal.Now has the time in any zone, in the shape of the engine’s', async () => {
  expect(
    await isolate.run(`
      const isNow = (read) => { const before = Date.now(); const time = read(); return before <= time && time <= Date.now(); };
      const attempt = (run) => { try { return run(); } catch (error) { return error.name; } };
      const zoned = Temporal.Now.zonedDateTimeISO('Asia/Tokyo');
      return [isNow(() => Temporal.Now.instant().epochMilliseconds), isNow(() => Temporal.Now.zonedDateTimeISO('Asia/Tokyo').epochMilliseconds), zoned.timeZoneId, isNow(() => Temporal.Now.plainDateTimeISO('UTC').toZonedDateTime('UTC').epochMilliseconds),
        Temporal.Now.plainTimeISO() instanceof Temporal.PlainTime, Temporal.Now.zonedDateTimeISO().timeZoneId === Temporal.Now.timeZoneId(), attempt(() => Temporal.Now.zonedDateTimeISO('Nowhere')),
        attempt(() => Temporal.Now.zonedDateTimeISO(1)), attempt(() => new Temporal.Now.instant()),
        ['instant', 'plainDateTimeISO', 'plainTimeISO', 'zonedDateTimeISO'].map((name) => [Temporal.Now[name].name, Temporal.Now[name].length, Object.getOwnPropertyDescriptor(Temporal.Now, name).enumerable])];`),
  ).toEqual([
    true,
    true,
    'Asia/Tokyo',
    true,
    true,
    true,
    'RangeError',
    'TypeError',
    'TypeError',
    ['instant', 'plainDateTimeISO', 'plainTimeISO', 'zonedDateTimeISO'].map((name) => [name, 0, false]),
  ]);
});

test('Temporal is otherwise the engine’s, complete and in its shape', async () => {
  const bare = new ivm.Isolate();
  const SHAPE = `(() => {
    const shape = (target) => Reflect.ownKeys(target).map((key) => {
      const { value, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(target, key);
      return [String(key), typeof value, typeof value === 'function' ? [value.name, value.length, 'prototype' in value] : String(value), writable, enumerable, configurable];
    });
    const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(globalThis, 'Temporal');
    return JSON.stringify([shape(Temporal), shape(Temporal.Now), String(Temporal.Now.timeZoneId()), Temporal.PlainDate.from('2026-02-28').add({ days: 1 }).toString(), enumerable]);
  })()`;
  const expected = JSON.parse(String(await (await bare.createContext()).eval(SHAPE)));
  bare.dispose();
  expect(JSON.parse(String(await isolate.run(`return ${SHAPE};`)))).toEqual(expected);
});

test('attack: the engine’s Temporal.Now cannot be reached', async () => {
  expect(
    await isolate.run(`
      const seen = new Set();
      const queue = [globalThis, new Date(0).toTemporalInstant()];
      let found = false;
      for (const value of queue) {
        if (Object(value) !== value || seen.has(value)) continue;
        seen.add(value);
        if (typeof value === 'function' && value.name === 'zonedDateTimeISO' && Function.prototype.toString.call(value).includes('[native code]')) found = true;
        queue.push(Object.getPrototypeOf(value));
        for (const key of Reflect.ownKeys(value)) {
          const { value: member, get } = Object.getOwnPropertyDescriptor(value, key);
          queue.push(member, get);
        }
      }
      return [found, seen.size > 1000];`),
  ).toEqual([false, true]);
});
