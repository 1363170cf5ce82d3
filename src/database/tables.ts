/**
 * The tables, as kysely sees them.
 *
 * Column types are those that SQLite and PostgreSQL share: text, integer and bigint. Times are milliseconds since 1970,
 * structured values are JSON text, and every value named `sealed_…` came out of the vault.
 */
import type { Generated, Kysely } from 'kysely';
import type { InstallationStatus, Level, Selection } from '../model/installation.ts';
import type { Visibility } from '../model/manifest/visibility.ts';
import type { TokenKind } from '../model/principal.ts';

export interface Tables {
  integrations: {
    name: string;
    organization: string;
    /** Copies out of the active version's manifest, so that a list reads no manifests. */
    visibility: Visibility;
    title: string;
    description: string;
    active_version: number;
    latest_version: number;
    sealed_signing_secret: string;
    /** JSON: limit → value. */
    lowered_limits: Generated<string>;
    /** SHA-256 of the token of its install link, hexadecimal. */
    install_link_hash: string | null;
    created_at: number;
    updated_at: number;
  };
  /**
   * Names that had an integration once. Whoever takes one next goes on counting its versions: caches know code by name
   * and number, and must not take one owner's for another's.
   */
  deleted_integrations: {
    name: string;
    latest_version: number;
  };
  versions: {
    integration: string;
    number: number;
    manifest: string;
    script: string;
    source_map: string;
    /** JSON list of the event types that it has handlers for; null where only the code itself can tell. */
    handled_events: string | null;
    created_at: number;
  };
  /** Icon and preview images of a version. */
  images: {
    integration: string;
    number: number;
    /** As the manifest names it. */
    path: string;
    /** PNG, base64. */
    content: string;
  };
  secrets: {
    integration: string;
    name: string;
    sealed_value: string;
    updated_at: Generated<number>;
  };
  /** Every target: an installation itself, and what of it is in a space or a site. */
  targets: {
    installation_id: string;
    level: Level;
    /** Id of the space or site; empty at the level of the organization. */
    place: string;
    integration: string;
    organization: string;
    endpoint_key: string;
    status: InstallationStatus;
    /** JSON, without what is sealed. */
    configuration: string;
    /** JSON of the property `oauth_credentials`, where it is set. */
    sealed_credentials: string | null;
    /** JSON list. */
    external_ids: string;
    space_selection: Selection;
    site_selection: Selection;
    sealed_signing_secret: string;
    /** Counts changes, from 1. */
    revision: number;
    /** When it was paused last. */
    paused_at: number | null;
    created_at: number;
    updated_at: number;
  };
  /** Who is renewing the credentials of a target; one row a target at the most. */
  credential_leases: {
    installation_id: string;
    level: Level;
    place: string;
    /** Random; known to whoever took it. */
    holder: string;
    expires_at: number;
  };
  /** Integrations that come with Annex, and which content of each was published last. */
  built_ins: {
    name: string;
    content_hash: string;
  };
  /** States of OAuth flows that have come back, for as long as they could be good. */
  spent_states: {
    installation_id: string;
    level: Level;
    place: string;
    /** Hash of the state. */
    digest: string;
    expires_at: number;
  };
  external_ids: {
    integration: string;
    external_id: string;
    installation_id: string;
    level: Level;
    place: string;
  };
  /** What happens in the life of targets, for their integration to hear: set up, edited, deleted. */
  life_events: {
    installation_id: string;
    /** Orders the events of one installation, from 1. */
    position: number;
    event_id: string;
    level: Level;
    place: string;
    integration: string;
    organization: string;
    type: string;
    /** JSON: a `LifecycleEventRecord`; empty once the event is over. */
    sealed_record: string;
    /** How many calls the change was made inside of. */
    depth: number;
    state: LifecycleEventState;
    attempts: number;
    /** When it is to be tried next. */
    due_at: number;
    /** How its last attempt ended. */
    outcome: string | null;
    created_at: number;
    finished_at: number | null;
  };
  /** What the product says has happened (REFERENCE D4), each once. */
  events: {
    /** Of a `Sequence`: sorts in the order of arrival. */
    id: string;
    /** By which receivers know one they hear twice; the product's own, or made here. Unique. */
    event_id: string;
    organization: string;
    type: string;
    /** Where it has happened. */
    level: Exclude<Level, 'organization'>;
    place: string;
    /** Where it is for one installation alone. */
    installation_id: string | null;
    /** JSON object: the event as handlers get it, without `installationId`. */
    body: string;
    /** What tells the same body from another, however its members are ordered. */
    body_hash: string;
    /** How many it came to when it was accepted. */
    deliveries: number;
    created_at: number;
  };
  /** One event to one target. */
  deliveries: {
    /** `id` of the event, a dot, and a number. */
    id: string;
    /** `events.id` */
    event: string;
    event_id: string;
    type: string;
    kind: DeliveryKind;
    /** Key of the target's endpoint: what deliveries are kept fair by. */
    endpoint: string;
    organization: string;
    integration: string;
    installation_id: string;
    level: Level;
    place: string;
    state: DeliveryState;
    /** When it is to be tried, or tried again. */
    due_at: number;
    /** Since when it is to be delivered: when it was accepted, or ordered anew. */
    armed_at: number;
    /** Until when whoever claimed it has it to itself; null where nobody has. */
    lease_until: number | null;
    /** Counts claims: what an earlier one has to say is not heard (REFERENCE D31). */
    fence: number;
    /** Calls or requests that were made for it, of which the end is known. */
    attempts: number;
    /** Of the budget it has now: failed attempts that were followed by another (REFERENCE D20). */
    retries: number;
    /** Of that budget: claims whose end nobody knows (REFERENCE D31). */
    unknowns: number;
    /** Of that budget: faults of the platform. */
    faults: number;
    /** How the last attempt ended. */
    outcome: string | null;
    created_at: number;
    finished_at: number | null;
  };
  /** What is posted to a receiver: made once, and the same bytes at each attempt (REFERENCE D23). */
  delivery_payloads: {
    delivery_id: string;
    destination: string;
    payload: string;
    /** What the target was when it named the destination: `Target.revision`. */
    revision: string;
  };
  delivery_attempts: {
    delivery_id: string;
    /** From 1. */
    number: number;
    at: number;
    duration_ms: number;
    result: AttemptResult;
    /** A few words. */
    outcome: string;
    /** URL that was posted to, without its query. */
    destination: string | null;
    /** Of the receiver's answer, or of the integration's. */
    status: number | null;
    /** Head of the receiver's answer's body. */
    response: string | null;
    /** 1 where the answer was not read to its end. */
    truncated: number;
  };
  /** What webhooks of a target are signed with (REFERENCE D24). */
  webhook_secrets: {
    installation_id: string;
    level: Level;
    place: string;
    sealed_secret: string;
    /** The one before, while both sign. */
    sealed_previous: string | null;
    previous_until: number | null;
    updated_at: number;
  };
  /** Who changed what. Rows are added, and removed by age alone. */
  audit: {
    id: string;
    at: number;
    action: string;
    /** Kind of the token. */
    actor: string;
    /** The organization of the token. */
    actor_organization: string | null;
    token_id: string | null;
    address: string | null;
    request_id: string;
    /** The organization that it concerns. */
    organization: string | null;
    integration: string | null;
    installation_id: string | null;
    level: Level | null;
    place: string | null;
    /** JSON: names of what was changed, never values. */
    details: string;
  };
  tokens: {
    id: string;
    kind: TokenKind;
    organization: string | null;
    /** SHA-256 of the token, hexadecimal. */
    hash: string;
    created_at: number;
  };
  log_lines: {
    installation_id: string;
    /** Sorts in the order of arrival. */
    id: string;
    version: number;
    request_id: string;
    /** Position in `LOG_LEVELS`, so that "this level and above" is a comparison. */
    level: number;
    text: string;
    at: number;
  };
}

