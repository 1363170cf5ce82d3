/** A follower gets the newest items first, then each one that is written, and none twice. */
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { EventStream, type Item } from '../../../../src/host/http/control/following/event-stream.ts';

/** A stream whose newest items are read when the test says so. */
function scene(earlier: number) {
  const newest = Promise.withResolvers<readonly Item[]>();
  let written: (items: readonly Item[]) => void = () => {};
  const stream = new EventStream<Item>(
    {
      follow(write) {
        written = write;
        return { begun: undefined, end: () => {} };
      },
      newest: () => newest.promise,
      after: async function* () {},
      bytesOf: () => 1,
      textOf: (items) => Buffer.from(items.map(({ id }) => `${id}\n`).join('')),
    },
    { earlier, bufferBytes: 1_000_000 },
  );
  const read = text(stream);
  return {
    write: (...ids: string[]) => written(ids.map((id) => ({ id }))),
    async newest(...ids: string[]) {
      newest.resolve(ids.map((id) => ({ id })));
      await newest.promise;
    },
    /** The ids in the order in which the client gets them. */
    async sent() {
      stream.finish('stopping');
      return (await read).split('\n').filter((line) => /^\d+$/.test(line));
    },
  };
}

test('items of a batch that is committed while the newest are read come once, in order', async () => {
  const { write, newest, sent } = scene(2);
  write('1', '2', '3', '4', '5');
  await newest('4', '5');
  write('6');
  expect(await sent()).toEqual(['4', '5', '6']);
});

test('the same batch handed over after the newest were read', async () => {
  const { write, newest, sent } = scene(2);
  await newest('4', '5');
  write('1', '2', '3', '4', '5');
  write('6');
  expect(await sent()).toEqual(['4', '5', '6']);
});

test('a late batch of another node that sorts before the newest is not lost', async () => {
  const { write, newest, sent } = scene(2);
  write('2', '3');
  await newest('4', '5');
  write('1');
  expect(await sent()).toEqual(['4', '5', '2', '3', '1']);
});

test('where fewer items are there than were asked for, none of a batch is older than they', async () => {
  const { write, newest, sent } = scene(9);
  write('1', '4');
  await newest('4', '5');
  expect(await sent()).toEqual(['4', '5', '1']);
});
