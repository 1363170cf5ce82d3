/**
 * `context.storage` of the SDK (docs/contract/storage.md#sdk): code in real isolates, its limits,
 * what it reaches, and what it cannot break.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

/** Runs the code of a request, with the context of its call. */
const RUNNER = `import { createIntegration, StorageError } from '@annex/sdk';
const AsyncFunction = (async () => {}).constructor;
export default createIntegration({
  async fetch(request, context) {
    const code = await request.text();
    try {
      const run = (${'{'} storage, integration, context, StorageError ${'}'}) => CASES[code]({ storage, integration, context, StorageError });
      return Response.json({ value: (await run({ storage: context.storage, integration: context.integration, context, StorageError })) ?? null });
    } catch (error) {
      return Response.json({ error: error.name, code: error.code, message: error.message });
    }
  },
});
const CASES = {
CASES_HERE
};`;

const CASES: Record<string, string> = {
  values: `async ({ storage }) => {
    const values = [null, 0, 'ä\\u{1f600}\\0', '\\ud800', [1, { a: [] }], { __proto__: null, b: 1 }, JSON.parse('{"__proto__": 1}')];
    const read = [];
    for (const value of values) {
      await storage.put('v', value);
      read.push(JSON.stringify(await storage.get('v')));
    }
    await storage.put('v', new Uint8Array([0, 255, 7]));
    const bytes = await storage.get('v');
    await storage.put('v', new Uint8Array([1, 2, 3]).subarray(1).slice().buffer);
    const entry = await storage.getEntry('v');
    const was = [await storage.delete('v'), await storage.delete('v'), await storage.get('v') === undefined];
    return { read, bytes: [bytes instanceof Uint8Array, ...bytes], buffer: [...entry.value], version: typeof entry.version, was };
  }`,
  empty: `async ({ storage }) => {
    await storage.put('e', new Uint8Array());
    await storage.put('s', '');
    const many = await storage.getMany(['e', 's', 'absent', 'e']);
    await storage.delete('e'); await storage.delete('s');
    return [...many].map(([key, value]) => [key, value.length]);
  }`,
  list: `async ({ storage }) => {
    for (const key of ['l/a', 'l/b', 'l/c', 'm']) await storage.put(key, key, { expiresIn: 60 });
    const first = await storage.list({ prefix: 'l/', limit: 2 });
    const second = await storage.list({ prefix: 'l/', limit: 2, cursor: first.cursor });
    const item = first.items[0];
    for (const key of ['l/a', 'l/b', 'l/c', 'm']) await storage.delete(key);
    return { keys: [first, second].map(({ items }) => items.map(({ key }) => key)), last: second.cursor === undefined,
      item: [item.kind, item.bytes, item.expiresAt instanceof Date, item.updatedAt instanceof Date] };
  }`,
  update: `async ({ storage }) => {
    await Promise.all(Array.from({ length: 8 }, () => storage.update('u', (list = []) => [...list, list.length])));
    return storage.get('u');
  }`,
  increment: `async ({ storage, integration }) => {
    await Promise.all(Array.from({ length: 100 }, () => storage.increment('n')));
    return [await storage.increment('n', -50), await integration.storage.increment('shared')];
  }`,
  conflict: `async ({ storage }) => {
    await storage.put('c', 1);
    await storage.put('c', 2, { ifVersion: 0 });
  }`,
  full: `async ({ storage }) => {
    const puts = await Promise.allSettled(Array.from({ length: 60 }, (_, at) => storage.put('full/' + at, at)));
    const { items } = await storage.list({ prefix: 'full/' });
    for (const { key } of items) await storage.delete(key);
    const reason = puts.find(({ status }) => status === 'rejected').reason;
    return [items.length < 60, reason.name, reason.code];
  }`,
  operations: `async ({ storage }) => {
    const all = await Promise.allSettled(Array.from({ length: 230 }, () => storage.get('x')));
    return [all.filter(({ status }) => status === 'fulfilled').length, all.at(-1).reason.message];
  }`,
  largest: `async ({ storage }) => {
    const text = 'ä'.repeat(4_096 * 16 - 1);
    await storage.put('large', text);
    const bytes = new Uint8Array(131_072).fill(7);
    await storage.put('large bytes', bytes);
    const same = [await storage.get('large') === text, (await storage.get('large bytes')).every((byte) => byte === 7)];
    await storage.delete('large'); await storage.delete('large bytes');
    return [...same, await storage.put('x', text + 'x').catch(({ message }) => message)];
  }`,
  tooLarge: `({ storage }) => storage.put('x', 'x'.repeat(10_000_000))`,
  nothing: `({ storage }) => storage.put('x', undefined)`,
  surrogate: `({ storage }) => storage.put('\\ud800', 1)`,
  nul: `({ storage }) => storage.get('a\\0')`,
  dots: `({ storage }) => storage.get('..')`,
  longKey: `({ storage }) => storage.get('x'.repeat(1_000_000))`,
  forgedCursor: `({ storage }) => storage.list({ cursor: '\\0' })`,
  forgedLimit: `({ storage }) => storage.list({ limit: 1e9 })`,
  halfNumber: `({ storage }) => storage.increment('n', 0.5)`,
  whole: `async ({ storage }) => { await storage.put('w', '5'); await storage.increment('w'); }`,
  symbol: `({ storage }) => storage.get(Symbol.iterator)`,
  expiry: `({ storage }) => storage.put('x', 1, { expiresIn: -1 })`,
  broken: `async ({ storage }) => {
    const { then } = Promise.prototype;
    Array.prototype.then = Object.prototype.resolve = Object.prototype.pending = function () { throw new Error('reached'); };
    try { await storage.put('b', 1); return await storage.get('b'); }
    finally { delete Array.prototype.then; delete Object.prototype.resolve; delete Object.prototype.pending; }
  }`,
  left: `({ storage }) => { for (let at = 0; at < 100; at += 1) void storage.increment('left').catch(() => {}); }`,
  readLeft: `({ storage }) => storage.get('left')`,
  own: `async ({ storage, integration }) => [await storage.get('mark'), await integration.storage.get('mark')]`,
  mark: `async ({ storage, integration, context }) => {
    await storage.put('mark', context.environment.installation.id);
    await integration.storage.put('mark', context.environment.integration.name);
  }`,
};

