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
    /** JSON: a `LifeEventRecord`; empty once the event is over. */
    sealed_record: string;
    /** How many calls the change was made inside of. */
    depth: number;
    state: LifeEventState;
    attempts: number;
    /** When it is to be tried next. */
    due_at: number;
    /** How its last attempt ended. */
    outcome: string | null;
    created_at: number;
    finished_at: number | null;
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
 * `failed`: its handler failed, which is final. `canceled`: the target was paused or gone.
 */
export const LIFE_EVENT_STATES = ['pending', 'delivered', 'unhandled', 'failed', 'canceled'] as const;
export type LifeEventState = (typeof LIFE_EVENT_STATES)[number];

export type Database = Kysely<Tables>;