/**
 * `pending`: to be told, or told again. `delivered`: the integration has heard it. `unhandled`: it has no handler.
 * `failed`: its handler failed, which is final. `canceled`: the target is gone.
 */
export const LIFECYCLE_EVENT_STATES = ['pending', 'delivered', 'unhandled', 'failed', 'canceled'] as const;
export type LifecycleEventState = (typeof LIFECYCLE_EVENT_STATES)[number];

/** `handler`: an event for the code itself. `webhook`: the code says what is posted where, and the host does it. */
export const DELIVERY_KINDS = ['handler', 'webhook'] as const;
export type DeliveryKind = (typeof DELIVERY_KINDS)[number];

/**
 * `pending`: to be delivered, or tried again. `delivered`: the handler, or the receiver, has it. `unhandled`: the code does not
 * handle it, or is not subscribed. `failed`: final, or out of retries. `canceled`: the target was paused or gone, or somebody
 * has said so.
 */
export const DELIVERY_STATES = ['pending', 'delivered', 'unhandled', 'failed', 'canceled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** `succeeded`: no more to do. `failed`: by whoever was to take it. `fault`: by the platform, which says nothing of them. */
export const ATTEMPT_RESULTS = ['succeeded', 'failed', 'fault'] as const;
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

export type Database = Kysely<Tables>;
