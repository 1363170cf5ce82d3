/**
 * Who crashes cells? From what was executing at each death, to the one that must run alone.
 *
 * A death is shared among those that were executing. They are *suspects*, and kept apart from everybody and from each other
 * until they have worked for a while without another death; so the guilty one is soon alone with its deaths, and the innocent
 * are cleared by themselves. One that is alone at two deaths, the second while it is kept apart, or had its share in many, is
 * *guilty*: it runs in quarantine, with a pause after each further death, twice as long each time. Quarantine is over after
 * half a minute without a death, and after twice as long for each death that is *proven*: one at which it was alone where it
 * is kept apart. So an innocent installation that others have framed is out of it within a minute, whoever they are, and
 * takes no score along. Half of all is forgotten every ten minutes. Pure: no I/O, no clock of its own, and an empty map as long as nothing
 * dies.
 */

/** In this time, half of all is forgotten. */
const HALF_LIFE_MS = 600_000;
/** Shares of deaths that make one guilty, whoever else was there. */
const GUILTY_SCORE = 2;
/** The same of deaths at which it was alone: two within the half-life, the second while it was kept apart. */
const GUILTY_ALONE = 1.5;
/** What clears a suspect: so many calls and so much time without a death, or one call and longer. */
const TRIAL_CALLS = 20;
const SELF_TEST_MS = 5_000;
const SLOW_TRIAL_MS = 60_000;
/** Each trial that turns out too short makes the next one twice as long, up to here. */
const TRIAL_DOUBLINGS_MAX = 6;
const BACK_OFF_MS_MIN = 1_000;
const BACK_OFF_MS_MAX = 300_000;
/** Time without a death after which quarantine is over: the first where no death is proven, doubled for each one that is. */
const RELEASE_MS_MIN = 30_000;
const RELEASE_MS_MAX = 600_000;
/** Less than this of proven deaths is none: one of them, faded. */
const PROVEN_MIN = 0.5;
/** Less of a score is none. */
const FORGOTTEN_BELOW = 0.02;
/** Installations remembered; beyond, the one blamed longest ago is forgotten. */
const REMEMBERED = 10_000;

/** What has changed for an installation, for whoever is to be told. */
export type SuspicionChange = { readonly installationId: string; readonly deaths: number } & (
  | { readonly now: 'suspected'; readonly among: number }
  | { readonly now: 'cleared' | 'quarantined' | 'released' }
  | { readonly now: 'paused'; readonly pauseMs: number }
);

/** What is remembered of one installation. */
interface Suspected {
  standing: 'noted' | 'suspect' | 'guilty';
  /** Its shares of deaths, and of those at which it was alone. */
  score: number;
  alone: number;
  /** Of the latter, those while it was kept apart: nobody else can have been the reason. */
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
  /** Of its quarantine: the last pause, and when it is over. */
  pauseMs: number;
  pausedUntil: number;
}

export class Suspicion {
  readonly #records = new Map<string, Suspected>();
  readonly #counts = { suspect: 0, guilty: 0 };

  /** Whether anybody is to be kept apart: as long as nobody is, nothing else need be asked. */
  get idle(): boolean {
    return this.#counts.suspect + this.#counts.guilty === 0;
  }

  get suspects(): number {
    return this.#counts.suspect;
  }

  get quarantined(): number {
    return this.#counts.guilty;
  }

  isSuspect(installationId: string): boolean {
    return this.#records.get(installationId)?.standing === 'suspect';
  }

  isGuilty(installationId: string): boolean {
    return this.#records.get(installationId)?.standing === 'guilty';
  }

  /** How likely it is the one, as far as is known: what placement keeps apart first. */
  scoreOf(installationId: string): number {
    return this.#records.get(installationId)?.score ?? 0;
  }

  /** @returns milliseconds after which to try again, where no call of it may begin now */
  refuses(installationId: string, now: number): number | undefined {
    const until = this.#records.get(installationId)?.pausedUntil ?? 0;
    return until > now ? until - now : undefined;
  }

