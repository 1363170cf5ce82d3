/**
 * Finds the installations that crash cells, by what was executing at each death.
 *
 * A death is shared among the installations that were executing. They become *suspects* and are
 * kept apart, from other installations and from each other, until they have worked for a while
 * without another death. So a guilty one is soon alone with its deaths, and innocent ones are
 * cleared. One that is alone at two deaths, the second while it is kept apart, or has its share in
 * many, is *guilty*: it runs in quarantine, with a pause after each further death, twice as long
 * each time.
 *
 * Quarantine ends after half a minute without a death, and after twice as long for each *proven*
 * death: one at which the installation was alone while it was kept apart. So others can frame an
 * innocent installation for less than a minute, and its score is then reset. Half of each score is
 * forgotten in ten minutes. Pure: no I/O, no clock of its own, and an empty map as long as no cell
 * dies.
 */
import { DecayingRecords } from '../../model/decaying-records.ts';

const HALF_LIFE_MS = 600_000;
/** Shares of deaths that make an installation guilty. */
const GUILTY_SCORE = 2;
/**
 * The same of deaths at which it was alone: two within the half-life, the second while it was kept
 * apart.
 */
const GUILTY_ALONE = 1.5;
/** A suspect is cleared by this many calls and this much time without a death, */
const TRIAL_CALLS = 20;
const TRIAL_MS = 5_000;
/** or by one call and this much time. */
const SLOW_TRIAL_MS = 60_000;
/** Each further trial of an installation takes twice as long, so many times at most. */
const TRIAL_DOUBLINGS_MAX = 6;
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 300_000;
/**
 * Time without a death after which quarantine ends: the first without a proven death, doubled for
 * each proven one.
 */
const RELEASE_MS_MIN = 30_000;
const RELEASE_MS_MAX = 600_000;
/** A figure of proven deaths below this counts as none: one death, faded. */
const PROVEN_MIN = 0.5;
/** A score below this counts as none. */
const FORGOTTEN_BELOW = 0.02;
/** Installations remembered; beyond, the one blamed longest ago is forgotten. */
const REMEMBERED = 10_000;

/** What has changed for an installation. */
export type SuspicionChange = { readonly tenant: string; readonly deaths: number } & (
  | { readonly now: 'suspected'; readonly among: number }
  | { readonly now: 'cleared' | 'quarantined' | 'released' }
  | { readonly now: 'paused'; readonly pauseMs: number }
);

/** What is remembered of one installation. */
interface Suspected {
  state: 'noted' | 'suspect' | 'guilty';
  /** Its shares of deaths, and of those at which it was alone. */
  score: number;
  alone: number;
  /**
   * Of the latter, those while it was kept apart: no other installation can have been the reason.
   */
  proven: number;
  /** When these were last brought up to date. */
  at: number;
  /** Deaths it had a share in since it was first noted. */
  deaths: number;
  diedAt: number;
  /** Trials it has passed. */
  cleared: number;
  /** Of its trial: calls that have ended, and when the first one did. */
  calls: number;
  callsSince: number;
  /** Of its quarantine: the last pause, and when it ends. */
  pauseMs: number;
  pausedUntil: number;
}

