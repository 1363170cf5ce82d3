/** Marks and measures of `performance`, and the bound of their buffer. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
beforeEach(async () => {
  await isolate.run('performance.clearMarks(); performance.clearMeasures();');
});
afterAll(() => isolate.dispose());

const TOOLS = 'const attempt = (run) => { try { return run(); } catch (error) { return error.name; } };';

test('a mark has a name, a time and a copy of its detail', async () => {
  expect(
    await isolate.run(`
      const detail = { a: [1] };
      const before = performance.now();
      const mark = performance.mark('m', { detail });
      detail.a.push(2);
      const at = performance.mark('at', { startTime: 12.5 });
      const own = new PerformanceMark('own', { startTime: 3 });
      return [mark.name, mark.entryType, mark.duration, mark.startTime >= before && mark.startTime <= performance.now(), mark.detail,
        at.startTime, at.detail, own.startTime, mark instanceof PerformanceMark, mark instanceof PerformanceEntry, String(mark), at.toJSON(),
        performance.getEntries().map(({ name }) => name).sort()];`),
  ).toEqual([
    'm',
    'mark',
    0,
    true,
    { a: [1] },
    12.5,
    null,
    3,
    true,
    true,
    '[object PerformanceMark]',
    { name: 'at', entryType: 'mark', startTime: 12.5, duration: 0, detail: null },
    ['at', 'm'],
  ]);
});

test('a measure lies between marks, times, or the beginning and now', async () => {
  expect(
    await isolate.run(`
      performance.mark('a', { startTime: 10 });
      performance.mark('b', { startTime: 30 });
      performance.mark('a', { startTime: 20 });
      const span = ({ startTime, duration }) => [startTime, startTime + duration];
      const now = performance.now();
      const all = span(performance.measure('all'));
      const open = span(performance.measure('open', 'a'));
      return [
        [['a', 'b'], [{ start: 'a', end: 'b' }], [{ start: 5, duration: 7 }], [{ end: 'b', duration: 7 }], [{ start: 'b', end: 1 }], [undefined, 'b'], [{}, 'b'], [null, 'b']]
          .map((args) => span(performance.measure('m', ...args))),
        all[0], all[1] >= now, open[0], open[1] >= now,
        performance.measure('d', { start: 1, detail: [1] }).detail, performance.measure('n') instanceof PerformanceMeasure,
      ];`),
  ).toEqual([
    [
      [20, 30],
      [20, 30],
      [5, 12],
      [23, 30],
      [30, 1],
      [0, 30],
      [0, 30],
      [0, 30],
    ],
    0,
    true,
    20,
    true,
    [1],
    true,
  ]);
});

test('invalid arguments are refused with named errors', async () => {
  expect(
    await isolate.run(`${TOOLS}
      return [() => performance.mark(), () => performance.mark('m', { startTime: -1 }), () => performance.mark('m', { startTime: 'x' }), () => performance.mark('m', { detail: () => {} }),
        () => performance.measure(), () => performance.measure('m', 'missing'), () => performance.measure('m', { start: 1 }, 'end'), () => performance.measure('m', { detail: 1 }),
        () => performance.measure('m', { start: 1, end: 2, duration: 1 }), () => performance.measure('m', { start: -1 }), () => new PerformanceEntry(), () => new PerformanceMeasure(),
        () => performance.getEntriesByName(), () => Performance.prototype.mark.call({}, 'm')].map(attempt).concat(performance.getEntries().length);`),
  ).toEqual([
    'TypeError',
    'TypeError',
    'TypeError',
    'DataCloneError',
    'TypeError',
    'SyntaxError',
    ...Array(8).fill('TypeError'),
    0,
  ]);
});

test('entries are found by name and type, in the order of their start, and cleared by name', async () => {
  expect(
    await isolate.run(`
      for (const [name, startTime] of [['a', 3], ['b', 1], ['a', 2]]) performance.mark(name, { startTime });
      performance.measure('a', { start: 0, end: 1 });
      const show = (entries) => entries.map(({ name, entryType, startTime }) => name + entryType[1] + startTime).join();
      const found = [performance.getEntries(), performance.getEntriesByType('mark'), performance.getEntriesByName('a'), performance.getEntriesByName('a', 'measure'),
        performance.getEntriesByType('resource')].map(show);
      performance.clearMarks('a');
      found.push(show(performance.getEntries()));
      performance.clearMeasures();
      found.push(show(performance.getEntries()));
      performance.clearMarks();
      return [...found, show(performance.getEntries())];`),
  ).toEqual(['ae0,ba1,aa2,aa3', 'ba1,aa2,aa3', 'ae0,aa2,aa3', 'ae0', '', 'ae0,ba1', 'ba1', '']);
});

test('an observer is told of the kinds that it asked for, later, in order, and no more once it disconnects', async () => {
  expect(
    await isolate.run(`
      ${TOOLS}
      const told = [];
      const flush = async () => { for (let i = 0; i < 10; i++) await undefined; };
      performance.mark('before');
      const all = new PerformanceObserver(function (list, observer) {
        told.push(['all', list.getEntries().map(({ name }) => name), list.getEntriesByType('measure').length, this === all && observer === all]);
      });
      all.observe({ entryTypes: ['measure', 'mark', 'unknown'] });
      const marks = new PerformanceObserver((list) => { told.push(['marks', list.getEntriesByName('before').length, list.getEntries().length]); throw new Error('ignored'); });
      marks.observe({ type: 'mark', buffered: true });
      marks.observe({ type: 'unknown' });
      const taker = new PerformanceObserver(() => told.push('taker'));
      taker.observe({ type: 'measure' });
      performance.mark('m', { startTime: 2 });
      performance.measure('length', 'm');
      const now = told.length;
      const taken = taker.takeRecords().map(({ name }) => name);
      await flush();
      all.disconnect();
      performance.mark('after');
      await flush();
      for (let i = 0; i < 1_010; i++) performance.mark('many');
      const kept = marks.takeRecords().length;
      const refused = [() => PerformanceObserver(), () => new PerformanceObserver(), () => all.observe(), () => all.observe({ entryTypes: 1 }), () => all.observe({ entryTypes: [], type: 'mark' }),
        () => marks.observe({ entryTypes: ['mark'] }), () => new PerformanceObserverEntryList(), () => new PerformanceResourceTiming()].map(attempt);
      return [now, told, taken, kept, refused, PerformanceObserver.supportedEntryTypes, prelude.thrown.length];`),
  ).toEqual([
    0,
    [
      ['marks', 1, 2],
      ['all', ['m', 'length'], 1, true],
      ['marks', 0, 1],
    ],
    ['length'],
    1_000,
    [...Array(5).fill('TypeError'), 'InvalidModificationError', 'TypeError', 'TypeError'],
    ['mark', 'measure', 'resource'],
    2,
  ]);
});

test('both sides of the bound: the last 1,000 are kept, the oldest is dropped', async () => {
  expect(
    await isolate.run(`
      for (let i = 0; i < 1_000; i++) performance.mark('m' + i, { startTime: i });
      const full = [performance.getEntries().length, performance.getEntries()[0].name];
      performance.mark('last', { startTime: 1e6 });
      const entries = performance.getEntries();
      return [full, entries.length, entries[0].name, entries[999].name];`),
  ).toEqual([[1_000, 'm0'], 1_000, 'm1', 'last']);
});

test('attack: built-ins replaced first and setters of a script see no entry', async () => {
  const own = await createWebIsolate();
  try {
    expect(
      await own.run(`
        let seen = 0;
        const spy = () => { seen++; };
        Array.prototype.push = Array.prototype.sort = Array.prototype.filter = String.prototype.slice = spy;
        Object.prototype.startTime = 5;
        for (let i = 0; i < 4; i++) Object.defineProperty(Array.prototype, i, { set: spy, configurable: true });
        performance.mark('a', { startTime: 2 });
        performance.mark('b');
        performance.measure('m', 'a', 'b');
        const entries = performance.getEntries();
        for (let i = 0; i < 4; i++) delete Array.prototype[i];
        delete Object.prototype.startTime;
        return [entries.length, entries[0].name, entries[1].name, seen];`),
    ).toEqual([3, 'a', 'm', 0]);
  } finally {
    own.dispose();
  }
});
