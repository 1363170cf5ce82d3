/**
 * Slots of a cell: as many isolates run as there are cores, light ones first; heavy ones never
 * delay them for long.
 */
import { describe, expect, test } from 'vitest';
import { RecentCpu, RecentCpuOfIsolates } from '../../../src/cell/isolates/recent-cpu.ts';
import { type Runnable, Slots } from '../../../src/cell/isolates/slots.ts';

/** Runnables, and a list of those that have begun. */
function runners() {
  const began: string[] = [];
  const make = (name: string, heavy = false, background = false) => ({
    ...{ heavy, background },
    run: () => void began.push(name),
  });
  return {
    began,
    light: (name: string): Runnable => make(name),
    heavy: (name: string): Runnable => make(name, true),
    background: (name: string) => make(name, false, true),
  };
}

describe('slots', () => {
  test('are granted in the order of the requests, each released slot to the next request', () => {
    const { began, light } = runners();
    const slots = new Slots(2, 4);
    const [a, b, c, d] = [light('a'), light('b'), light('c'), light('d')];
    for (const one of [a, b, c, d, c]) slots.request(one);
    expect([began, slots.contended]).toEqual([['a', 'b'], true]);
    slots.release(b);
    expect(began).toEqual(['a', 'b', 'c']);
    slots.release(a);
    expect([began, slots.contended]).toEqual([['a', 'b', 'c', 'd'], false]);
  });

  test('that are held for longer than a slice count as long-running, up to a bound', () => {
    const { began, light } = runners();
    const slots = new Slots(1, 1);
    const [a, b, c] = [light('a'), light('b'), light('c')];
    for (const one of [a, b, c]) slots.request(one);
    slots.overrun(a);
    slots.overrun(b);
    expect(began).toEqual(['a', 'b']);
    slots.release(a);
    slots.overrun(b);
    expect(began).toEqual(['a', 'b', 'c']);
  });

  test('are not granted to a runnable that no longer waits', () => {
    const { began, light, heavy } = runners();
    const slots = new Slots(1, 0);
    const [a, b, c, d] = [light('a'), light('b'), heavy('c'), light('d')];
    for (const one of [a, b, c, d]) slots.request(one);
    for (const one of [b, c, a]) slots.release(one);
    expect(began).toEqual(['a', 'd']);
  });
});

describe('heavy ones', () => {
  test('take no slot while there is a place beside the slots, so a light one begins at once', () => {
    const { began, light, heavy } = runners();
    const slots = new Slots(2, 8);
    for (let i = 0; i < 20; i++) slots.request(heavy(`heavy ${i}`));
    expect(began.length).toBe(4 + 1);
    slots.request(light('light'));
    expect(began.at(-1)).toBe('light');
  });

  test('that wait behind light ones begin after seven of them, and not before', () => {
    const { began, light, heavy } = runners();
    const slots = new Slots(1, 0);
    const lights = Array.from({ length: 20 }, (_, i) => light(`light ${i}`));
    const [first, ...others] = lights;
    if (first) slots.request(first);
    slots.request(heavy('heavy'));
    for (const one of others) slots.request(one);
    for (const one of lights.slice(0, 8)) slots.release(one);
    expect(began.slice(0, 9)).toEqual([...Array.from({ length: 8 }, (_, i) => `light ${i}`), 'heavy']);
  });

  test('take any slot for which no other waits', () => {
    const { began, heavy } = runners();
    const slots = new Slots(1, 0);
    slots.request(heavy('heavy'));
    expect(began).toEqual(['heavy']);
  });

  test('leave the last slot free while other heavy ones run beside the slots', () => {
    const { began, light, heavy } = runners();
    const slots = new Slots(2, 2);
    const [a, b, c] = [heavy('a'), heavy('b'), heavy('c')];
    for (const one of [a, b, c]) slots.request(one);
    expect(began).toEqual(['a', 'b']);
    slots.request(light('light'));
    expect(began).toEqual(['a', 'b', 'light']);
    slots.release(a);
    expect(began.at(-1)).toBe('c');
  });
});

