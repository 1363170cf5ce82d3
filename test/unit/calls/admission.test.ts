/**
 * Admission: within an installation first come, first served; between installations one each in
 * turn.
 */
import { describe, expect, test } from 'vitest';
import {
  Admission,
  type CallLimits,
  type InstallationLimits,
  type Refusal,
  Waiting,
} from '../../../src/host/calls/admission.ts';
import { shedError } from '../../../src/host/calls/shed-error.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { Chance } from '../../support/fuzz/chance.ts';

const WIDE: InstallationLimits = { callsInFlightPerInstallation: 100, callsWaitingPerInstallation: 100 };
const ALL: CallLimits = { callsInFlight: 4, callsWaiting: 100 };

/** An admission that records which calls were admitted, by installation. */
function gate(limits: CallLimits = ALL, each: InstallationLimits = WIDE) {
  const admission = new Admission(limits);
  const inside: string[] = [];
  const enter = (installation: string) => {
    const entered = admission.enter(installation, each);
    if (entered === 'admitted') inside.push(installation);
    if (entered instanceof Waiting) {
      void entered.settled.then((how) => {
        if (how === 'admitted') inside.push(installation);
      });
    }
    return entered;
  };
  /** Gives a place back, and lets the promises of waiting calls settle. */
  const leave = async (installation: string) => {
    admission.leave(installation);
    await Promise.resolve();
    await Promise.resolve();
  };
  return { admission, inside, enter, leave };
}

describe('one installation', () => {
  test('runs calls up to its limit, queues calls up to its limit, and has the next one refused', async () => {
    const { enter, leave, inside } = gate(
      { callsInFlight: 100, callsWaiting: 100 },
      { callsInFlightPerInstallation: 2, callsWaitingPerInstallation: 1 },
    );
    expect([enter('a'), enter('a')]).toEqual(['admitted', 'admitted']);
    expect(enter('a')).toBeInstanceOf(Waiting);
    expect([enter('a'), enter('b')]).toEqual(['installation', 'admitted']);
    await leave('a');
    expect(inside).toEqual(['a', 'a', 'b', 'a']);
    expect(enter('a')).toBeInstanceOf(Waiting);
  });

  test('can queue another call after a waiting caller has left', () => {
    const { enter } = gate(ALL, { callsInFlightPerInstallation: 1, callsWaitingPerInstallation: 1 });
    enter('a');
    const waiting = enter('a') as Waiting;
    expect(enter('a')).toBe('installation');
    waiting.leave();
    expect(enter('a')).toBeInstanceOf(Waiting);
  });
});

describe('all installations', () => {
  test('can queue calls up to the limit, and the next one is refused for any installation', () => {
    const { enter, admission } = gate({ callsInFlight: 1, callsWaiting: 2 });
    enter('a');
    const first = enter('b') as Waiting;
    enter('c');
    expect([enter('d'), admission.waiting]).toEqual(['all', 2]);
    first.leave();
    expect([enter('d'), admission.waiting]).toEqual([expect.any(Waiting), 2]);
  });

  test('take turns: sixty-four waiting calls of one do not delay the first of another', async () => {
    const { enter, leave, inside } = gate({ callsInFlight: 1, callsWaiting: 100 });
    enter('a');
    for (let i = 0; i < 64; i++) enter('a');
    enter('b');
    enter('c');
    for (const _ of 'abc') await leave(inside.at(-1) as string);
    expect(inside).toEqual(['a', 'b', 'c', 'a']);
  });

  test('take turns also while each has running calls', async () => {
    const { enter, leave, inside } = gate({ callsInFlight: 4, callsWaiting: 100 });
    for (const one of ['a', 'b', 'a']) enter(one);
    for (let i = 0; i < 6; i++) enter('a');
    for (let i = 0; i < 3; i++) enter('b');
    inside.length = 0;
    for (let i = 0; i < 3; i++) await leave('a');
    expect(inside).toEqual(['a', 'b', 'a']);
  });

  test('leave the last quarter of the places to those without a running call', async () => {
    const { enter, leave, inside } = gate({ callsInFlight: 8, callsWaiting: 100 });
    for (let i = 0; i < 9; i++) enter('a');
    expect(inside.length).toBe(6);
    expect([enter('b'), enter('c')]).toEqual(['admitted', 'admitted']);
    expect(enter('d')).toBeInstanceOf(Waiting);
    await leave('b');
    expect(inside.slice(6)).toEqual(['b', 'c', 'd']);
    await leave('a');
    expect(inside.length).toBe(9);
  });
});

