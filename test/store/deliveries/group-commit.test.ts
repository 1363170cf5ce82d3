/**
 * Group commit: what shares a transaction, whom a failure affects, and when callers are answered.
 */
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Gathered, GroupCommit, type GroupCommitOptions } from '../../../src/host/database/group-commit.ts';
import type { Database } from '../../../src/host/database/tables.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { openTestDatabase } from '../../support/store/test-engine.ts';

/**
 * A database with a table of unique numbers; the foreign key to a parent is checked at the commit.
 */
async function opened(options: GroupCommitOptions = {}) {
  const folder = await temporaryFolder({ inMemory: true });
  const database = await openTestDatabase(folder);
  onTestFinished(() => database.destroy());
  await sql`create table numbers (
    n integer primary key, parent integer references numbers (n) deferrable initially deferred)`.execute(
    database,
  );
  const committed = async () => {
    const { rows } = await sql<{ n: number }>`select n from numbers order by n`.execute(database);
    return rows.map(({ n }) => n);
  };
  return { commits: new GroupCommit(database, options), committed };
}

/** Inserts a number, and counts the executions. */
function put(n: number, parent: number | null = null) {
  const work = async (transaction: Database) => {
    work.runs += 1;
    await sql`insert into numbers (n, parent) values (${n}, ${parent})`.execute(transaction);
    return n;
  };
  work.runs = 0;
  return work;
}

const refused = async () => {
  throw new Error('refused');
};

const outcomes = async (asked: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(asked)).map((one) => (one.status === 'fulfilled' ? one.value : 'failed'));