describe('isolates of one organization', () => {
  /** Its isolates request places until no more begin, and each keeps its place beyond a slice. */
  function spin(slots: Slots, began: string[], holder: string): number {
    const before = began.length;
    const spinning: Runnable[] = [];
    for (let i = 0; i < 40; i++) {
      const one = { holder, run: () => void began.push(holder) };
      spinning.push(one);
      slots.request(one);
      for (const each of spinning) slots.overrun(each);
    }
    return began.length - before;
  }

  // Attack: an organization whose isolates all spin, until nothing else gets a slot.
  test('that spin leave slots for others, and so do those of four organizations', () => {
    for (const cores of [1, 2, 4, 16]) {
      const began: string[] = [];
      const slots = new Slots(cores, 16);
      const shares = ['a', 'b', 'c', 'd'].map((holder) => {
        const share = spin(slots, began, holder);
        const other = { holder: 'other', run: () => void began.push('other') };
        slots.request(other);
        expect(began.at(-1)).toBe('other');
        slots.release(other);
        return share;
      });
      expect(shares[0]).toBe(Math.floor((cores + 16) / 2));
    }
  });

  test('wait in their queue for a place of their own, and others pass them', () => {
    const began: string[] = [];
    const slots = new Slots(2, 2);
    const make = (name: string, holder = 'a') => ({ holder, run: () => void began.push(name) });
    const [first, second, third] = [make('first'), make('second'), make('third')];
    for (const one of [first, second, third]) {
      slots.request(one);
      slots.overrun(one);
    }
    const other = make('other', 'b');
    slots.request(other);
    expect([began, slots.contended]).toEqual([['first', 'second', 'other'], true]);
    for (const one of [first, other]) slots.release(one);
    expect(began.at(-1)).toBe('third');
  });
});

describe('background ones', () => {
  test('wait behind the others, and begin after eight of them', () => {
    const { began, light, background } = runners();
    const slots = new Slots(1, 0);
    const lights = Array.from({ length: 20 }, (_, i) => light(`light ${i}`));
    const [first, ...others] = lights;
    if (first) slots.request(first);
    slots.request(background('a'));
    slots.request(background('b'));
    for (const one of others) slots.request(one);
    for (const one of lights.slice(0, 9)) slots.release(one);
    expect(began.slice(0, 10)).toEqual([...Array.from({ length: 9 }, (_, i) => `light ${i}`), 'a']);
  });

  test('are not starved by light and heavy ones that never end', () => {
    const { began, light, heavy, background } = runners();
    const slots = new Slots(1, 0);
    const made = new Map(['light 1', 'light 2'].map((name): [string, Runnable] => [name, light(name)]));
    made.set('heavy', heavy('heavy')).set('background', background('background'));
    for (const one of made.values()) slots.request(one);
    for (let turn = 0; turn < 90; turn += 1) {
      const running = made.get(began.at(-1) ?? '') as Runnable;
      slots.release(running);
      slots.request(running);
    }
    for (const name of made.keys())
      expect(began.filter((one) => one === name).length).toBeGreaterThanOrEqual(8);
  });

  test('overtake earlier ones once they have a foreground call', () => {
    const { began, light, background } = runners();
    const slots = new Slots(1, 0);
    const holder = light('holder');
    const lifted = background('lifted');
    for (const one of [holder, background('a'), background('b'), lifted]) slots.request(one);
    lifted.background = false;
    slots.request(lifted);
    slots.request(lifted);
    slots.release(holder);
    slots.release(lifted);
    expect([began, slots.contended]).toEqual([['holder', 'lifted', 'a'], true]);
  });

  test('take any slot for which no other waits, and leave the queue when they no longer wait', () => {
    const { began, background } = runners();
    const slots = new Slots(1, 0);
    const [a, b, c] = [background('a'), background('b'), background('c')];
    for (const one of [a, b, c]) slots.request(one);
    slots.release(b);
    slots.release(a);
    expect([began, slots.contended]).toEqual([['a', 'c'], false]);
  });
});

describe('an isolate is heavy', () => {
  test('once it has used a quarter of a core over the last second, and no longer some time later', () => {
    const use = new RecentCpu();
    use.add(240e6, 1_000);
    expect(use.isHeavy(1_000)).toBe(false);
    use.add(20e6, 1_000);
    expect(use.isHeavy(1_000)).toBe(true);
    expect(use.isHeavy(1_500)).toBe(false);
  });

  test('by many short entries as well as by a long one', () => {
    const use = new RecentCpu();
    for (let now = 0; now < 2_000; now += 2) use.add(1e6, now);
    expect(use.isHeavy(2_000)).toBe(true);
  });

  test('and so is the next isolate with the same key', () => {
    const uses = new RecentCpuOfIsolates();
    uses.of('one').add(900e6, 0);
    expect([uses.of('one').isHeavy(0), uses.of('other').isHeavy(0)]).toEqual([true, false]);
  });
});
