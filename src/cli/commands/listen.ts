/**
 * `annex listen`: forwards the webhook deliveries of an installation to a receiver on this machine.
 *
 * It follows the deliveries, reads the payload of each one that Annex has posted, and posts the
 * same bytes to the local receiver, with signatures made with the webhook's own secret, by both
 * schemes. The
 * configured receiver gets its deliveries as before: nothing is diverted.
 */

import { lookup } from 'node:dns/promises';
import Type from 'typebox';
import type { Annex, DeliveryChange, WholeDelivery } from '../../../packages/client/src/index.ts';
import {
  HEADER_PREFIX,
  headerNames,
  signatureHeader,
  standardHeaders,
  standardId,
} from '../../model/signature.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { type Output, paint } from '../terminal/output.ts';
import { follow } from '../traffic/follow-stream.ts';
import { findInstallation, INSTALLATION, nameOf, targetPath } from '../traffic/installation.ts';
import { timeOfDay } from '../traffic/option-values.ts';

/** Deliveries that are remembered as forwarded, so that a retry is not forwarded again. */
const REMEMBERED_MAX = 10_000;

export const listen: Command = defineCommand({
  name: 'listen',
  summary: 'forward webhook deliveries to a receiver on this machine',
  description: [
    'Forwards each webhook delivery of an installation to a local receiver, once, with the signatures of this moment by the secret of the webhook, of the platform and of Standard Webhooks: the receiver verifies the one that it knows, as it does in production. Headers of your own are not sent.',
    'Annex posts to the configured receiver as before. A payload exists only after Annex has posted it once. A retry is not forwarded again; a redelivery is. Each reading of the secret from the API is an entry in the audit.',
  ],
  arguments: { installation: INSTALLATION },
  options: {
    forwardTo: {
      value: 'url',
      help: 'port, host and port, or URL of the receiver',
      required: true,
      parse: forwardTo,
    },
    space: { value: 'space', help: 'only deliveries to this space' },
    site: { value: 'site', help: 'only deliveries to this site' },
    type: { value: 'type', help: 'only this type of event' },
    payload: { help: 'show the payloads, too' },
  },
  examples: [
    {
      line: 'annex listen hooks --forward-to localhost:3000',
      does: 'forward the deliveries of the installation of hooks',
    },
    { line: 'annex listen hooks@acme --forward-to 3000 --payload', does: 'show each payload, too' },
  ],
  json: Type.Object({
    delivery: Type.String(),
    eventId: Type.String(),
    type: Type.String(),
    at: Type.String(),
    url: Type.String(),
    status: Type.Optional(Type.Integer({ description: 'Of the local receiver.' })),
    error: Type.Optional(Type.String({ description: 'Why it has not answered.' })),
    durationMs: Type.Integer(),
    payload: Type.String(),
  }),
  stream: true,
  async run(context, { installation: word, forwardTo: url, payload: showsPayload, ...filter }) {
    const { output, signal } = context;
    await findHost(url);
    const client = await context.client();
    const installation = await findInstallation(client, word);
    const receiver = new LocalReceiver(client, url, signal);
    const changes = follow<DeliveryChange>(context, {
      path: '/v1/deliveries',
      query: { installation: installation.id, ...filter },
      begins: `Forwarding the webhooks of ${nameOf(installation)} to ${url}. Ctrl-C ends it.`,
      items: 'deliveries',
    });
    for await (const delivery of posted(client, changes)) {
      const forwarded = await receiver.post(delivery);
      if (signal.aborted) return;
      const { id, eventId, type, payload } = delivery;
      const value = {
        delivery: id,
        eventId,
        type,
        at: new Date().toISOString(),
        url: String(url),
        ...forwarded,
        payload,
      };
      await output.item(value, () => show(output, value, showsPayload));
    }
  },
});

/** Deliveries whose payload was made, each once until it is redelivered. */
async function* posted(client: Annex, changes: AsyncIterable<DeliveryChange>) {
  const forwarded = new Set<string>();
  for await (const { change, delivery } of changes) {
    if (change === 'redelivered') forwarded.delete(delivery.id);
    if (change === 'accepted' || change === 'redelivered' || delivery.kind !== 'webhook') continue;
    if (forwarded.has(delivery.id)) continue;
    const { payload, ...whole } = await client.deliveries.get(delivery.id);
    // Without one nothing was posted: the code refused it, or the target is paused.
    if (payload === undefined) continue;
    forwarded.add(delivery.id);
    for (const oldest of forwarded) {
      if (forwarded.size <= REMEMBERED_MAX) break;
      forwarded.delete(oldest);
    }
    yield { ...whole, payload };
  }
}

interface Shown {
  readonly at: string;
  readonly type: string;
  readonly delivery: string;
  readonly payload: string;
  readonly durationMs: number;
  readonly status?: number;
  readonly error?: string;
}

function show(output: Pick<Output, 'line'>, shown: Shown, showsPayload: boolean): void {
  const { at, type, delivery, status = 0, error, durationMs, payload } = shown;
  const isWell = status >= 200 && status < 300;
  output.line(
    paint('dim', `${timeOfDay(at)} `),
    `${type} → `,
    paint(isWell ? 'green' : 'red', error ?? String(status)),
    paint('dim', `  ${durationMs} ms  ${delivery}`),
  );
  if (showsPayload) output.line(payload);
}

/** As long as Annex waits for a receiver. */
const ANSWER_MS = 10_000;
const PORT = /^\d{1,5}$/;

/** `3000`, `localhost:3000/in` or a URL. @throws UsageError with a sentence about the text */
function forwardTo(text: string): URL {
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
async function findHost({ hostname }: URL): Promise<void> {
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
type Forwarded =
  | { readonly status: number; readonly durationMs: number }
  | { readonly error: string; readonly durationMs: number };

/** What signs the deliveries of a target, and the names of their headers. */
interface Signing {
  readonly secret: string;
  readonly headerPrefix?: string;
}

class LocalReceiver {
  readonly #client: Annex;
  readonly #url: URL;
  readonly #signal: AbortSignal;
  /** By path of the target. */
  readonly #secrets = new Map<string, Signing>();

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
    return now.secret === before?.secret ? first : this.#send(delivery, now);
  }

  async #secretOf(target: string): Promise<Signing> {
    const known = this.#secrets.get(target);
    if (known !== undefined) return known;
    const signing = await this.#client.request<Signing>('GET', `${target}/webhook-secret`);
    this.#secrets.set(target, signing);
    return signing;
  }

  async #send(delivery: WholeDelivery & { readonly payload: string }, signing: Signing): Promise<Forwarded> {
    const { secret, headerPrefix = HEADER_PREFIX } = signing;
    const names = headerNames(headerPrefix);
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
          // A receiver verifies the one that it knows.
          [names.signature]: signatureHeader([secret], atS, body),
          ...standardHeaders([secret], { id: standardId(delivery.id), timestampS: atS }, body),
          [names.event]: delivery.type,
          [names.delivery]: delivery.id,
          [names.attempt]: String(Math.max(1, delivery.attempts)),
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