describe('a group commit', () => {
  test('answers each caller with its own result, after the commit', async () => {
    const { commits, committed } = await opened();
    expect(await Promise.all([3, 1, 2].map((n) => commits.run(put(n))))).toEqual([3, 1, 2]);
    expect(await committed()).toEqual([1, 2, 3]);
  });

  test('shares a transaction within a turn: a failure rolls back the others, which are run again', async () => {
    const { commits, committed } = await opened();
    const good = [put(1), put(2), put(3)];
    const asked = [...good.map((work) => commits.run(work)), commits.run(refused)];
    await expect(asked[3]).rejects.toThrow('refused');
    expect(await outcomes(asked)).toEqual([1, 2, 3, 'failed']);
    expect(await committed()).toEqual([1, 2, 3]);
    // Once with the failing one, and then in its half, or in that half's halves.
    expect(good.map((work) => work.runs)).toEqual([2, 2, 3]);
  });

  test('refuses work that waits too long for a transaction that does not end, before it is run', async () => {
    const { commits, committed } = await opened({ waitMsMax: 10 });
    const { promise: hangs, resolve: end } = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const first = commits.run(async (transaction) => {
      started.resolve();
      await hangs;
      return put(1)(transaction);
    });
    await started.promise;
    const late = put(2);
    await expect(commits.run(late)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', status: 503 });
    end();
    expect(await first).toBe(1);
    expect(await commits.run(put(3))).toBe(3);
    expect(late.runs).toBe(0);
    expect(await committed()).toEqual([1, 3]);
    await commits.close();
  });

  test('isolates one failure among a thousand in a few transactions, not in a thousand', async () => {
    const { commits, committed } = await opened();
    const good = Array.from({ length: 1_000 }, (_, n) => put(n));
    const asked = good.map((work, n) => commits.run(n === 617 ? refused : work));
    expect((await outcomes(asked)).filter((one) => one === 'failed')).toHaveLength(1);
    expect(await committed()).toHaveLength(999);
    expect(Math.max(...good.map((work) => work.runs))).toBeLessThanOrEqual(11);
  });

  test('answers no caller before the commit is durable: if the commit fails, its work has failed', async () => {
    const { commits, committed } = await opened();
    const asked = [commits.run(put(1)), commits.run(put(2, 404)), commits.run(put(3, 1))];
    expect(await outcomes(asked)).toEqual([1, 'failed', 3]);
    await expect(asked[1]).rejects.toThrow(/constraint/i);
    expect(await committed()).toEqual([1, 3]);
  });

  test('work requested during a commit joins the next one', async () => {
    const { commits, committed } = await opened();
    let late: Promise<number> | undefined;
    const first = commits.run((transaction) => {
      late = commits.run(put(2));
      return put(1)(transaction);
    });
    expect(await first).toBe(1);
    expect(await late).toBe(2);
    expect(await committed()).toEqual([1, 2]);
  });

  test('yields to the event loop in the middle of a long transaction', async () => {
    const { commits } = await opened();
    const order: string[] = [];
    const busy = (name: string) => async () => {
      setImmediate(() => order.push(`other work after ${name}`));
      for (const begun = performance.now(); performance.now() - begun < 6; );
      order.push(name);
    };
    const asked = ['one', 'two'].map((name) => commits.run(busy(name)));
    await Promise.all(asked);
    expect(order.slice(0, 3)).toEqual(['one', 'other work after one', 'two']);
  });

  test('sends pipelined work behind one another, and other work alone', async () => {
    const { commits } = await opened({ inFlightMax: 2 });
    const order: string[] = [];
    const inTwoSteps = (name: string, n: number) => async (transaction: Database) => {
      order.push(`${name} starts`);
      await put(n)(transaction);
      order.push(`${name} ends`);
    };
    const pipelined = { isPipelined: true };
    await Promise.all([
      commits.run(inTwoSteps('claims', 1), pipelined),
      commits.run(inTwoSteps('an edit', 2)),
      commits.run(inTwoSteps('outcomes', 3), pipelined),
      commits.run(inTwoSteps('a release', 4)),
    ]);
    expect(order.slice(0, 2)).toEqual(['claims starts', 'outcomes starts']);
    expect(order.slice(2, 4).toSorted()).toEqual(['claims ends', 'outcomes ends']);
    expect(order.slice(4)).toEqual(['an edit starts', 'an edit ends', 'a release starts', 'a release ends']);
  });

  test.each([
    ['rejects', refused],
    [
      'throws at once',
      () => {
        throw new Error('refused');
      },
    ],
  ])('runs pipelined work again, after all of it has ended, if other such work %s', async (_, failing) => {
    const { commits, committed } = await opened({ inFlightMax: 2 });
    const pipelined = { isPipelined: true };
    const first = put(1);
    const last = put(2);
    const asked = [first, failing, last].map((work) => commits.run<unknown>(work, pipelined));
    expect(await outcomes(asked)).toEqual([1, 'failed', 2]);
    expect(await committed()).toEqual([1, 2]);
    expect([first.runs, last.runs]).toEqual([2, 3]);
  });

  test('closes after all accepted work is committed, and accepts no more', async () => {
    const { commits, committed } = await opened();
    const asked = [1, 2].map((n) => commits.run(put(n)));
    const closed = commits.close();
    await expect(commits.run(put(3))).rejects.toThrow('closed');
    await closed;
    expect(await committed()).toEqual([1, 2]);
    expect(await outcomes(asked)).toEqual([1, 2]);
    await commits.close();
  });
});

describe('gathered items', () => {
  /** Inserts numbers by one statement each; records the size of each batch. */
  async function gathering(itemsMax: number) {
    const { commits, committed } = await opened();
    const sizes: number[] = [];
    const numbers = new Gathered<number, string>(commits, itemsMax, async (transaction, items) => {
      sizes.push(items.length);
      for (const n of items) await put(n)(transaction);
      return items.map((n) => `number ${n}`);
    });
    return { numbers, sizes, committed };
  }

  test('are written together, up to the maximum, and each is answered with its own result', async () => {
    const { numbers, sizes, committed } = await gathering(3);
    expect(await Promise.all([5, 4, 3, 2, 1].map((n) => numbers.add(n)))).toEqual(
      [5, 4, 3, 2, 1].map((n) => `number ${n}`),
    );
    expect(sizes).toEqual([3, 2]);
    expect(await committed()).toEqual([1, 2, 3, 4, 5]);
  });

  // Attack: one owner adds heavy items without a pause.
  test('of owners are written in turn, and no more at once than the maximum weighs', async () => {
    const { commits } = await opened();
    const batches: string[] = [];
    const items = new Gathered<string, string>(
      commits,
      3,
      async (_, batch) => {
        batches.push(batch.join(' '));
        return batch;
      },
      { ownerOf: ([owner = '']) => owner, weightOf: (item) => (item.startsWith('a') ? 2 : 1) },
    );
    const added = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map((item) => items.add(item));
    expect(await Promise.all(added)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2']);
    expect(batches).toEqual(['a1 b1', 'c1 a2', 'b2 a3', 'a4']);
  });

  test('go into the next batch if one is being written', async () => {
    const { commits, committed } = await opened();
    const late: Promise<number>[] = [];
    const numbers = new Gathered<number, number>(commits, 10, async (transaction, items) => {
      for (const n of items) await put(n)(transaction);
      if (late.length === 0) late.push(numbers.add(2));
      return items;
    });
    expect(await numbers.add(1)).toBe(1);
    expect(await Promise.all(late)).toEqual([2]);
    expect(await committed()).toEqual([1, 2]);
  });

  test('that fail do not affect the others of their batch', async () => {
    const { numbers, committed } = await gathering(10);
    await numbers.add(7);
    const asked = [1, 2, 3, 7, 4, 5].map((n) => numbers.add(n));
    expect(await outcomes(asked)).toEqual([
      'number 1',
      'number 2',
      'number 3',
      'failed',
      'number 4',
      'number 5',
    ]);
    expect(await committed()).toEqual([1, 2, 3, 4, 5, 7]);
    // No row of a failed item remains.
    expect(await numbers.add(8)).toBe('number 8');
  });
});
