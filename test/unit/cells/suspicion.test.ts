/**
 * Suspicion and placement: which installations are found to crash cells, which are cleared, and
 * when; the test moves the clock.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { Placement } from '../../../src/host/cells/placement.ts';
import { OomKills } from '../../../src/host/cells/pool.ts';
import { Suspicion } from '../../../src/host/cells/suspicion.ts';

const MINUTE_MS = 60_000;

let suspicion: Suspicion;
let now: number;
beforeEach(() => {
  suspicion = new Suspicion();
  now = 1_000;
});

const died = (...executing: string[]) => suspicion.died(executing, now).map(({ now: what }) => what);
const work = (id: string, calls: number, forMs: number) => {
  for (let call = 1; call <= calls; call++) {
    suspicion.worked(id, now);
    if (call === 1) now += forMs;
  }
};
/** Changes that time alone causes. */
const pass = (ms: number) => {
  now += ms;
  return suspicion.pass(now).map(({ tenant, now: what }) => [tenant, what]);
};

describe('a guilty installation', () => {
  test('is found at the second death at which it was alone', () => {
    expect(died('bad')).toEqual(['suspected']);
    expect(suspicion.isSuspect('bad')).toBe(true);
    expect(died('bad')).toEqual(['quarantined']);
    expect(suspicion.isGuilty('bad')).toBe(true);
  });

  test('is not found if the second death is long after the first', () => {
    died('bad');
    pass(11 * MINUTE_MS);
    expect(died('bad')).toEqual(['suspected']);
  });

  test('is found by its shares of many deaths; installations that were executing at one of them are not', () => {
    for (let death = 0; death < 3; death++) expect(died('bad', `other-${death}`)[0]).toBe('suspected');
    expect(died('bad', 'other-3')[0]).toBe('quarantined');
    for (let death = 0; death < 4; death++) expect(suspicion.isGuilty(`other-${death}`)).toBe(false);
  });

  test('explains a death by itself: others that were executing are not blamed for it', () => {
    died('bad');
    died('bad');
    expect(died('bad', 'innocent')).toEqual(['paused']);
    expect(suspicion.isSuspect('innocent')).toBe(false);
  });

  test('pauses after each further death, twice as long each time, up to a bound', () => {
    died('bad');
    died('bad');
    expect(suspicion.refuses('bad', now)).toBeUndefined();
    const pauses = Array.from({ length: 12 }, () => {
      died('bad');
      const pauseMs = suspicion.refuses('bad', now);
      return Math.round((pauseMs ?? 0) / 1_000);
    });
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    now += 300_000;
    expect(suspicion.refuses('bad', now)).toBeUndefined();
  });

  test('is released after a time without deaths, longer for each proven one, and found again at its next death', () => {
    for (let death = 0; death < 3; death++) died('bad');
    expect(pass(120_000)).toEqual([]);
    expect(pass(1_000)).toEqual([['bad', 'released']]);
    expect(suspicion.idle).toBe(true);
    expect(died('bad')).toEqual(['quarantined']);
    for (let death = 0; death < 10; death++) died('bad');
    now += 300_000;
    expect(pass(4 * MINUTE_MS)).toEqual([]);
    expect(pass(6 * MINUTE_MS)).toEqual([['bad', 'released']]);
  });

  test('with proven deaths explains a death in a cell that it shares with others in quarantine', () => {
    for (let death = 0; death < 4; death++) died('framed', `mallory-${death}`);
    died('bad');
    died('bad');
    died('bad');
    expect([suspicion.isGuilty('framed'), suspicion.isGuilty('bad')]).toEqual([true, true]);
    expect(died('bad', 'framed')).toEqual(['paused']);
    expect(suspicion.refuses('framed', now)).toBeUndefined();
  });
});

describe('an innocent installation', () => {
  test('is cleared after twenty calls and five seconds without a death, but not after one of the two', () => {
    died('good');
    work('good', 20, 4_900);
    expect(suspicion.isSuspect('good')).toBe(true);
    now += 100;
    expect(suspicion.worked('good', now)?.now).toBe('cleared');
    died('other', 'third');
    work('other', 19, 5_000);
    expect(suspicion.isSuspect('other')).toBe(true);
    work('other', 1, 0);
    expect(suspicion.isSuspect('other')).toBe(false);
  });

  test('is cleared after a minute if it is rarely called, and not before its first call', () => {
    died('good', 'idle');
    work('good', 1, 0);
    expect(pass(59_000)).toEqual([]);
    expect(pass(1_000)).toEqual([['good', 'cleared']]);
    expect(suspicion.isSuspect('idle')).toBe(true);
  });

  test('that was alone at two deaths, both in a shared cell, is only suspected', () => {
    expect(died('good')).toEqual(['suspected']);
    work('good', 20, 5_000);
    expect(died('good')).toEqual(['suspected']);
  });

  test('is never found guilty by deaths that it shares with ever new others', () => {
    for (let death = 0; death < 20; death++) {
      died('good', ...Array.from({ length: 9 }, (_, index) => `crowd-${death}-${index}`));
      pass(2 * MINUTE_MS);
    }
    expect(suspicion.isGuilty('good')).toBe(false);
  });

  // Attack: an author with many integrations has each of them crash a cell in which the same
  // neighbour executes.
  test('that others have framed is out of quarantine within a minute, with a score of 0, each time', () => {
    for (let round = 0; round < 3; round++) {
      for (let death = 0; death < 4; death++) died('good', `mallory-${round}-${death}`);
      expect(suspicion.isGuilty('good')).toBe(true);
      expect(pass(30_000)).toContainEqual(['good', 'released']);
      expect([suspicion.isGuilty('good'), suspicion.scoreOf('good')]).toEqual([false, 0]);
    }
  });

  test('has to work twice as long in a trial cell each time that it is suspected again', () => {
    died('odd', 'a', 'b', 'c');
    work('odd', 20, 5_000);
    died('odd', 'd', 'e', 'f');
    work('odd', 20, 9_900);
    expect(suspicion.isSuspect('odd')).toBe(true);
    now += 100;
    expect(suspicion.worked('odd', now)?.now).toBe('cleared');
  });

  test('that is never called is forgotten with time', () => {
    died('gone', 'too');
    expect(pass(60 * MINUTE_MS)).toEqual([
      ['gone', 'cleared'],
      ['too', 'cleared'],
    ]);
    expect(suspicion.idle).toBe(true);
  });
});

