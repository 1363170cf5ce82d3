/**
 * The tables of the database, as kysely types.
 *
 * Column types are those that SQLite and PostgreSQL share: text, integer and bigint. Times are
 * milliseconds since 1970, structured values are JSON text, and values of columns named `sealed_…`
 * are sealed by the vault.
 */
import type { Generated, Kysely } from 'kysely';
import type { InstallationStatus, Selection } from '../../model/installation.ts';
import type { EndpointLevel, Level } from '../../model/level.ts';
import type { Visibility } from '../../model/manifest/visibility.ts';
import type { TokenKind } from '../../model/principal.ts';
import type { ReviewState } from '../../model/review.ts';
import type { StoredKind } from '../../model/stored-value.ts';

export interface Tables {
  integrations: {
    name: string;
    organization: string;
    /**
     * Copies from the active version's manifest, so that lists read no manifests. The visibility is
     * an earlier one while that version waits for the operator's approval.
     */
    visibility: Visibility;
    title: string;
    description: string;
    active_version: number;
    latest_version: number;
    sealed_signing_secret: string;
    /** Key of the integration's own endpoint. */
    endpoint_key: string;
    /** JSON: name of a limit → its lowered value. */
    lowered_limits: Generated<string>;
    /** SHA-256 of the install link's token, in hexadecimal. */
    install_link_hash: string | null;
    /** The newest version that waits for the operator's approval. */
    waiting_version: number | null;
    /** 1: it is, or has been, public while public integrations are reviewed. */
    under_review: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  /**
   * Names of deleted integrations. A new integration of that name continues the version numbers:
   * caches identify code by name and number, and must not confuse one owner's code with another's.
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
    /**
     * JSON list of the event types that the version handles; null for a version stored without it:
     * the code decides.
     */
    handled_events: string | null;
    /** Null for a version that never had to be reviewed. */
    review: ReviewState | null;
    reviewed_at: number | null;
    /** The operator's reason, of a refusal. */
    refusal: string | null;
    created_at: number;
  };
  /** Icon, previews and other images of a version. */
  images: {
    integration: string;
    number: number;
    /** From the folder of the manifest. */
    path: string;
    /** Base64. */
    content: string;
  };
  secrets: {
    integration: string;
    name: string;
    sealed_value: string;
    updated_at: Generated<number>;
  };
  /** Targets of all levels: installations, space installations and site installations. */
  targets: {
    installation_id: string;
    level: Level;
    /** Id of the space or site; empty at organization level. */
    place: string;
    integration: string;
    organization: string;
    endpoint_key: string;
    status: InstallationStatus;
    /** JSON, without sealed properties. */
    configuration: string;
    /** JSON of the property `oauth_credentials`; null if not set. */
    sealed_credentials: string | null;
    /** JSON list. */
    external_ids: string;
    space_selection: Selection;
    site_selection: Selection;
    sealed_signing_secret: string;
    /** Number of changes, from 1. */
    revision: number;
    /** Time of the latest pause. */
    paused_at: number | null;
    created_at: number;
    updated_at: number;
  };
  /** Leases for renewing the credentials of a target; at most one row a target. */
  credential_leases: {
    installation_id: string;
    level: Level;
    place: string;
    /** Random id; known only to the lease's holder. */
    holder: string;
    expires_at: number;
  };
  /** Built-in integrations, with the content last published. */
  built_ins: {
    name: string;
    content_hash: string;
  };
  /**
   * Keys that sign statements to the product's API (docs/contract/api.md#the-products-api); see
   * `store/statement-keys.ts`.
   */
  statement_keys: {
    kid: string;
    /** Counts up: the newest key is the next one to sign, the second newest signs. */
    number: number;
    /** PKCS #8, in PEM. */
    sealed_key: string;
    /** Its public half: `x` of the JWK. */
    public_key: string;
    created_at: number;
  };
  /** OAuth states that were used already, kept while they would still be valid. */
  spent_states: {
    installation_id: string;
    level: Level;
    place: string;
    /** Hash of the state. */
    digest: string;
    expires_at: number;
  };
  /** What each node did in each minute of the last day. */
  activity: ActivityRow;
  /** Signatures of envelopes that were used, kept while they would still be valid. */
  spent_signatures: {
    endpoint_key: string;
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
  /** Lifecycle events of targets, for their integration. */
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
    /** JSON: a `LifecycleEventRecord`; empty once the event is finished. */
    sealed_record: string;
    /** Call depth of the change. */
    depth: number;
    state: LifecycleEventState;
    attempts: number;
    /** Time of the next attempt. */
    due_at: number;
    /** How the last attempt ended. */
    outcome: string | null;
    created_at: number;
    finished_at: number | null;
    /**
     * End of the current claim's lease, also of an event canceled meanwhile; null if not claimed.
     */
    lease_until: Generated<number | null>;
    /** Number of claims; a write with an older fence changes nothing. */
    fence: Generated<number>;
  };
  /**
   * Accepted events, each stored once: those of the product (docs/contract/events.md#posting), and
   * tasks (docs/contract/tasks.md#queuing).
   */
  events: {
    /** From a `Sequence`: sorts in the order of acceptance. */
    id: string;
    /** Idempotency key for receivers; given by the product, or made at acceptance. Unique. */
    event_id: string;
    organization: string;
    type: string;
    /** Where the event happened. */
    level: EndpointLevel;
    place: string;
    /** Set if the event is for one installation only. */
    installation_id: string | null;
    /**
     * JSON object: the event as handlers receive it, without `installationId`; empty once a task
     * has ended.
     */
    body: string;
    /** Hash of the body, independent of the order of its members. */
    body_hash: string;
    /** Number of deliveries at acceptance. */
    deliveries: number;
    created_at: number;
  };
  /** Event types that the operator has declared (docs/contract/events.md#declared-types). */
  event_types: {
    name: string;
    /** JSON: an `EventTypeDeclaration`. */
    declaration: string;
    created_at: number;
    updated_at: number;
  };
  /** Deliveries: one event to one target each. */
  deliveries: {
    /** `events.id`, a dot, and a number. */
    id: string;
    /** `events.id` */
    event: string;
    event_id: string;
    type: string;
    kind: DeliveryKind;
    /**
     * Key of the target's endpoint, or its lane of tasks (`taskLane`); the unit of fair scheduling.
     */
    endpoint: string;
    organization: string;
    integration: string;
    /** Empty at the level of the integration. */
    installation_id: string;
    level: EndpointLevel;
    place: string;
    state: DeliveryState;
    /** Time of the next attempt. */
    due_at: number;
    /** When it was accepted or last redelivered. */
    armed_at: number;
    /** End of the current claim's lease; null if not claimed. */
    lease_until: number | null;
    /**
     * Number of claims; a write with an older fence changes nothing
     * (docs/contract/webhooks.md#crashes).
     */
    fence: number;
    /** Attempts with a known outcome. */
    attempts: number;
    /** Retries used since `armed_at` (docs/contract/webhooks.md#retries). */
    retries: number;
    /** Claims since `armed_at` with an unknown outcome (docs/contract/webhooks.md#crashes). */
    unknowns: number;
    /** Faults of the platform since `armed_at`. */
    faults: number;
    /** How the last attempt ended. */
    outcome: string | null;
    created_at: number;
    finished_at: number | null;
    /** How many tasks, each of which queued the next one, its call has behind it. */
    generation: Generated<number>;
  };
  /**
   * Webhook payloads: made once, and the same bytes at each attempt
   * (docs/contract/webhooks.md#payload).
   */
  delivery_payloads: {
    delivery_id: string;
    destination: string;
    payload: string;
    /** `Target.revision` at which the destination was determined. */
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
    /** HTTP status of the receiver's answer, or of the integration's. */
    status: number | null;
    /** Beginning of the receiver's answer. */
    response: string | null;
    /** 1 if the answer was not read to its end. */
    truncated: number;
    /** Why TLS failed, in words of Annex. */
    reason: string | null;
  };
  /**
   * Schedules of the endpoints that have any: installations that are active, and integrations
   * (docs/contract/schedules.md). A row is the next run.
   */
  schedules: {
    /** Key of the endpoint. */
    endpoint: string;
    /** In the manifest. */
    id: string;
    integration: string;
    /** What the times were computed from. */
    timing: string;
    /** The minute of the next run, as the cron names it. */
    next_at: number;
    /** When it begins: within that minute. */
    due_at: number;
    /** Delivery of the run that has not ended; null if there is none. */
    running: string | null;
    /** The minute of the last run; of one by hand, when it was asked for. */
    last_at: number | null;
    last_started_at: number | null;
    last_delivery: string | null;
    /** State of its delivery. */
    last_state: DeliveryState | null;
    last_outcome: string | null;
  };
  /** Integrations whose installations are still to get the schedules of the active version. */
  schedule_changes: {
    integration: string;
    /** Id of the last installation that got them; empty if none did. */
    after: string;
    /** When the next page is. */
    due_at: number;
  };
  /** Signing secrets and own headers of targets' webhooks (docs/contract/webhooks.md#secret). */
  webhook_secrets: {
    installation_id: string;
    level: Level;
    place: string;
    sealed_secret: string;
    /** The previous secret, while both sign. */
    sealed_previous: string | null;
    previous_until: number | null;
    updated_at: number;
    /** JSON of `OwnHeaders`. */
    sealed_headers: string | null;
    /** When the next request may be sent, of a webhook with a rate. */
    next_post_at: number | null;
  };
  /** Targets whose account has to be connected again (docs/contract/notices.md). */
  lost_connections: {
    installation_id: string;
    level: Level;
    place: string;
    since: number;
  };
  /** States of webhooks (docs/contract/webhooks.md#health); one without a row is healthy. */
  webhook_health: {
    installation_id: string;
    level: Level;
    place: string;
    state: WebhookState;
    /** When the state began. */
    since: number;
    /** When the receiver first failed; null if that is over, or was not why it was disabled. */
    failing_since: number | null;
    /** How that attempt ended. */
    outcome: string | null;
    /** `service`, or the kind of the principal. */
    disabled_by: string | null;
    reason: DisablingReason | null;
    /** What the principal said about it. */
    note: string | null;
  };
  /**
   * One row for each installation and each integration whose code keeps values
   * (docs/contract/storage.md): what its quota counts, and its last version.
   */
  storage_areas: {
    /** See `areaOf` of `store/storage/storage-rows.ts`. */
    area: string;
    integration: string;
    /** The target that it ends with; null for the area of an integration. */
    installation_id: string | null;
    level: Level | null;
    place: string | null;
    /** Number of its entries. */
    keys: number;
    /** Of keys and values together. */
    bytes: number;
    /** The last version that one of its entries got: no entry gets one twice. */
    version: number;
  };
  /** Values that code of integrations keeps. */
  storage_entries: {
    area: string;
    key: string;
    version: number;
    kind: StoredKind;
    /** JSON text, or bytes in base64. */
    sealed_value: string;
    /** Of key and value together. */
    bytes: number;
    expires_at: number | null;
    updated_at: number;
  };
  /** Audit entries. Rows are only added, and removed by age. */
  audit: {
    id: string;
    at: number;
    action: string;
    /** Kind of the principal. */
    actor: string;
    /** Organization of the principal's token. */
    actor_organization: string | null;
    token_id: string | null;
    address: string | null;
    request_id: string;
    /** The organization concerned. */
    organization: string | null;
    integration: string | null;
    installation_id: string | null;
    level: Level | null;
    place: string | null;
    /** JSON: names of what was changed, never values. */
    details: string;
  };
  /** Organizations that the product has declared (docs/contract/api.md#organizations). */
  organizations: {
    id: string;
    /** Another name for it in manifests; no id that is in use. */
    subdomain: string | null;
    title: string | null;
    created_at: number;
    updated_at: number;
  };
  tokens: {
    id: string;
    kind: TokenKind;
    organization: string | null;
    /** SHA-256 of the token, in hexadecimal. */
    hash: string;
    created_at: number;
    name: string | null;
    /** JSON list of what it is narrowed to; null if it has all rights of its kind. */
    rights: string | null;
    expires_at: number | null;
    /** To the minute. */
    last_used_at: number | null;
    /** Of a session or a link of the console: the token that it ends with. */
    parent: string | null;
    /** Of a session or a link of the portal: JSON of what the link was made with. */
    portal: string | null;
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
 * `pending`: to be attempted or retried. `delivered`: its handler succeeded. `unhandled`: the
 * integration has no handler. `failed`: its handler failed, which is final. `canceled`: the target
 * was deleted.
 */
export const LIFECYCLE_EVENT_STATES = ['pending', 'delivered', 'unhandled', 'failed', 'canceled'] as const;
export type LifecycleEventState = (typeof LIFECYCLE_EVENT_STATES)[number];

/**
 * `handler`: a call of the integration's handler. `webhook`: the code returns payload and URL, and
 * the host posts. `notice`: the host posts a notice to the product.
 */
export const DELIVERY_KINDS = ['handler', 'webhook', 'notice'] as const;
export type DeliveryKind = (typeof DELIVERY_KINDS)[number];

/**
 * `pending`: to be attempted or retried. `delivered`: the handler or the receiver accepted it.
 * `unhandled`: the code does not handle the type, or the target has not selected it. `failed`:
 * final failure, or out of retries. `canceled`: the target was paused or deleted, or a principal
 * canceled the delivery. `held`: its webhook is disabled; it is kept for a replay.
 */
export const DELIVERY_STATES = ['pending', 'delivered', 'unhandled', 'failed', 'canceled', 'held'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/**
 * `failing`: its receiver has failed and accepted nothing since. `disabled`: nothing is posted; its
 * deliveries are held.
 */
export const WEBHOOK_STATES = ['healthy', 'failing', 'disabled'] as const;
export type WebhookState = (typeof WEBHOOK_STATES)[number];

/**
 * Why a webhook is disabled. `failing`: for longer than the operator allows. `gone`: its receiver
 * answered 410. `request`: a principal asked for it.
 */
export const DISABLING_REASONS = ['failing', 'gone', 'request'] as const;
export type DisablingReason = (typeof DISABLING_REASONS)[number];

/**
 * `succeeded`; `failed`: handler or receiver failed; `fault`: the platform failed, which does not
 * count against them.
 */
export const ATTEMPT_RESULTS = ['succeeded', 'failed', 'fault'] as const;
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

export type Database = Kysely<Tables>;

export interface ActivityRow {
  /** Its beginning, in milliseconds since 1970. */
  minute: number;
  /** Of one start of one node. */
  node: string;
  calls: number;
  errors: number;
  /** How many calls were how long: `bucket:count`, separated by spaces. */
  walls: string;
  delivered: number;
  failed: number;
  /** When the row was written, like the next three. */
  waiting: number;
  cells: number;
  cell_bytes: number;
  contained: number;
}
