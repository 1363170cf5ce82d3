/**
 * All clients that follow logs: their number is bounded. A stream ends when its client may no
 * longer read the log, and when the service stops.
 *
 * One timer serves all of them, and runs only while a log is followed.
 */
import type { LimitName, Limits } from '../../limits.ts';
import { limitError } from '../../model/limit-met.ts';
import type { HolderPrincipal } from '../../model/principal.ts';
import { type Followed, LogStream, type LogStreamParts, type StreamEnd } from './log-stream.ts';

/** Time between two comments, and between two checks of permissions. */
export const KEEP_ALIVE_MS = 15_000;
/** Time to read the last event, after which the connection is cut. */
const FAREWELL_MS = 5_000;

export interface LogFollowersParts {
  readonly logs: LogStreamParts['logs'];
  readonly limits: Pick<
    Limits,
    'logFollowers' | 'logFollowersPerInstallation' | 'logFollowersPerToken' | 'logFollowerBufferBytes'
  >;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  limitMet(name: LimitName): void;
}

export interface Follower {
  readonly principal: HolderPrincipal;
  /** Why the client may no longer read this log; undefined if it still may. */
  refusal(): Promise<StreamEnd | undefined>;
}

interface Following extends Follower {
  readonly tenant: string;
  readonly stream: LogStream;
}

export class LogFollowers {
  readonly #parts: LogFollowersParts;
  readonly #all = new Set<Following>();
  #cancelTimer: (() => void) | undefined;

  constructor(parts: LogFollowersParts) {
    this.#parts = parts;
  }

  /**
   * Starts a stream. The caller has checked that the client may read the log.
   *
   * @throws AnnexError LOG_BUSY
   */
  follow(followed: Followed, follower: Follower): LogStream {
    const { tenant } = followed;
    const { logs, limits } = this.#parts;
    this.#refuseBeyond(tenant, follower.principal);
    const stream = new LogStream({ logs, bufferBytes: limits.logFollowerBufferBytes }, followed);
    stream.once('over', (reason: StreamEnd) => {
      if (reason === 'slow') this.#parts.limitMet('logFollowerBufferBytes');
      this.#parts.after(FAREWELL_MS, () => stream.destroy());
    });
    const following = { ...follower, tenant, stream };
    this.#all.add(following);
    stream.once('close', () => this.#remove(following));
    this.#cancelTimer ??= this.#parts.after(KEEP_ALIVE_MS, () => this.#tick());
    return stream;
  }

  /**
   * Checks the permissions of all followers, or of those of one tenant, after something
   * changed. Never throws.
   */
  check(tenant?: string): void {
    for (const one of this.#all) if (tenant === undefined || one.tenant === tenant) void this.#check(one);
  }

  /** The service stops. */
  stop(): void {
    for (const { stream } of this.#all) stream.finish('stopping');
  }

  async #check({ stream, refusal }: Following): Promise<void> {
    // Where the store fails, the next check decides.
    const reason = await refusal().catch(() => undefined);
    if (reason !== undefined) stream.finish(reason);
  }

  #tick(): void {
    this.#cancelTimer = this.#parts.after(KEEP_ALIVE_MS, () => this.#tick());
    for (const one of this.#all) {
      one.stream.keepAlive();
      void this.#check(one);
    }
  }

  #remove(one: Following): void {
    this.#all.delete(one);
    if (this.#all.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Attack: clients that follow logs by the thousand, until others find no place. */
  #refuseBeyond(tenant: string, { kind, tokenId }: HolderPrincipal): void {
    const all = [...this.#all];
    const counts: readonly (readonly [LimitName & keyof LogFollowersParts['limits'], number])[] = [
      ['logFollowersPerInstallation', all.filter((one) => one.tenant === tenant).length],
      // The operator and the host product follow for others.
      [
        'logFollowersPerToken',
        kind === 'organization' ? all.filter((one) => one.principal.tokenId === tokenId).length : 0,
      ],
      ['logFollowers', all.length],
    ];
    for (const [name, used] of counts) {
      const max = this.#parts.limits[name];
      if (used < max) continue;
      this.#parts.limitMet(name);
      throw limitError('LOG_BUSY', { name, max });
    }
  }
}