test('a place is not lost if its caller leaves while waiting: the next call gets it', async () => {
  const { enter, leave, inside } = gate({ callsInFlight: 1, callsWaiting: 100 });
  enter('a');
  const leaving = enter('b') as Waiting;
  enter('c');
  leaving.leave();
  expect(await leaving.settled).toBe('left');
  await leave('a');
  expect(inside).toEqual(['a', 'c']);
  leaving.leave();
  await leave('c');
  expect(enter('d')).toBe('admitted');
});

test('once closed, no call is admitted, and waiting ones are refused', async () => {
  const { enter, admission, leave } = gate({ callsInFlight: 1, callsWaiting: 100 });
  enter('a');
  const waiting = enter('b') as Waiting;
  admission.close();
  expect(await waiting.settled).toBe('closed');
  await leave('a');
  expect([enter('c'), admission.waiting]).toEqual(['closed', 0]);
});

describe('uploads', () => {
  const each: InstallationLimits = { callsInFlightPerInstallation: 8, callsWaitingPerInstallation: 8 };
  const wide: CallLimits = { callsInFlight: 100, callsWaiting: 100 };
  const entered = (admission: Admission, times: number, uploader?: string, of = 'a') =>
    Array.from({ length: times }, () => {
      const found = admission.enter(of, each, uploader);
      return found instanceof Waiting ? 'waits' : found;
    });

  test('can use half of the places of an installation, and half of its queue', () => {
    const admission = new Admission(wide);
    const senders = ['s', 't', 'u', 'v', 'w', 'x', 'y', 'z'];
    expect(senders.flatMap((sender) => entered(admission, 1, sender))).toEqual([
      ...Array(4).fill('admitted'),
      ...Array(4).fill('waits'),
    ]);
    expect(entered(admission, 1, 'last')).toEqual(['uploadsOfInstallation']);
    expect(entered(admission, 4)).toEqual(Array(4).fill('admitted'));
    expect(entered(admission, 5)).toEqual([...Array(4).fill('waits'), 'installation']);
  });

  test('of one sender take no more places than are free for others', () => {
    const admission = new Admission(wide);
    expect(entered(admission, 5, 's')).toEqual([
      'admitted',
      'admitted',
      'waits',
      'waits',
      'uploadsOfInstallation',
    ]);
    expect(entered(admission, 1, 't')).toEqual(['admitted']);
  });

  test('that wait are overtaken by calls behind them, and begin before later uploads', async () => {
    const { admission, inside } = gate(wide);
    const follow = (found: ReturnType<Admission['enter']>, name: string) => {
      if (found instanceof Waiting)
        void found.settled.then((how) => {
          if (how === 'admitted') inside.push(name);
        });
    };
    for (const sender of ['s', 't', 'u', 'v']) admission.enter('a', each, sender);
    follow(admission.enter('a', each, 'w'), 'upload');
    for (let at = 0; at < 4; at += 1) admission.enter('a', each);
    follow(admission.enter('a', each), 'call');
    admission.leave('a');
    await Promise.resolve();
    expect(inside).toEqual(['call']);
    follow(admission.enter('a', each), 'later call');
    admission.leave('a', 's');
    await Promise.resolve();
    expect(inside).toEqual(['call', 'upload']);
  });

  test('count as ordinary calls once the body is complete', async () => {
    const { admission } = gate(wide);
    for (const sender of ['s', 't', 'u', 'v']) admission.enter('a', each, sender);
    const waiting = admission.enter('a', each, 'w') as Waiting;
    admission.uploaded('a', 's');
    expect(await waiting.settled).toBe('admitted');
    admission.leave('a');
    for (const sender of ['t', 'u', 'v', 'w']) admission.leave('a', sender);
    expect(entered(admission, 2, 's')).toEqual(['admitted', 'admitted']);
  });

  test('can use half of the places of all installations', () => {
    const admission = new Admission({ callsInFlight: 8, callsWaiting: 100 });
    const found = ['a', 'b', 'c', 'd', 'e'].flatMap((of) => entered(admission, 1, `sender of ${of}`, of));
    expect(found).toEqual([...Array(4).fill('admitted'), 'uploads']);
    expect(entered(admission, 1, undefined, 'f')).toEqual(['admitted']);
  });

  test('are no longer counted when their callers leave the queue', () => {
    const admission = new Admission(wide);
    for (const sender of ['s', 't', 'u', 'v']) admission.enter('a', each, sender);
    for (let at = 0; at < 50; at += 1) {
      const waiting = admission.enter('a', each, 'w') as Waiting;
      expect(waiting).toBeInstanceOf(Waiting);
      waiting.leave();
    }
  });

  // In any order of events, every waiting call runs in the end, and nothing is left.
  test('and calls in any order respect the bounds and leave no count behind', async () => {
    const random = new Chance(7);
    const limits = { callsInFlight: 12, callsWaiting: 20 };
    const admission = new Admission(limits);
    const running: Running[] = [];
    let uploads = 0;
    const admit = (one: Running) => {
      running.push(one);
      uploads += one.uploader === undefined ? 0 : 1;
    };
    const step = async () => {
      const dice = random.below(100);
      if (dice < 55) {
        const installation = random.pick(['a', 'b', 'c']);
        const uploader = random.once(2) ? random.pick(['s', 't', 'u']) : undefined;
        const found = admission.enter(installation, each, uploader);
        const one = { installation, uploader };
        if (found === 'admitted') admit(one);
        else if (found instanceof Waiting) {
          void found.settled.then((how) => how === 'admitted' && admit(one));
          if (random.once(5)) found.leave();
        }
      } else if (running.length > 0) {
        const at = random.below(running.length);
        const one = running[at] as Running;
        if (dice > 90 && one.uploader !== undefined) {
          admission.uploaded(one.installation, one.uploader);
          one.uploader = undefined;
          uploads -= 1;
        } else {
          running.splice(at, 1);
          uploads -= one.uploader === undefined ? 0 : 1;
          admission.leave(one.installation, one.uploader);
        }
      }
      await Promise.resolve();
      await Promise.resolve();
      expect(running.length).toBeLessThanOrEqual(limits.callsInFlight);
      expect(uploads).toBeLessThanOrEqual(limits.callsInFlight / 2);
    };
    for (let at = 0; at < 5_000; at += 1) await step();
    while (running.length > 0) {
      const one = running.pop() as Running;
      admission.leave(one.installation, one.uploader);
      await Promise.resolve();
      await Promise.resolve();
    }
    expect(admission.waiting).toBe(0);
    expect(entered(admission, 3, 's')).toEqual(['admitted', 'admitted', 'waits']);
  });
});

test.each<[Refusal, RegExp]>([
  ['all', /^[\d,]+ calls are waiting; .*\(callsWaiting\)\.$/],
  ['installation', /^[\d,]+ calls of the installation are waiting; .*\(callsWaitingPerInstallation\)\.$/],
  [
    'uploads',
    /bodies are still being sent run or wait; .*half of all places.*send fewer bodies at once.*\(callsInFlight\)\.$/,
  ],
  [
    'uploadsOfInstallation',
    /bodies are still being sent wait for the installation; .*send fewer bodies at once.*\(callsWaitingPerInstallation\)\.$/,
  ],
  ['left', /^The call waited too long .*\(firstByteMs\)\.$/],
  ['closed', /shutting down/],
])('a refusal because of %s names the exceeded quantity', (why, message) => {
  expect(shedError(why, DEFAULT_LIMITS).message).toMatch(message);
});

interface Running {
  readonly installation: string;
  uploader: string | undefined;
}
