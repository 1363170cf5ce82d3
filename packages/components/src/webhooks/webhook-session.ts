/**
 * What is known of the webhook of one target: its state, its deliveries, and what was asked for
 * last. What was read stays while it is read again. While a delivery waits, the list is read again
 * by itself.
 */
import { batch, signal } from '@preact/signals';
import type { FormAnswer, FormRequest, FormTransport } from '../configuration/form-transport.ts';
import { isObject } from '../drawing/json.ts';

export interface Webhook {
  readonly state: 'healthy' | 'failing' | 'disabled';
  readonly failing?: { readonly since: string; readonly outcome: string };
  readonly disabled?: { readonly reason: string; readonly note?: string };
  readonly held: number;
  readonly types: readonly { readonly type: string; readonly title?: string }[];
}

export interface Delivery {
  readonly id: string;
  readonly type: string;
  readonly kind: 'handler' | 'webhook';
  readonly state: 'pending' | 'delivered' | 'unhandled' | 'failed' | 'canceled' | 'held';
  readonly attempts: number;
  readonly outcome?: string;
  readonly createdAt: string;
}

export interface Attempt {
  readonly number: number;
  readonly at: string;
  readonly durationMs: number;
  readonly result: 'succeeded' | 'failed' | 'fault';
  readonly outcome: string;
  readonly destination?: string;
  readonly status?: number;
  readonly response?: string;
  readonly truncated?: boolean;
  readonly reason?: string;
}

export interface WholeDelivery extends Delivery {
  readonly history: readonly Attempt[];
  readonly destination?: string;
  readonly payload?: string;
}

export interface Secret {
  readonly secret: string;
  readonly standardSecret?: string;
  readonly previous?: { readonly until: string };
}

/** Why something failed; without a message, there was no answer. */
export interface Failure {
  readonly message?: string;
  readonly requestId?: string;
}

const LOOK_EVERY_MS = 1_500;
/** How often a delivery that waits is looked for; later, a person asks. */
const LOOKS_MAX = 120;
const PAGE = 20;
/** Seconds in which the secret before signs, too. */
const OVERLAP_SECONDS = 86_400;

export class WebhookSession {
  readonly webhook = signal<Webhook | 'none' | undefined>(undefined);
  readonly deliveries = signal<readonly Delivery[] | undefined>(undefined);
  readonly next = signal<string | undefined>(undefined);
  readonly failure = signal<Failure | undefined>(undefined);
  readonly opened = signal<{ readonly id: string; readonly whole?: WholeDelivery } | undefined>(undefined);
  readonly secret = signal<Secret | undefined>(undefined);
  /** What the test has done: sent, or that no handler takes the type. */
  readonly tested = signal<'sent' | 'unhandled' | undefined>(undefined);
  readonly isBusy = signal(false);
  readonly #transport: FormTransport;
  readonly #end = new AbortController();
  #look: ReturnType<typeof setTimeout> | undefined;

  constructor(transport: FormTransport) {
    this.#transport = transport;
  }

