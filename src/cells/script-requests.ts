/**
 * Answers a cell that asks for scripts: each script of its own tasks, and none more often than an
 * honest cell asks.
 */
import type { HostMessage } from '../protocol/wire.ts';
import type { CellPipe } from './cell-pipe.ts';

/**
 * Stands in for a version that was deleted after a call to it had begun, so that only this call
 * fails. Attack: an owner publishes, calls and deletes in a loop, to have cells killed with the
 * calls of other tenants in them.
 */
const DELETED_SCRIPT = Buffer.from(
  "(async function () { throw new Error('This version was deleted before it could be loaded.'); })",
);
/**
 * An honest cell does not ask for the same script again within this time: it keeps scripts while
 * there is room.
 */
const ASK_AGAIN_MS = 250;

export interface ScriptRequestsParts {
  readonly pipe: Pick<CellPipe, 'send'>;
  /** Whether a task in the cell runs this script. */
  entitled(key: string): boolean;
  /** The source of a script; undefined where its version was deleted. */
  source(key: string): Promise<Uint8Array | undefined>;
  /** Ends the cell; `words` say what it did. */
  breach(words: string): void;
}

export class ScriptRequests {
  readonly #parts: ScriptRequestsParts;
  /** Scripts that the cell asked for lately. */
  readonly #asked = new Set<string>();

  constructor(parts: ScriptRequestsParts) {
    this.#parts = parts;
  }

  /** Sends the script that the cell asks for. */
  async send(key: string): Promise<void> {
    const { pipe, entitled, source, breach } = this.#parts;
    // Attack: a cell that was taken over reads the code of tenants of other cells.
    if (!entitled(key)) return breach('requested a script of none of its calls');
    // Attack: a cell asks without reading. Each answer is a copy of a whole script and would fill
    // the host's memory.
    if (this.#asked.has(key)) return breach('requested a script twice');
    this.#asked.add(key);
    if (this.#asked.size === 1) setTimeout(() => this.#asked.clear(), ASK_AGAIN_MS).unref();
    const found = await source(key).catch((cause: unknown) => cause);
    if (found instanceof Uint8Array || found === undefined)
      pipe.send({ t: 'script', script: key } satisfies HostMessage, found ?? DELETED_SCRIPT);
    else breach(`could not be given the script ${key}`);
    return undefined;
  }
}
