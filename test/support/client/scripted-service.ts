/**
 * The environment of the client for tests of its decisions: a `fetch` that answers from a script,
 * and a clock that waits move on.
 */
import type { ClientEnvironment } from '../../../packages/client/src/deadline.ts';

/** An answer, or the error of a connection. */
export type Scripted = Response | Error;

export class ScriptedService implements ClientEnvironment {
  /** Requests so far. */
  readonly requests: Request[] = [];
  /** Milliseconds of the waits so far. */
  readonly waits: number[] = [];
  readonly #answers: Scripted[];
  #now = 0;

  /** @param answers in order; one request too many fails */
  constructor(answers: readonly Scripted[]) {
    this.#answers = [...answers];
  }

  readonly fetch: typeof fetch = async (input, init) => {
    this.requests.push(new Request(input, init));
    const answer = this.#answers.shift();
    if (answer === undefined) throw new Error('The script has no further answer.');
    if (answer instanceof Response) return answer;
    throw answer;
  };

  /** The JSON of each request, in order. */
  async bodies(): Promise<Record<string, unknown>[]> {
    const texts = await Promise.all(this.requests.map((request) => request.clone().text()));
    return texts.map((text) => JSON.parse(text));
  }

  readonly now = (): number => this.#now;
  readonly random = (): number => 0;

  readonly wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    this.waits.push(ms);
    this.#now += ms;
  };
}

/** An error of Annex. */
export const refusal = (status: number, code: string, retryAfterS?: number): Response =>
  Response.json(
    { error: { code, status, message: `${code} happened.`, requestId: 'r-1' } },
    { status, headers: retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) } },
  );
