/**
 * Which logs keep more lines than others: those that are followed, and for a minute after their
 * last follower, so that a client that comes back misses none where the code logs much meanwhile.
 *
 * The bounds: ten times the lines, and some megabytes beyond what a log keeps otherwise. Of this
 * node: other nodes remove lines of a log that they write to.
 */
import type { Limits } from '../limits.ts';

/** How long a log keeps more lines after its last follower. */
const LINGER_MS = 60_000;
/** How much more a followed log keeps: times the lines of others, and bytes beyond them. */
export const FOLLOWED_TIMES = 10;
const BYTES_MORE = 8 * 1024 * 1024;

interface FollowedLog {
  followers: number;
  /** Without followers: until when. */
  until: number;
  /** Written since lines were last removed. */
  lines: number;
  bytes: number;
}

export interface FollowedLogsParts {
  readonly limits: Pick<Limits, 'logLinesPerInstallation'>;
  /** Monotonic clock, in milliseconds. */
  readonly ticks: () => number;
}

export class FollowedLogs {
  readonly #parts: FollowedLogsParts;
  readonly #logs = new Map<string, FollowedLog>();

  constructor(parts: FollowedLogsParts) {
    this.#parts = parts;
  }

  begin(tenant: string): void {
    const log = this.#logs.get(tenant) ?? { followers: 0, until: 0, lines: 0, bytes: 0 };
    log.followers += 1;
    this.#logs.set(tenant, log);
  }

  end(tenant: string): void {
    const log = this.#logs.get(tenant);
    if (log === undefined) return;
    log.followers -= 1;
    log.until = this.#parts.ticks() + LINGER_MS;
  }

  /**
   * Lines were written to a log. @returns how many of its newest lines to keep; undefined if none
   * has to be removed now
   */
  keptAfter(tenant: string, { lines, bytes }: { readonly lines: number; readonly bytes: number }) {
    const max = this.#parts.limits.logLinesPerInstallation;
    const log = this.#logs.get(tenant);
    if (log === undefined) return max;
    log.lines += lines;
    log.bytes += bytes;
    // Attack: to fill the disk through a log that is followed.
    if (log.bytes > BYTES_MORE) {
      log.lines = 0;
      log.bytes = 0;
      return max;
    }
    if (log.lines < max) return undefined;
    log.lines = 0;
    return max * FOLLOWED_TIMES;
  }

  /** Logs that are not followed any more, once: they keep what others do from now on. */
  over(): readonly string[] {
    const now = this.#parts.ticks();
    const over = [...this.#logs].filter(([, { followers, until }]) => followers === 0 && until <= now);
    for (const [tenant] of over) this.#logs.delete(tenant);
    return over.map(([tenant]) => tenant);
  }
}
