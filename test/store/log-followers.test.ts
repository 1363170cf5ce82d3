/**
 * Followers of logs over time, with a real store and a clock of the test: comments, checks of
 * permissions, clients that stop reading (docs/contract/calls.md#following-a-log).
 */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { EventStream, StreamEnd } from '../../src/http/control/following/event-stream.ts';
import { type Follower, Followers, KEEP_ALIVE_MS } from '../../src/http/control/following/followers.ts';
import { logEvents } from '../../src/http/control/log-events.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import type { StoredLine } from '../../src/store/logs.ts';
import { ManualClock } from '../support/receivers/scripted-receivers.ts';
import { temporaryStore } from '../support/store/temporary-store.ts';

const FOLLOWER = {
  principal: { kind: 'admin', tokenId: 'tok_1' },
  followed: 'ins_1',
  refusal: async (): Promise<StreamEnd | undefined> => undefined,
} as const;

const LOG = { tenant: 'ins_1', of: { installation: 'ins_1' } } as const;

async function scene() {
  const { logs } = await temporaryStore();
  const clock = new ManualClock();
  const met: string[] = [];
  const followers = new Followers({
    limits: DEFAULT_LIMITS,
    after: clock.after,
    limitMet: (name) => void met.push(name),
  });
  const follow = async (follower: Follower = FOLLOWER) => {
    const stream = followers.follow(logEvents(logs, LOG), {}, follower);
    onTestFinished(() => void stream.destroy());
    await expect.poll(() => stream.readableLength).toBeGreaterThan(0);
    return stream;
  };
  return { clock, followers, follow, met };
}

/** What a stream holds unread, as text. */
function read(stream: EventStream<StoredLine>): string {
  let text = '';
  for (let piece = stream.read(); piece !== null; piece = stream.read()) text += piece;
  return text;
}

test('each gets a comment every 15 s, and no timer runs while no log is followed', async () => {
  const { clock, follow } = await scene();
  expect(clock.pending).toBe(0);
  const streams = [await follow(), await follow()];
  expect(clock.pending).toBe(1);
  for (const stream of streams) expect(read(stream)).toBe(': following\n\n');
  clock.advance(KEEP_ALIVE_MS - 1);
  for (const stream of streams) expect(read(stream)).toBe('');
  clock.advance(1);
  for (const stream of streams) expect(read(stream)).toBe(': keep-alive\n\n');
  clock.advance(KEEP_ALIVE_MS);
  for (const stream of streams) expect(read(stream)).toBe(': keep-alive\n\n');
  for (const stream of streams) stream.destroy();
  await turn();
  expect(clock.pending).toBe(0);
});

test('one that has read nothing between two comments is dropped, and its connection is cut', async () => {
  const { clock, follow, met } = await scene();
  const stream = await follow();
  clock.advance(KEEP_ALIVE_MS);
  expect(met).toEqual([]);
  clock.advance(KEEP_ALIVE_MS);
  expect(met).toEqual(['logFollowerBufferBytes']);
  expect(stream.destroyed).toBe(false);
  clock.advance(KEEP_ALIVE_MS);
  expect(stream.destroyed).toBe(true);
});

test('one that may no longer read the log ends within 15 s', async () => {
  const { clock, follow } = await scene();
  let refusal: StreamEnd | undefined;
  const stream = await follow({ ...FOLLOWER, refusal: async () => refusal });
  read(stream);
  clock.advance(KEEP_ALIVE_MS);
  await turn();
  expect(read(stream)).toBe(': keep-alive\n\n');
  refusal = 'revoked';
  clock.advance(KEEP_ALIVE_MS);
  await turn();
  expect(read(stream)).toBe(': keep-alive\n\nevent: end\ndata: {"reason":"revoked"}\n\n');
});

test('one stays where the store cannot check it, until a later check', async () => {
  const { followers, follow } = await scene();
  const answers = [() => Promise.reject(new Error('The disk fails.')), async () => 'removed' as const];
  const stream = await follow({ ...FOLLOWER, refusal: async () => answers.shift()?.() });
  followers.check('ins_2');
  followers.check('ins_1');
  await turn();
  expect(read(stream)).toBe(': following\n\n');
  followers.check();
  await turn();
  expect(read(stream)).toContain('removed');
});
