/** Who may run now in a cell: as many as there are cores, light ones first, heavy ones never in their way for long. */
import { describe, expect, test } from 'vitest';
import { CpuUse, CpuUses } from '../src/cell/cpu-use.ts';
import { type Runnable, Slots } from '../src/cell/slots.ts';

/** Runnables that write down when they are let in. */
function runners() {
  const began: string[] = [];
  const make = (name: string, heavy = false): Runnable => ({ heavy, run: () => void began.push(name) });
  return { began, light: (name: string) => make(name), heavy: (name: string) => make(name, true) };
}

describe('slots', () => {
  test('are given in the order they were asked for, one more with each that is given back', () => {
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

  test('that are held for longer than a slice are counted apart, up to a bound', () => {
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

  test('go to nobody who has given up waiting', () => {
    const { began, light, heavy } = runners();
    const slots = new Slots(1, 0);
    const [a, b, c, d] = [light('a'), light('b'), heavy('c'), light('d')];
    for (const one of [a, b, c, d]) slots.request(one);
    for (const one of [b, c, a]) slots.release(one);
    expect(began).toEqual(['a', 'd']);
  });
});

describe('heavy ones', () => {
  test('take no slot while there is room beside the slots: a light one begins at once, however many there are', () => {
    const { began, light, heavy } = runners();
    const slots = new Slots(2, 8);
    for (let i = 0; i < 20; i++) slots.request(heavy(`heavy ${i}`));
    expect(began.length).toBe(4 + 1);
    slots.request(light('light'));
    expect(began.at(-1)).toBe('light');
  });

  test('that wait behind light ones are let in after seven of them, and not before', () => {
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

  test('do run where nobody else wants to', () => {
    const { began, heavy } = runners();
    const slots = new Slots(1, 0);
    slots.request(heavy('heavy'));
    expect(began).toEqual(['heavy']);
  });

  test('leave the last slot free where others like them run beside the slots', () => {
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

describe('an isolate is heavy', () => {
  test('once it has used a quarter of a core over the last second, and no longer once that is past', () => {
    const use = new CpuUse();
    use.add(240e6, 1_000);
    expect(use.isHeavy(1_000)).toBe(false);
    use.add(20e6, 1_000);
    expect(use.isHeavy(1_000)).toBe(true);
    expect(use.isHeavy(1_500)).toBe(false);
  });

  test('by many short entries as well as by a long one', () => {
    const use = new CpuUse();
    for (let now = 0; now < 2_000; now += 2) use.add(1e6, now);
    expect(use.isHeavy(2_000)).toBe(true);
  });

  test('whichever isolate stands in its place', () => {
    const uses = new CpuUses();
    uses.of('one').add(900e6, 0);
    expect([uses.of('one').isHeavy(0), uses.of('other').isHeavy(0)]).toEqual([true, false]);
  });
});