export class Suspicion {
  readonly #records = new DecayingRecords<Suspected>({
    halfLifeMs: HALF_LIFE_MS,
    keysMax: REMEMBERED,
    fade: (record, left) => {
      record.score *= left;
      record.alone *= left;
      record.proven *= left;
      record.pauseMs *= left;
    },
  });
  readonly #counts = { suspect: 0, guilty: 0 };

  /** Whether no installation is kept apart: all other questions are needless then. */
  get idle(): boolean {
    return this.#counts.suspect + this.#counts.guilty === 0;
  }

  get suspects(): number {
    return this.#counts.suspect;
  }

  get quarantined(): number {
    return this.#counts.guilty;
  }

  isSuspect(tenant: string): boolean {
    return this.#records.get(tenant)?.state === 'suspect';
  }

  isGuilty(tenant: string): boolean {
    return this.#records.get(tenant)?.state === 'guilty';
  }

  /** How likely the installation is the reason: placement keeps the likeliest apart first. */
  scoreOf(tenant: string): number {
    return this.#records.get(tenant)?.score ?? 0;
  }

  /** @returns milliseconds until its pause ends; undefined where its calls may begin now */
  refuses(tenant: string, now: number): number | undefined {
    const until = this.#records.get(tenant)?.pausedUntil ?? 0;
    return until > now ? until - now : undefined;
  }

  /** A cell has died. @param executing installations that may have caused it, each once */
  died(executing: readonly string[], now: number): SuspicionChange[] {
    const guilty = executing.filter((id) => this.isGuilty(id));
    // A guilty installation explains a death by itself. In a cell that several guilty ones share,
    // those with proven deaths explain it for those without.
    const blamed = guilty.length > 0 ? this.#likeliest(guilty) : executing;
    return blamed.map((id) => this.#blame(id, blamed.length, now));
  }

  /** When an installation was last blamed for a death; 0 where it never was. */
  diedAt(tenant: string): number {
    return this.#records.get(tenant)?.diedAt ?? 0;
  }

  /** A call of a suspect has ended in its trial cell. */
  worked(tenant: string, now: number): SuspicionChange | undefined {
    const record = this.#records.get(tenant);
    if (record?.state !== 'suspect') return undefined;
    if (record.calls === 0) record.callsSince = now;
    record.calls += 1;
    return this.#clear(tenant, record, now);
  }

  /** Clears, releases and forgets where it is time to. To be called regularly. */
  pass(now: number): SuspicionChange[] {
    const changes: SuspicionChange[] = [];
    for (const [tenant, record] of this.#records) {
      this.#records.fade(record, now);
      const cleared = this.#clear(tenant, record, now);
      if (cleared) changes.push(cleared);
      const { state, deaths } = record;
      const quietSince = Math.max(record.diedAt, record.pausedUntil);
      if (state === 'guilty' && now - quietSince >= releaseMs(record)) {
        this.#setState(record, 'noted');
        // It was never alone at a death and has worked alone since: the deaths were caused by
        // others.
        if (record.proven < PROVEN_MIN) record.score = record.alone = 0;
        changes.push({ tenant, deaths, now: 'released' });
      }
      if (record.state === 'guilty' || record.score + record.proven >= FORGOTTEN_BELOW) continue;
      // A suspect that is never called is cleared in the end, too.
      if (record.state === 'suspect') changes.push({ tenant, deaths, now: 'cleared' });
      this.#setState(record, 'noted');
      this.#records.delete(tenant);
    }
    return changes;
  }

  #likeliest(guilty: readonly string[]): readonly string[] {
    const proven = guilty.filter((id) => (this.#records.get(id)?.proven ?? 0) >= PROVEN_MIN);
    return proven.length > 0 ? proven : guilty;
  }

  #blame(tenant: string, among: number, now: number): SuspicionChange {
    const record = this.#records.get(tenant) ?? fresh(now);
    const forgotten = this.#records.put(tenant, record);
    if (forgotten) this.#setState(forgotten, 'noted');
    this.#records.fade(record, now);
    record.score += 1 / among;
    if (among === 1) record.alone += 1;
    if (among === 1 && record.state !== 'noted') record.proven += 1;
    record.deaths += 1;
    record.diedAt = now;
    record.calls = 0;
    const { deaths } = record;
    if (record.state === 'guilty') {
      record.pauseMs = Math.min(Math.max(PAUSE_MS_MIN, record.pauseMs * 2), PAUSE_MS_MAX);
      record.pausedUntil = now + record.pauseMs;
      return { tenant, deaths, now: 'paused', pauseMs: record.pauseMs };
    }
    // In a shared cell, being alone may be chance, or a fault of the platform; in a trial cell it
    // is evidence.
    const proven = record.state === 'suspect' && record.alone >= GUILTY_ALONE;
    if (proven || record.score >= GUILTY_SCORE) {
      this.#setState(record, 'guilty');
      return { tenant, deaths, now: 'quarantined' };
    }
    this.#setState(record, 'suspect');
    return { tenant, deaths, now: 'suspected', among };
  }

  #clear(tenant: string, record: Suspected, now: number): SuspicionChange | undefined {
    if (record.state !== 'suspect' || record.calls === 0) return undefined;
    const workedMs = now - record.callsSince;
    const times = 2 ** Math.min(record.cleared, TRIAL_DOUBLINGS_MAX);
    const quick = record.calls >= TRIAL_CALLS && workedMs >= TRIAL_MS * times;
    if (!quick && workedMs < SLOW_TRIAL_MS * times) return undefined;
    record.cleared += 1;
    this.#setState(record, 'noted');
    return { tenant, deaths: record.deaths, now: 'cleared' };
  }

  #setState(record: Suspected, state: Suspected['state']): void {
    if (record.state !== 'noted') this.#counts[record.state] -= 1;
    if (state !== 'noted') this.#counts[state] += 1;
    record.state = state;
  }
}

const fresh = (now: number): Suspected => ({
  state: 'noted',
  score: 0,
  alone: 0,
  proven: 0,
  at: now,
  deaths: 0,
  diedAt: now,
  cleared: 0,
  calls: 0,
  callsSince: 0,
  pauseMs: 0,
  pausedUntil: 0,
});

/** How long a guilty installation has to be without a death. */
const releaseMs = ({ proven }: Suspected): number =>
  Math.min(RELEASE_MS_MIN * 2 ** Math.round(proven), RELEASE_MS_MAX);
