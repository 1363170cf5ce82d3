/**
 * What the page of `annex dev` asks its server (`src/local/dev/page/page-operations.ts`), and what
 * the server answers. Paths are relative: the address of the page has its token.
 */

export type JsonObject = { readonly [member: string]: unknown };

export interface LiveView {
  readonly integration: string;
  readonly title: string;
  readonly version: number;
  readonly id: string;
  readonly organization: string;
  readonly publicEndpoint: string;
}

export interface BlockView {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly urlUnfurl?: readonly string[];
}

/** Where a configuration belongs: the installation itself, or its sample space or site. */
export type Place = 'account' | 'space' | 'site';

/** What the page shows of a version that is live. */
export interface LiveSession {
  readonly live: LiveView;
  /** Differs after each edit of the installation. */
  readonly revision: string;
  readonly components: readonly ComponentView[];
  /** The product's words for spaces and sites. */
  readonly levelNames: { readonly space?: string; readonly site?: string };
  /** Places whose settings the manifest declares. */
  readonly configurations: readonly Place[];
  readonly blocks: readonly BlockView[];
  /** Types of events that it may receive. */
  readonly events: readonly string[];
  readonly hasSchedules: boolean;
  /** Calls of the manifest that the product may make. */
  readonly calls: readonly { readonly name: string; readonly description?: string }[];
}

export type SessionView = { readonly live: null } | LiveSession;

export interface ComponentView {
  readonly id: string;
  /** Where it is shown. */
  readonly place: Place;
}

export interface ScheduleView {
  readonly id: string;
  readonly cron: string;
  readonly timezone: string;
  readonly level: 'installation' | 'integration';
  readonly nextRunAt?: string;
  readonly lastRun?: { readonly startedAt: string; readonly state: string };
}

export interface CallAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  readonly isWhole: boolean;
  readonly durationMs: number;
}

export interface Attempted {
  readonly number: number;
  readonly outcome: string;
  readonly durationMs: number;
}

export interface DeliveryView {
  readonly id: string;
  readonly state: string;
  readonly type: string;
  readonly outcome?: string;
}

export interface StoredKeyView {
  readonly key: string;
  readonly kind: string;
  readonly bytes: number;
  readonly expiresAt?: string;
}

/** What the code has stored, without values: for the installation, and for the integration. */
export type StorageView = Readonly<
  Record<
    'own' | 'shared',
    {
      readonly items: readonly StoredKeyView[];
      readonly next?: string;
      readonly usage: { readonly keys: number };
    }
  >
>;

export interface LogLineView {
  readonly requestId: string;
  readonly level: string;
  readonly text: string;
}

type Kind =
  | 'started'
  | 'live'
  | 'refused'
  | 'failed'
  | 'log'
  | 'delivery'
  | 'rendered'
  | 'triggered'
  | 'request'
  | 'fetch'
  | 'asked';

/** An event of the session, as `src/local/dev/dev-event.ts` describes it. */
export interface FeedEvent {
  readonly event: Kind;
  /** Of its arrival. */
  readonly number: number;
  readonly [member: string]: unknown;
}

/** @throws Error with the message of the server */
export async function read<Answer>(
  operation: string,
  query: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return answerOf(await fetch(`api/${operation}?${new URLSearchParams(query)}`));
}

/** @throws Error with the message of the server */
export async function write<Answer>(operation: string, body: JsonObject): Promise<Answer> {
  return answerOf(
    await fetch(`api/${operation}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
}

async function answerOf<Answer>(response: Response): Promise<Answer> {
  const body = await response.json().catch(() => undefined);
  if (response.ok) return body as Answer;
  throw new Error(body?.error?.message ?? `The server answered ${response.status}.`);
}
