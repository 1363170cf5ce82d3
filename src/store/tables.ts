/**
 * The tables, as kysely sees them.
 *
 * Column types are those that SQLite and PostgreSQL share: text, integer and bigint. Times are milliseconds since 1970,
 * structured values are JSON text, and every value named `sealed_…` came out of the vault.
 */
import type { Generated, Kysely } from 'kysely';
import type { InstallationStatus } from '../model/installation.ts';
import type { TokenKind } from '../model/principal.ts';
import type { Visibility } from '../model/visibility.ts';

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
    created_at: number;
    updated_at: number;
  };
  versions: {
    integration: string;
    number: number;
    manifest: string;
    script: string;
    source_map: string;
    created_at: number;
  };
  secrets: {
    integration: string;
    name: string;
    sealed_value: string;
  };
  installations: {
    id: string;
    integration: string;
    organization: string;
    endpoint_key: string;
    status: InstallationStatus;
    configuration: string;
    external_ids: string;
    sealed_signing_secret: string;
    created_at: number;
    updated_at: number;
  };
  external_ids: {
    integration: string;
    external_id: string;
    installation_id: string;
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

export type Database = Kysely<Tables>;
