/**
 * The place of one worker: starts its process, and starts the next one when it ends, until the slot
 * is stopped. The pause before each restart grows while a worker keeps ending. Otherwise each
 * worker would open connections to a database that is down once a second.
 */
import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { INDEX_VARIABLE, type ListenerUrls, type ToSupervisor, type ToWorker } from './messages.ts';

/** The pauses before a worker is started again, in milliseconds. */
export interface RestartPace {
  /** The first pause; each further one in a row is twice as long. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** A worker that has served so long begins with the first pause again. */
  readonly healthyMs: number;
}

/** How a worker process ended. */
export interface WorkerEnd {
  /** Absent if a signal ended it. */
  readonly exitCode?: number;
  readonly signal?: string;
  /** Whether it had listened. */
  readonly served: boolean;
  /** Milliseconds until the next start. */
  readonly restartMs: number;
}

export interface WorkerSlotDeps {
  readonly index: number;
  readonly pace: RestartPace;
  served(urls: ListenerUrls): void;
  said(message: ToSupervisor): void;
  /**
   * Its process has ended. The slot starts the next one unless this stops it.
   *
   * @param id of the process; undefined if none could be started
   */
  ended(id: number | undefined, end: WorkerEnd): void;
}

export class WorkerSlot {
  readonly index: number;
  readonly #deps: WorkerSlotDeps;
  #worker: Worker | undefined;
  /** When the worker began to serve, in monotonic milliseconds; undefined before. */
  #servesSince: number | undefined;
  /** Pauses in a row. */
  #pauses = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  readonly #empty = Promise.withResolvers<void>();

  constructor(deps: WorkerSlotDeps) {
    this.index = deps.index;
    this.#deps = deps;
  }

  /** Unique over all processes of all slots; undefined while there is no process. */
  get id(): number | undefined {
    return this.#worker?.id;
  }

  get pid(): number | undefined {
    return this.#worker?.process.pid;
  }

  get serves(): boolean {
    return this.#servesSince !== undefined;
  }

  start(): void {
    const worker = fork(this.index);
    this.#worker = worker;
    if (worker === undefined) return this.#ended(worker, null, null);
    worker.on('message', (message: ToSupervisor) => {
      if (message.annex === 'ready') {
        this.#servesSince = performance.now();
        this.#deps.served(message.urls);
      } else this.#deps.said(message);
    });
    const closeUnanswered = followHandedConnections(worker.process);
    worker.once('exit', (code, signal) => {
      closeUnanswered();
      this.#ended(worker, code, signal);
    });
    // A process that could not be started has no exit. Later errors are those of a closed channel.
    worker.on('error', () => {
      if (worker.process.pid === undefined) this.#ended(worker, null, null);
    });
  }

  send(message: ToWorker): void {
    // A worker that has just ended is noticed by its exit.
    if (this.#worker?.isConnected()) this.#worker.send(message, () => {});
  }

  /** Asks the process to stop, and starts no other. Resolves when it has ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    if (this.#worker === undefined) this.#empty.resolve();
    else this.send({ annex: 'stop' });
    return this.#empty.promise;
  }

  /** Ends the process at once. */
  kill(): void {
    this.#worker?.process.kill('SIGKILL');
  }

  #ended(worker: Worker | undefined, code: number | null, signal: string | null): void {
    if (this.#worker !== worker) return;
    const served = this.#servesSince !== undefined;
    const { firstMs, maxMs, healthyMs } = this.#deps.pace;
    if (performance.now() - (this.#servesSince ?? Number.POSITIVE_INFINITY) >= healthyMs) this.#pauses = 0;
    const restartMs = Math.min(maxMs, firstMs * 2 ** this.#pauses);
    this.#worker = undefined;
    this.#servesSince = undefined;
    this.#pauses += 1;
    this.#deps.ended(worker?.id, {
      ...(signal ? { signal } : { exitCode: code ?? 1 }),
      served,
      restartMs,
    });
    if (this.#isStopped) this.#empty.resolve();
    else this.#timer = setTimeout(() => this.start(), restartMs);
  }
}

/** @returns undefined if the system has no memory for a process, where Node throws */
function fork(index: number): Worker | undefined {
  try {
    return cluster.fork({ [INDEX_VARIABLE]: String(index) });
  } catch {
    return undefined;
  }
}

/** A message of `node:cluster`: a connection that is handed on, and the answer to it. */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

/**
 * Closes the connections that were on their way to a worker when it died. `node:cluster` waits for
 * the worker's answer to each and would keep them open for ever: their clients would never get an
 * answer.
 *
 * It follows the messages of `node:cluster` itself, which are not documented. If they change, such
 * clients wait until their own time-out; a test of the supervisor shows it.
 *
 * @returns closes what the worker has not answered; for its end
 */
function followHandedConnections(worker: ChildProcess): () => void {
  const unanswered = new Map<number, { close(): void }>();
  const send = worker.send.bind(worker) as (...given: unknown[]) => boolean;
  const following = (...given: unknown[]): boolean => {
    const [{ act, seq }, connection] = given as [ClusterMessage, { close(): void }];
    if (act === 'newconn' && seq !== undefined) unanswered.set(seq, connection);
    return send(...given);
  };
  worker.send = following;
  worker.on('internalMessage', ({ ack }: ClusterMessage) => {
    // Accepted, or handed to another worker.
    if (ack !== undefined) unanswered.delete(ack);
  });
  return () => {
    for (const connection of unanswered.values()) connection.close();
    unanswered.clear();
  };
}