describe('a place', () => {
  const placement = (trialCells = 2, heavy: string[] = []) =>
    new Placement({
      ...{ cells: 2, trialCells, quarantineCells: 1, suspicion },
      isHeavy: (id) => heavy.includes(id),
    });

  test('is shared, and stays the same, for an installation without deaths', () => {
    const own = placement();
    const place = own.placeOf('ins_a');
    expect(place?.kind).toBe('shared');
    expect(own.placeOf('ins_a')).toBe(place);
    expect(new Set(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => own.placeOf(`ins_${id}`))).size).toBe(2);
  });

  test('is a different one for each suspect of a death, as far as there are cells; the likeliest is alone', () => {
    const own = placement();
    died('bad', 'x');
    died('bad', 'y', 'z');
    own.spread(['bad', 'x', 'y', 'z']);
    const [bad, ...others] = ['bad', 'x', 'y', 'z'].map((id) => own.placeOf(id));
    expect(bad?.kind).toBe('trial');
    for (const place of others) expect(place).not.toBe(bad);
  });

  test('is the old one again for an installation that is cleared', () => {
    const own = placement();
    const before = own.placeOf('good');
    died('good');
    expect(own.placeOf('good')).not.toBe(before);
    work('good', 20, 5_000);
    expect(own.placeOf('good')).toBe(before);
  });

  describe('in quarantine', () => {
    const quarantine = (quarantineCells: number) =>
      new Placement({ ...{ cells: 2, trialCells: 2, quarantineCells, suspicion }, isHeavy: () => false });
    const guilty = (id: string) => {
      died(id);
      died(id);
      now += 1_000;
      return id;
    };
    const from = (organization: string, integration = organization) => ({ organization, integration });

    test('is for one installation alone as long as there are places', () => {
      const own = quarantine(3);
      const places = ['one', 'two', 'three'].map((id) => own.placeOf(guilty(id), from(id)));
      expect(places.map(({ kind }) => kind)).toEqual(Array(3).fill('quarantine'));
      expect(new Set(places).size).toBe(3);
      expect(own.placeOf('one')).toBe(places[0]);
    });

    // Attack: four guilty installations hold every place, and an innocent one that was framed is
    // refused everything.
    test.each([
      ['one organization', (id: string) => from('mallory', id)],
      ['one integration', (id: string) => from(id, 'mallory')],
    ])('of which %s holds half is left to others', (_what, origin) => {
      const own = quarantine(4);
      const theirs = ['one', 'two', 'three', 'four'].map((id) => own.placeOf(guilty(id), origin(id)));
      expect(new Set(theirs).size).toBe(2);
      const [good, other] = ['good', 'other'].map((id) => own.placeOf(guilty(id), from(id)));
      expect(new Set([good, other, ...theirs]).size).toBe(4);
    });

    test('that is full joins the two calmest places, and gives the new installation a place of its own', () => {
      const own = quarantine(3);
      const ids = ['one', 'two', 'three'];
      const places = ids.map((id) => own.placeOf(guilty(id), from(id)));
      died('one');
      const freed = own.placeOf(guilty('four'), from('four'));
      expect(freed).toBe(places[2]);
      expect(freed.stale).toBe(true);
      expect(ids.map((id) => own.placeOf(id))).toEqual([places[0], places[1], places[1]]);
      // Each has a place, however many there are.
      for (let more = 0; more < 20; more++)
        expect(own.placeOf(guilty(`more-${more}`)).kind).toBe('quarantine');
    });

    test('that has a single place is shared', () => {
      const own = quarantine(1);
      expect(own.placeOf(guilty('one'))).toBe(own.placeOf(guilty('two')));
    });

    test('that was vacated is free for the next', () => {
      const own = quarantine(1);
      const place = own.placeOf(guilty('one'));
      own.vacate(place);
      expect(own.placeOf(guilty('two'))).toBe(place);
      expect(place.stale).toBe(false);
    });
  });

  test('for heavy installations is the heavy one, unless they are suspects', () => {
    const own = placement(2, ['busy', 'both']);
    expect(own.placeOf('busy')?.kind).toBe('heavy');
    expect(own.placeOf('quiet')?.kind).toBe('shared');
    died('both');
    expect(own.placeOf('both')?.kind).toBe('trial');
  });
});

test('a kill for lack of memory is distinguished from one by hand, where the system counts them', () => {
  let counters = 'nr_free_pages 7\noom_kill 3\n';
  const kills = new OomKills(() => counters);
  expect(kills.happened()).toBe(false);
  counters = 'nr_free_pages 7\noom_kill 4\n';
  expect(kills.happened()).toBe(true);
  kills.note();
  expect(kills.happened()).toBe(false);
  const blind = new OomKills(() => {
    throw new Error('no such file');
  });
  expect(blind.happened()).toBeUndefined();
});