  /** A cell has died. @param executing installations that may have caused it, each once */
  died(executing: readonly string[], now: number): SuspicionChange[] {
    const guilty = executing.filter((id) => this.isGuilty(id));
    // One that is known for it explains a death by itself: the others were only there. In a cell that several guilty ones
    // share, those of which it is proven explain it for those of which it is not.
    const blamed = guilty.length > 0 ? this.#likeliest(guilty) : executing;
    return blamed.map((id) => this.#blame(id, blamed.length, now));
  }

  /** When an installation was last blamed for a death; 0 where it never was. */
  diedAt(installationId: string): number {
    return this.#records.get(installationId)?.diedAt ?? 0;
  }

  /** A call has ended where it is kept apart. */
  worked(installationId: string, now: number): SuspicionChange | undefined {
    const record = this.#records.get(installationId);
    if (record?.standing !== 'suspect') return undefined;
    if (record.calls === 0) record.callsSince = now;
    record.calls += 1;
    return this.#clear(installationId, record, now);
  }

  /** To be called regularly: those whose time is over. */
  pass(now: number): SuspicionChange[] {
    const changes: SuspicionChange[] = [];
    for (const [installationId, record] of this.#records) {
      fade(record, now);
      const cleared = this.#clear(installationId, record, now);
      if (cleared) changes.push(cleared);
      const { standing, deaths } = record;
      const quietSince = Math.max(record.diedAt, record.pausedUntil);
      if (standing === 'guilty' && now - quietSince >= releaseMs(record)) {
        this.#stand(record, 'noted');
        // It was never alone at a death, and has worked alone since: what it was there for were the deaths of others.
        if (record.proven < PROVEN_MIN) record.score = record.alone = 0;
        changes.push({ installationId, deaths, now: 'released' });
      }
      if (record.standing === 'guilty' || record.score + record.proven >= FORGOTTEN_BELOW) continue;
      // A suspect that is never called is not one for ever.
      if (record.standing === 'suspect') changes.push({ installationId, deaths, now: 'cleared' });
      this.#forget(installationId, record);
    }
    return changes;
  }

  #likeliest(guilty: readonly string[]): readonly string[] {
    const proven = guilty.filter((id) => (this.#records.get(id)?.proven ?? 0) >= PROVEN_MIN);
    return proven.length > 0 ? proven : guilty;
  }

  #blame(installationId: string, among: number, now: number): SuspicionChange {
    const record = this.#records.get(installationId) ?? fresh(now);
    // Last in the map is last to be forgotten.
    this.#records.delete(installationId);
    this.#records.set(installationId, record);
    fade(record, now);
    record.score += 1 / among;
    if (among === 1) record.alone += 1;
    if (among === 1 && record.standing !== 'noted') record.proven += 1;
    record.deaths += 1;
    record.diedAt = now;
    record.calls = 0;
    this.#limit();
    const { deaths } = record;
    if (record.standing === 'guilty') {
      record.pauseMs = Math.min(Math.max(BACK_OFF_MS_MIN, record.pauseMs * 2), BACK_OFF_MS_MAX);
      record.pausedUntil = now + record.pauseMs;
      return { installationId, deaths, now: 'paused', pauseMs: record.pauseMs };
    }
    // Among many, being alone may be chance, and a fault of the platform's own; where it is kept apart, it is evidence.
    const proven = record.standing === 'suspect' && record.alone >= GUILTY_ALONE;
    if (proven || record.score >= GUILTY_SCORE) {
      this.#stand(record, 'guilty');
      return { installationId, deaths, now: 'quarantined' };
    }
    this.#stand(record, 'suspect');
    return { installationId, deaths, now: 'suspected', among };
  }

  #clear(installationId: string, record: Suspected, now: number): SuspicionChange | undefined {
    if (record.standing !== 'suspect' || record.calls === 0) return undefined;
    const workedMs = now - record.callsSince;
    const times = 2 ** Math.min(record.cleared, TRIAL_DOUBLINGS_MAX);
    const quick = record.calls >= TRIAL_CALLS && workedMs >= SELF_TEST_MS * times;
    if (!quick && workedMs < SLOW_TRIAL_MS * times) return undefined;
    record.cleared += 1;
    this.#stand(record, 'noted');
    return { installationId, deaths: record.deaths, now: 'cleared' };
  }

  #stand(record: Suspected, standing: Suspected['standing']): void {
    if (record.standing !== 'noted') this.#counts[record.standing] -= 1;
    if (standing !== 'noted') this.#counts[standing] += 1;
    record.standing = standing;
  }

  #forget(installationId: string, record: Suspected): void {
    this.#stand(record, 'noted');
    this.#records.delete(installationId);
  }

  #limit(): void {
    if (this.#records.size <= REMEMBERED) return;
    const [oldest] = this.#records;
    if (oldest !== undefined) this.#forget(...oldest);
  }
}

const fresh = (now: number): Suspected => ({
  standing: 'noted',
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

/** How long a guilty one has to be quiet. */
const releaseMs = ({ proven }: Suspected): number =>
  Math.min(RELEASE_MS_MIN * 2 ** Math.round(proven), RELEASE_MS_MAX);

function fade(record: Suspected, now: number): void {
  const left = 0.5 ** (Math.max(0, now - record.at) / HALF_LIFE_MS);
  record.score *= left;
  record.alone *= left;
  record.proven *= left;
  record.pauseMs *= left;
  record.at = Math.max(now, record.at);
}
