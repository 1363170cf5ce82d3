/**
 * Bounds the log lines about requests that never become calls, or that run out of time because of
 * their client.
 *
 * Attack: a stranger sends thousands of bodies that are too large, and the log, which keeps only
 * its newest lines, is about nothing else. So each installation has a token bucket of such lines.
 * While it is empty, requests are counted, and one line says later how many there were. The metrics
 * count each of them in any case.
 *
 * It decides and counts; the call log writes the line of a single request.
 */
import { RateLimit } from '../model/rate-limit.ts';
import type { Target } from '../model/target.ts';
import type { LogLine } from '../store/logs.ts';

/** One in so many of the lines that a log keeps may be such lines at once. */
const SHARE_OF_LOG = 50;
/** After this time there may be one more. */
const LINE_EVERY_MS = 10 * 60_000;

export interface RefusalLinesParts {
  /** Lines that the log of an installation keeps. */
  readonly linesKept: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Milliseconds of the monotonic clock. */
  readonly ticks: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly write: (line: LogLine) => void;
}

/** Requests of one installation that were counted and have no line yet. */
interface Counted {
  readonly since: number;
  version: number;
  readonly timesByReason: Map<string, number>;
  readonly cancel: () => void;
}

export class RefusalLines {
  readonly #parts: RefusalLinesParts;
  readonly #lines: RateLimit;
  readonly #counted = new Map<string, Counted>();

  constructor(parts: RefusalLinesParts) {
    this.#parts = parts;
    const timesMax = Math.max(1, Math.floor(parts.linesKept / SHARE_OF_LOG));
    this.#lines = new RateLimit({ timesMax, windowMs: timesMax * LINE_EVERY_MS, clock: parts.ticks });
  }

  /**
   * @param reason why it was refused, for instance the name of a limit @returns false where the
   * request was counted instead
   */
  mayWrite({ tenant, version }: Pick<Target, 'tenant' | 'version'>, reason: string): boolean {
    const counted = this.#counted.get(tenant);
    if (counted === undefined && this.#lines.take(tenant)) return true;
    const { timesByReason } = counted ?? this.#begin(tenant, version);
    timesByReason.set(reason, (timesByReason.get(reason) ?? 0) + 1);
    if (counted !== undefined) counted.version = version;
    return false;
  }

  /** Writes what was counted so far. */
  close(): void {
    for (const tenant of [...this.#counted.keys()]) this.#write(tenant);
  }

  #begin(tenant: string, version: number): Counted {
    // By then the bucket has room for one line.
    const cancel = this.#parts.after(LINE_EVERY_MS, () => {
      this.#lines.take(tenant);
      this.#write(tenant);
    });
    const counted = { since: this.#parts.clock(), version, timesByReason: new Map<string, number>(), cancel };
    this.#counted.set(tenant, counted);
    return counted;
  }

  #write(tenant: string): void {
    const counted = this.#counted.get(tenant);
    if (counted === undefined) return;
    this.#counted.delete(tenant);
    counted.cancel();
    const { version, since, timesByReason } = counted;
    const text = summary(timesByReason, since);
    this.#parts.write({
      tenant,
      version,
      requestId: '',
      level: 'warn',
      text,
      at: this.#parts.clock(),
    });
  }
}

/**
 * For instance "812 more requests were refused or timed out since 2026-01-02T03:04:05.678Z
 * (requestBodyBytes: 812). …"
 */
function summary(timesByReason: ReadonlyMap<string, number>, since: number): string {
  let times = 0;
  for (const some of timesByReason.values()) times += some;
  const reasons = [...timesByReason].map(([reason, some]) => `${reason}: ${some}`).join(', ');
  const requests = times === 1 ? 'request was' : 'requests were';
  return (
    `${times} more ${requests} refused or timed out since ${new Date(since).toISOString()} (${reasons}). ` +
    'They are counted, so that the other lines of this log are kept; the metrics count each of them.'
  );
}