  end(): void {
    this.#end.abort();
    clearTimeout(this.#look);
  }

  async load(): Promise<void> {
    this.failure.value = undefined;
    const answer = await this.#ask({ method: 'GET', path: '/webhook' });
    if (answer?.status === 404 && codeOf(answer.body) === 'WEBHOOK_UNKNOWN') this.webhook.value = 'none';
    else if (this.#isWell(answer)) {
      this.webhook.value = answer.body as Webhook;
      await this.refresh();
    }
  }

  /** Reads the newest deliveries again; those before them stay. */
  async refresh(looks = LOOKS_MAX): Promise<void> {
    clearTimeout(this.#look);
    const answer = await this.#ask({ method: 'GET', path: `/deliveries?limit=${PAGE}` });
    if (!this.#isWell(answer)) return;
    const { items, next } = pageOf(answer.body);
    const ids = new Set(items.map(({ id }) => id));
    const before = this.deliveries.value ?? [];
    const older = before.filter(({ id }) => !ids.has(id));
    batch(() => {
      this.deliveries.value = [...items, ...older];
      if (before.length === 0) this.next.value = next;
    });
    const open = this.opened.value?.whole;
    const listed = items.find(({ id }) => id === open?.id);
    if (listed && (listed.attempts !== open?.attempts || listed.state !== open.state))
      await this.#read(listed.id);
    const state = await this.#ask({ method: 'GET', path: '/webhook' });
    if (state?.status === 200) this.webhook.value = state.body as Webhook;
    const isWaiting = items.some((one) => one.state === 'pending');
    if (isWaiting && looks > 0 && !this.#end.signal.aborted)
      this.#look = setTimeout(() => void this.refresh(looks - 1), LOOK_EVERY_MS);
  }

  async more(): Promise<void> {
    const cursor = this.next.value;
    const answer = await this.#ask({ method: 'GET', path: `/deliveries?limit=${PAGE}&cursor=${cursor}` });
    if (!this.#isWell(answer)) return;
    const { items, next } = pageOf(answer.body);
    batch(() => {
      this.deliveries.value = [...(this.deliveries.value ?? []), ...items];
      this.next.value = next;
    });
  }

  /** Opens a delivery, or closes the one that is open. */
  async toggle(id: string): Promise<void> {
    const isOpen = this.opened.value?.id === id;
    this.opened.value = isOpen ? undefined : { id };
    if (!isOpen) await this.#read(id);
  }

  async #read(id: string): Promise<void> {
    const answer = await this.#ask({ method: 'GET', path: `/deliveries/${encodeURIComponent(id)}` });
    if (this.#isWell(answer) && this.opened.value?.id === id)
      this.opened.value = { id, whole: answer.body as WholeDelivery };
  }

  async redeliver(id: string): Promise<void> {
    await this.#order({ method: 'POST', path: `/deliveries/${encodeURIComponent(id)}/redeliver` });
    await this.refresh();
  }

  /** @param type a type that the settings select */
  async test(type: string): Promise<void> {
    this.tested.value = undefined;
    const answer = await this.#order({ method: 'POST', path: '/webhook-test', body: { type } });
    if (answer === undefined) return;
    const { deliveries } = answer as { deliveries?: number };
    this.tested.value = deliveries === 0 ? 'unhandled' : 'sent';
    await this.refresh();
  }

  /** @param replay whether what is held is delivered */
  async enable(replay: boolean): Promise<void> {
    await this.#order({ method: 'POST', path: '/webhook/enable', body: { replay } });
    await this.load();
  }

  async reveal(): Promise<void> {
    const answer = await this.#order({ method: 'GET', path: '/webhook-secret' });
    if (answer !== undefined) this.secret.value = answer as Secret;
  }

  hide(): void {
    this.secret.value = undefined;
  }

  async rotate(): Promise<void> {
    const body = { overlapSeconds: OVERLAP_SECONDS };
    const answer = await this.#order({ method: 'POST', path: '/webhook-secret/rotate', body });
    if (answer !== undefined) this.secret.value = answer as Secret;
  }

  /** Asks for what a person has pressed. @returns undefined where it was refused, which is shown */
  async #order(request: FormRequest): Promise<unknown> {
    batch(() => {
      this.isBusy.value = true;
      this.failure.value = undefined;
    });
    const answer = await this.#ask(request);
    this.isBusy.value = false;
    return this.#isWell(answer) ? answer.body : undefined;
  }

  #isWell(answer: FormAnswer | undefined): answer is FormAnswer {
    if (answer === undefined) return false;
    if (answer.status >= 200 && answer.status < 300 && isObject(answer.body)) return true;
    this.failure.value = failureOf(answer.body);
    return false;
  }

  async #ask(request: FormRequest): Promise<FormAnswer | undefined> {
    try {
      return await this.#transport(request, this.#end.signal);
    } catch {
      if (!this.#end.signal.aborted) this.failure.value = {};
      return undefined;
    }
  }
}

const errorOf = (body: unknown) => (isObject(body) && isObject(body['error']) ? body['error'] : {});
const codeOf = (body: unknown): unknown => errorOf(body)['code'];

function failureOf(body: unknown): Failure {
  const { message, requestId } = errorOf(body);
  return {
    message: typeof message === 'string' ? message.slice(0, 500) : '',
    ...(typeof requestId === 'string' && { requestId: requestId.slice(0, 64) }),
  };
}

/** The deliveries of a page by webhooks; calls of the code are nothing that a receiver gets. */
function pageOf(body: unknown): { items: readonly Delivery[]; next: string | undefined } {
  const { items, next } = body as { items?: unknown; next?: unknown };
  const all = Array.isArray(items) ? (items as Delivery[]) : [];
  return {
    items: all.filter(({ kind }) => kind === 'webhook'),
    next: typeof next === 'string' ? next : undefined,
  };
}