const LIMITS = { storageOperationsPerCall: 200, storageKeys: 50, fetchesPerCall: 2 };

const script = RUNNER.replace('CASES_HERE', () =>
  Object.entries(CASES)
    .map(([name, code]) => `${name}: ${code}`)
    .join(',\n'),
);

let service: TestService;
let own: Installed;
let sibling: Installed;
let foreign: Installed;
beforeAll(async () => {
  service = await TestService.start({ cells: 1, limits: LIMITS });
  for (const name of ['runner', 'other'])
    await service.publish(name, { 'index.js': script }, 'target: all\n');
  own = await service.install('runner');
  sibling = await service.install('runner');
  foreign = await service.install('other');
});
afterAll(() => service.stop());

const run = async (name: keyof typeof CASES & string, { endpoint } = own) => {
  const answer = await fetch(`${endpoint}/`, { method: 'POST', body: name });
  return (await answer.json()) as Record<string, unknown>;
};

describe('context.storage', () => {
  test('keeps JSON and bytes as they are', async () => {
    expect(await run('values')).toEqual({
      value: {
        read: ['null', '0', '"ä😀\\u0000"', '"\\ud800"', '[1,{"a":[]}]', '{"b":1}', '{"__proto__":1}'],
        bytes: [true, 0, 255, 7],
        buffer: [2, 3],
        version: 'number',
        was: [true, false, true],
      },
    });
    expect(await run('empty')).toEqual({
      value: [
        ['e', 0],
        ['s', 0],
      ],
    });
  });

  test('lists keys by prefix, page by page', async () => {
    expect(await run('list')).toEqual({
      value: { keys: [['l/a', 'l/b'], ['l/c']], last: true, item: ['json', 8, true, true] },
    });
  });

  test('loses no change of calls at once', async () => {
    expect(((await run('update'))['value'] as number[]).toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await run('increment')).toEqual({ value: [50, 1] });
  });

  test('refuses by name what does not fit', async () => {
    expect(await run('conflict')).toMatchObject({ error: 'StorageError', code: 'STORED_VALUE_CHANGED' });
    expect(await run('full')).toEqual({ value: [true, 'StorageError', 'STORAGE_FULL'] });
    expect(await run('largest')).toEqual({
      value: [true, true, expect.stringContaining('the limit is 131072 bytes (storageValueBytes)')],
    });
    expect(await run('tooLarge')).toMatchObject({
      error: 'TypeError',
      message: expect.stringContaining('storageValueBytes'),
    });
    expect(await run('nothing')).toMatchObject({ message: expect.stringContaining('cannot be stored') });
    expect(await run('longKey')).toMatchObject({
      error: 'TypeError',
      message: expect.stringContaining('too large'),
    });
    expect(await run('whole')).toMatchObject({ code: 'STORED_VALUE_NOT_WHOLE' });
    for (const name of [
      'surrogate',
      'nul',
      'dots',
      'forgedCursor',
      'forgedLimit',
      'halfNumber',
      'symbol',
      'expiry',
    ])
      expect(await run(name), name).toMatchObject({ error: 'StorageError', code: 'REQUEST_INVALID' });
  });

  test('storageOperationsPerCall: the maximum is done, and one more is refused; fetches are counted apart', async () => {
    expect(await run('operations')).toEqual({
      value: [200, expect.stringContaining('the limit is 200 (storageOperationsPerCall)')],
    });
    expect(await service.metric('annex_limits_met_total{limit="storageOperationsPerCall"}')).toBeGreaterThan(
      0,
    );
  });

  test('works where code has replaced what promises and objects inherit', async () => {
    expect(JSON.stringify(await run('broken'))).toMatch(/"value":1|reached/);
    expect(await run('increment')).toMatchObject({ value: expect.any(Array) });
  });

  test('of a call that does not wait, nothing is left behind, and the log says so', async () => {
    await run('left');
    await expect
      .poll(async () =>
        (await service.log(own)).some(({ text }) => text.includes('operations of storage were pending')),
      )
      .toBe(true);
    const left = (await run('readLeft'))['value'] as number;
    expect(left).toBeLessThanOrEqual(100);
    expect(await run('readLeft')).toEqual({ value: left });
  });

  test('is the own of each installation, and that of the integration is shared by them alone', async () => {
    await run('mark');
    expect(await run('own')).toEqual({ value: [own.id, 'runner'] });
    expect(await run('own', sibling)).toEqual({ value: [null, 'runner'] });
    expect(await run('own', foreign)).toEqual({ value: [null, null] });
    const space = await service.installBelow('runner', own, 'space', 'sp-1');
    expect(await run('own', space)).toEqual({ value: [own.id, 'runner'] });
  });
});
