/**
 * Followers of logs over time, with a real store and a clock of the test: comments, checks of
 * permissions, clients that stop reading (docs/contract/calls.md#following-a-log).
 */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { EventStream, StreamEnd } from '../../src/host/http/control/following/event-stream.ts';
import { type Follower, Followers, KEEP_ALIVE_MS } from '../../src/host/http/control/following/followers.ts';
import { logEvents } from '../../src/host/http/control/logs.ts';
import type { StoredLine } from '../../src/host/store/logs.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
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

// Attack: a few organizations, each with as many followers as its token may have, or with several
// tokens, hold every place.
test.each([1, 4])(
  '%i organizations leave places for others, for the host product and for the operator',
  async (count) => {
    const { follow, met } = await scene();
    const { logFollowers, logFollowersPerToken } = DEFAULT_LIMITS;
    const fill = async (follower: (at: number) => Omit<Follower, 'refusal'>, atMost: number) => {
      for (let at = 0; at < atMost; at += 1) {
        const refused = await follow({ ...FOLLOWER, ...follower(at) }).then(
          () => false,
          () => true,
        );
        if (refused) return at;
      }
      return atMost;
    };
    /** Each log has one follower, and each token as many as it may have. */
    const ofOrganization = (organization: string) => (at: number) => ({
      principal: {
        ...({ kind: 'organization', organization } as const),
        tokenId: `tok_${organization}_${Math.floor(at / logFollowersPerToken)}`,
      },
      followed: `ins_${organization}_${at}`,
    });
    const held: number[] = [];
    for (let number = 0; number < count; number += 1)
      held.push(await fill(ofOrganization(`busy-${number}`), logFollowers));
    expect(Math.max(...held)).toBeLessThanOrEqual(logFollowers / 2);
    expect(await fill(ofOrganization('other'), 1)).toBe(1);
    const platform = { kind: 'platform', tokenId: 'tok_p' } as const;
    expect(
      await fill((at) => ({ principal: platform, followed: `ins_p_${at}` }), logFollowers),
    ).toBeGreaterThan(0);
    // Others hold all places now but those of the operator.
    const operator = await fill(
      (at) => ({ principal: FOLLOWER.principal, followed: `ins_a_${at}` }),
      logFollowers,
    );
    expect(operator).toBe(logFollowers / 8);
    expect(new Set(met)).toEqual(new Set(['logFollowers']));
  },
);

// Attack: the author of an integration holds the places of the log of an installation.
test('an author leaves places of a log for the organization that installed, and for the operator', async () => {
  const { follow } = await scene();
  const { logFollowersPerInstallation } = DEFAULT_LIMITS;
  const holds = async (principal: Follower['principal']) => {
    for (let held = 0; held < logFollowersPerInstallation; held += 1)
      if (
        await follow({ ...FOLLOWER, principal }).then(
          () => false,
          () => true,
        )
      )
        return held;
    return logFollowersPerInstallation;
  };
  const author = { kind: 'organization', organization: 'author', tokenId: 'tok_a' } as const;
  const installer = { kind: 'organization', organization: 'installer', tokenId: 'tok_i' } as const;
  expect(await holds(author)).toBeLessThanOrEqual(logFollowersPerInstallation / 2);
  expect(await holds(installer)).toBeGreaterThan(1);
  await holds({ kind: 'platform', tokenId: 'tok_p' });
  expect(await holds(FOLLOWER.principal)).toBe(logFollowersPerInstallation / 8);
});
