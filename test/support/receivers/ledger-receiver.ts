/**
 * A webhook receiver in a process of its own, seen from its parent: for benchmarks, and for tests
 * that kill the host and compare acknowledged events with received deliveries.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';

export type ToReceiver =
  | {
      readonly kind: 'settings';
      /** The signature of every n-th request is checked. */
      readonly verifyEvery: number;
      readonly keepsLedger: boolean;
      /** Each request is answered at a random time within these milliseconds. */
      readonly answerWithinMs: number;
      /** Path → secrets of its requests; `*` for all others. */
      readonly secrets?: Readonly<Record<string, readonly string[]>>;
    }
  | { readonly kind: 'progress' | 'latencies' | 'ledger' };

export interface LedgerEntry {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly path: string;
  /** For each request of this delivery, the run of the host that made it, from 0. */
  readonly lives: readonly number[];
}

export interface Progress {
  readonly received: number;
  readonly badSignatures: number;
  readonly hanging: number;
}

/**
 * Milliseconds from the post of an event, whose time is in its id, to the arrival of its request.
 */
export interface Latencies {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export type FromReceiver =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'done' }
  | ({ readonly kind: 'progress' } & Progress)
  | { readonly kind: 'latencies'; readonly latencies: Latencies }
  | { readonly kind: 'ledger'; readonly entries: readonly LedgerEntry[] };

/** A request for this path marks the end of a host: later connections are of the next one. */
export const END_OF_HOST = '/end-of-host';

/** Id of an event with its time, by a clock that all processes of a machine share. */
export const timedEventId = (prefix: string, count: number): string =>
  `${prefix}_${count.toString(36)}_${(process.hrtime.bigint() / 1_000n).toString(36)}`;

/** @returns microseconds; undefined if the id has no time */
export function encodedAt(eventId: string): number | undefined {
  const [, , at] = eventId.split('_');
  return at === undefined ? undefined : Number.parseInt(at, 36);
}

export class LedgerReceiver {
  readonly port: number;
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#process = child;
    this.port = port;
  }

  static async start(): Promise<LedgerReceiver> {
    const child = fork(fileURLToPath(new URL('./ledger-receiver-process.ts', import.meta.url)));
    const [first] = (await once(child, 'message')) as [FromReceiver];
    if (first.kind !== 'listening') throw new Error('The receiver does not listen.');
    return new LedgerReceiver(child, first.port);
  }

  /** URL of a receiver that answers, or of one that never does. */
  url(name: string, behaviour: 'r' | 'hang' = 'r'): string {
    return `http://127.0.0.1:${this.port}/${behaviour}/${name}`;
  }

  async configure(settings: Omit<ToReceiver & { kind: 'settings' }, 'kind'>): Promise<void> {
    await this.#ask({ kind: 'settings', ...settings });
  }

  async progress(): Promise<Progress> {
    return (await this.#ask({ kind: 'progress' })) as Progress & FromReceiver;
  }

  /** Latencies of all requests since the last call. */
  async latencies(): Promise<Latencies> {
    return ((await this.#ask({ kind: 'latencies' })) as FromReceiver & { kind: 'latencies' }).latencies;
  }

  async ledger(): Promise<readonly LedgerEntry[]> {
    return ((await this.#ask({ kind: 'ledger' })) as FromReceiver & { kind: 'ledger' }).entries;
  }

  /**
   * Separates requests of a host that has ended from those of the next. Called between the two:
   * connections of the first are before this one in the queue of the listener, so they are
   * accepted, and counted for it, before.
   */
  async endLife(): Promise<void> {
    const asked = request({
      port: this.port,
      host: '127.0.0.1',
      method: 'POST',
      path: END_OF_HOST,
      agent: false,
    });
    asked.setHeader('content-length', 0);
    asked.end();
    const [response] = await once(asked, 'response');
    response.resume();
    await once(response, 'end');
  }

  stop(): void {
    this.#process.kill('SIGKILL');
  }

  /** One request at a time, so that answers need no number. */
  #ask(message: ToReceiver): Promise<FromReceiver> {
    const answer = this.#last.then(async () => {
      this.#process.send(message);
      const [reply] = (await once(this.#process, 'message')) as [FromReceiver];
      return reply;
    });
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  #last: Promise<unknown> = Promise.resolve();
}
