/**
 * One isolate that can be inspected, as the host sees it: where its messages go, and whether a
 * debugger has it.
 *
 * At most one debugger has an isolate. The next one waits until the cell has taken back what the
 * last one set.
 */
import { randomUUID } from 'node:crypto';
import type { HostInspection } from '../../protocol/inspection.ts';

/** The debugger that has a target. */
export interface TargetListener {
  /** A message of the isolate; `sent` is called once it has left, or cannot leave. */
  message(text: string, sent: () => void): void;
  /** The target lets the debugger go, for this reason. */
  released(reason: string): void;
}

export interface InspectorTargetDeps {
  /** Number of the isolate in its cell. */
  readonly number: number;
  /** Key of the isolate: owner and version. */
  readonly isolate: string;
  readonly script: string;
  send(message: HostInspection, body?: Uint8Array): void;
}

export class InspectorTarget {
  /** In the path of its URL: another user of this machine cannot guess it. */
  readonly id = randomUUID();
  readonly isolate: string;
  readonly script: string;
  readonly #deps: InspectorTargetDeps;
  #listener: TargetListener | undefined;
  /** Settles once no debugger has it. */
  #free = Promise.resolve();
  #freed: (() => void) | undefined;

  constructor(deps: InspectorTargetDeps) {
    this.#deps = deps;
    this.isolate = deps.isolate;
    this.script = deps.script;
  }

  /** Whether a debugger has it. */
  get taken(): boolean {
    return this.#listener !== undefined;
  }

  /** Settles when the settings of the last debugger are taken back. */
  get free(): Promise<void> {
    return this.#free;
  }

  /** Gives it to a debugger. @returns false where another one has it */
  take(listener: TargetListener): boolean {
    if (this.#listener !== undefined || this.#freed !== undefined) return false;
    this.#listener = listener;
    return true;
  }

  /** A request of its debugger. */
  request(text: string): void {
    this.#deps.send({ t: 'inspect', target: this.#deps.number }, Buffer.from(text));
  }

  /** The debugger has left. Does nothing for one that does not have it. */
  leave(listener: TargetListener): void {
    if (this.#listener !== listener) return;
    this.#listener = undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#free = promise;
    this.#freed = resolve;
    this.#deps.send({ t: 'inspect-end', target: this.#deps.number });
  }

  /** The cell has taken back what the last debugger set. */
  ended(): void {
    this.#freed?.();
    this.#freed = undefined;
  }

  /** A message of the isolate. */
  receive(body: Buffer): void {
    let owed = body.byteLength;
    const sent = () => {
      if (owed > 0) this.#deps.send({ t: 'inspect-credit', bytes: owed });
      owed = 0;
    };
    if (this.#listener === undefined) sent();
    else this.#listener.message(body.toString('utf8'), sent);
  }

  /** Lets its debugger go. */
  release(reason: string): void {
    this.#listener?.released(reason);
  }
}
