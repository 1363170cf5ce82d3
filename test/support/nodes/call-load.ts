/** Calls the warm endpoint of one node at a steady pace, and records every answer. */
import { setTimeout as passed } from 'node:timers/promises';
import type { GroupNode, NodeGroup } from './node-group.ts';

const EVERY_MS = 50;

export interface CallAnswered {
  /** Monotonic, in milliseconds. */
  readonly at: number;
  /** 0 if the connection failed. */
  readonly status: number;
  readonly tookMs: number;
  /** Absent if the answer has none. */
  readonly retryAfter?: string;
}

export class CallLoad {
  readonly answers: CallAnswered[] = [];
  readonly #running: Promise<void>;
  #isEnding = false;

  constructor(group: NodeGroup, node: GroupNode) {
    this.#running = this.#run(group, node);
  }

  since(at: number): CallAnswered[] {
    return this.answers.filter((answer) => answer.at >= at);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
  }

  async #run({ endpointPath }: NodeGroup, node: GroupNode): Promise<void> {
    while (!this.#isEnding) {
      const since = performance.now();
      const answer = await fetch(`${node.running?.open}${endpointPath}`)
        .then(async (response) => {
          await response.text();
          return { status: response.status, retryAfter: response.headers.get('retry-after') };
        })
        .catch(() => ({ status: 0, retryAfter: null }));
      const { status, retryAfter } = answer;
      const at = performance.now();
      this.answers.push({ at, status, tookMs: at - since, ...(retryAfter !== null && { retryAfter }) });
      await passed(EVERY_MS);
    }
  }
}
