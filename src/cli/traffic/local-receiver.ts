/**
 * Posts deliveries to a receiver on this machine, as Annex posts them to the configured one
 * (docs/contract/webhooks.md#request): the same bytes and headers, with a signature of this moment
 * made with the webhook's own secret. An ordinary client of the API reads both.
 */
import { lookup } from 'node:dns/promises';
import type { Annex, WholeDelivery } from '../../../packages/client/src/index.ts';
import { signatureHeader } from '../../model/signature.ts';
import { UsageError } from '../terminal/failure.ts';
import { targetPath } from './installation-name.ts';

/** As long as Annex waits for a receiver. */
const ANSWER_MS = 10_000;
const PORT = /^\d{1,5}$/;

/** `3000`, `localhost:3000/in` or a URL. @throws UsageError with a sentence about the text */
export function forwardTo(text: string): URL {
  const url = URL.parse(PORT.test(text) ? `http://127.0.0.1:${text}` : withScheme(text));
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new UsageError(`"${text}" is not a URL to forward to, as 3000, localhost:3000/hooks or a whole URL.`);
}

const withScheme = (text: string): string => (/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`);

/**
 * A misspelt host would be noticed only at the first delivery, which may be hours away.
 *
 * @throws UsageError if the host has no address
 */
export async function findHost({ hostname }: URL): Promise<void> {
  // Brackets are around an address of IPv6, which is not looked up.
  if (hostname.startsWith('[')) return;
  try {
    await lookup(hostname);
  } catch (cause) {
    throw new UsageError(`No address is found for the host "${hostname}" (${reasonOf({ cause })}).`, {
      hint: 'Check --forward-to: a port alone, as 3000, is on this machine.',
    });
  }
}

/** How a forwarded delivery ended. */
export type Forwarded =
  | { readonly status: number; readonly durationMs: number }
  | { readonly error: string; readonly durationMs: number };

export class LocalReceiver {
  readonly #client: Annex;
  readonly #url: URL;
  readonly #signal: AbortSignal;
  /** By path of the target. */
  readonly #secrets = new Map<string, string>();

  constructor(client: Annex, url: URL, signal: AbortSignal) {
    this.#client = client;
    this.#url = url;
    this.#signal = signal;
  }

  /** Posts the payload of a delivery. */
  async post(delivery: WholeDelivery & { readonly payload: string }): Promise<Forwarded> {
    const target = targetPath(
      { integration: delivery.integration, id: delivery.installation ?? '' },
      delivery,
    );
    const isNew = !this.#secrets.has(target);
    const first = await this.#send(delivery, await this.#secretOf(target));
    // The secret may have been replaced since it was read.
    if (isNew || !('status' in first) || (first.status !== 401 && first.status !== 403)) return first;
    const before = this.#secrets.get(target);
    this.#secrets.delete(target);
    const now = await this.#secretOf(target);
    return now === before ? first : this.#send(delivery, now);
  }

  async #secretOf(target: string): Promise<string> {
    const known = this.#secrets.get(target);
    if (known !== undefined) return known;
    const { secret } = await this.#client.request<{ secret: string }>('GET', `${target}/webhook-secret`);
    this.#secrets.set(target, secret);
    return secret;
  }

  async #send(delivery: WholeDelivery & { readonly payload: string }, secret: string): Promise<Forwarded> {
    const body = Buffer.from(delivery.payload);
    const begun = performance.now();
    const durationMs = () => Math.round(performance.now() - begun);
    const atS = Math.floor(Date.now() / 1_000);
    try {
      const answer = await fetch(this.#url, {
        method: 'POST',
        body,
        redirect: 'manual',
        signal: AbortSignal.any([this.#signal, AbortSignal.timeout(ANSWER_MS)]),
        headers: {
          'content-type': 'application/json',
          'user-agent': 'annex-listen',
          'x-platform-signature': signatureHeader([secret], atS, body),
          'x-platform-event': delivery.type,
          'x-platform-delivery': delivery.id,
          'x-platform-attempt': String(Math.max(1, delivery.attempts)),
        },
      });
      await answer.body?.cancel();
      return { status: answer.status, durationMs: durationMs() };
    } catch (error) {
      return { error: reasonOf(error), durationMs: durationMs() };
    }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `no answer within ${ANSWER_MS / 1_000} s`;
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return cause?.code === 'ECONNREFUSED' ? 'nothing listens there' : (cause?.code ?? String(error));
}
