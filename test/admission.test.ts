/** Who is let in next: within an installation the first to come, between installations one each in turn. */
import { describe, expect, test } from 'vitest';
import { Admission, type CallLimits, type InstallationLimits, Waiting } from '../src/runtime/admission.ts';

const WIDE: InstallationLimits = { callsInFlightPerInstallation: 100, callsWaitingPerInstallation: 100 };
const ALL: CallLimits = { callsInFlight: 4, callsWaiting: 100 };

/** An admission that writes down who was let in, by installation. */
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
  /** Gives a place back, and lets those hear of it that wait. */
  const leave = async (installation: string) => {
    admission.leave(installation);
    await Promise.resolve();
    await Promise.resolve();
  };
  return { admission, inside, enter, leave };
}

describe('one installation', () => {
  test('runs as many calls as it may, has as many wait as may wait, and the next is refused', async () => {
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

  test('whose call goes away while it waits has room for the next', () => {
    const { enter } = gate(ALL, { callsInFlightPerInstallation: 1, callsWaitingPerInstallation: 1 });
    enter('a');
    const waiting = enter('a') as Waiting;
    expect(enter('a')).toBe('installation');
    waiting.leave();
    expect(enter('a')).toBeInstanceOf(Waiting);
  });
});

describe('all installations', () => {
  test('have so many calls wait, and the next is refused, whosever it is', () => {
    const { enter, admission } = gate({ callsInFlight: 1, callsWaiting: 2 });
    enter('a');
    const first = enter('b') as Waiting;
    enter('c');
    expect([enter('d'), admission.waiting]).toEqual(['all', 2]);
    first.leave();
    expect([enter('d'), admission.waiting]).toEqual([expect.any(Waiting), 2]);
  });

  test('take turns: sixty-four that wait do not keep another one from its first', async () => {
    const { enter, leave, inside } = gate({ callsInFlight: 1, callsWaiting: 100 });
    enter('a');
    for (let i = 0; i < 64; i++) enter('a');
    enter('b');
    enter('c');
    for (const _ of 'abc') await leave(inside.at(-1) as string);
    expect(inside).toEqual(['a', 'b', 'c', 'a']);
  });

  test('take turns while each has calls running, too', async () => {
    const { enter, leave, inside } = gate({ callsInFlight: 4, callsWaiting: 100 });
    for (const one of ['a', 'b', 'a']) enter(one);
    for (let i = 0; i < 6; i++) enter('a');
    for (let i = 0; i < 3; i++) enter('b');
    inside.length = 0;
    for (let i = 0; i < 3; i++) await leave('a');
    expect(inside).toEqual(['a', 'b', 'a']);
  });

  test('leave the last quarter of the places to those that have nothing running', async () => {
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

test('a place given up while waiting goes to nobody: the next one in turn has it', async () => {
  const { enter, leave, inside } = gate({ callsInFlight: 1, callsWaiting: 100 });
  enter('a');
  const gone = enter('b') as Waiting;
  enter('c');
  gone.leave();
  expect(await gone.settled).toBe('left');
  await leave('a');
  expect(inside).toEqual(['a', 'c']);
  gone.leave();
  await leave('c');
  expect(enter('d')).toBe('admitted');
});

test('once closed, nobody is let in, and those that wait are turned away', async () => {
  const { enter, admission, leave } = gate({ callsInFlight: 1, callsWaiting: 100 });
  enter('a');
  const waiting = enter('b') as Waiting;
  admission.close();
  expect(await waiting.settled).toBe('closed');
  await leave('a');
  expect([enter('c'), admission.waiting]).toEqual(['closed', 0]);
});
