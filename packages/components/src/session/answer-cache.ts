/**
 * Answers that a component allows to be cached (`setCache`, `Cache-Control: max-age`), by request.
 * Only requests without an action are cached: an action changes something.
 */
import { LIMITS } from '../limits.ts';
import type { RenderAnswer, RenderRequest, Transport } from '../transport.ts';

/** Attack: a `max-age` of a thousand years; a page does not live that long. */
const MAX_AGE_S = 86_400;
const MAX_AGE = /(?:^|[\s,])max-age=(\d{1,10})/i;

/** Milliseconds for which an answer may be used again; 0 for none. */
export function freshMs({ status, cacheControl }: RenderAnswer): number {
  if (status !== 200 || !cacheControl || /no-store|no-cache/i.test(cacheControl)) return 0;
  return Math.min(Number(MAX_AGE.exec(cacheControl)?.[1] ?? 0), MAX_AGE_S) * 1_000;
}

export class AnswerCache {
  /** Component → height of its last drawing in pixels, which is kept while it is drawn anew. */
  readonly heights = new Map<string, number>();
  readonly #answers = new Map<string, { readonly answer: RenderAnswer; readonly until: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sends a request, or answers it from the cache. @param isFresh whether the cache is passed by */
  async ask(
    request: RenderRequest,
    transport: Transport,
    signal: AbortSignal,
    isFresh = false,
  ): Promise<RenderAnswer> {
    if (request.action !== undefined) return transport(request, signal);
    const key = JSON.stringify([request.componentId, request.props, request.state, request.context]);
    const known = this.#answers.get(key);
    if (!isFresh && known !== undefined && known.until > this.#now()) return known.answer;
    this.#answers.delete(key);
    const answer = await transport(request, signal);
    const fresh = freshMs(answer);
    if (fresh > 0) this.#keep(key, answer, this.#now() + fresh);
    return answer;
  }

  #keep(key: string, answer: RenderAnswer, until: number): void {
    const oldest = this.#answers.keys().next();
    if (this.#answers.size >= LIMITS.cachedAnswers && !oldest.done) this.#answers.delete(oldest.value);
    this.#answers.set(key, { answer, until });
  }
}

const caches = new WeakMap<Transport, AnswerCache>();

/** All components of a page with one transport share a cache. */
export function cacheOf(transport: Transport): AnswerCache {
  const known = caches.get(transport);
  if (known !== undefined) return known;
  const cache = new AnswerCache(() => performance.now());
  caches.set(transport, cache);
  return cache;
}
