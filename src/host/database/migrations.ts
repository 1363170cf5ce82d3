/**
 * Schema migrations: each runs once, in the order of its name, in its own transaction.
 *
 * A released migration is never edited; a change is a new migration. Migrations use only what
 * kysely's schema builder expresses the same way for every engine.
 */
import type { Migration } from 'kysely/migration';
import {
  addAttemptReasons,
  addPortalGrants,
  addReviews,
  addTokenColumns,
  addTokenParents,
  addWebhookHeaders,
  addWebhookRates,
  createActivity,
  createEventTypes,
  createLostConnections,
  createOrganizations,
  createScheduleTables,
  createStorageTables,
  createTables,
  createWebhookHealth,
  indexInstallations,
} from './schema.ts';

/** The tables of the first release. */
export const FIRST_MIGRATION = '025-tables';

export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  [FIRST_MIGRATION]: { up: createTables },
  '026-event-types': { up: createEventTypes },
  '028-webhook-health': { up: createWebhookHealth },
  '028b-notices': { up: createLostConnections },
  '029-storage': { up: createStorageTables },
  '030-schedules': { up: createScheduleTables },
  '033-receivers': { up: addAttemptReasons },
  '034-installation-lists': { up: indexInstallations },
  '035-tokens': { up: addTokenColumns },
  '036-organizations': { up: createOrganizations },
  '037-webhook-headers': { up: addWebhookHeaders },
  '037b-webhook-rates': { up: addWebhookRates },
  '040-token-parents': { up: addTokenParents },
  '042-activity': { up: createActivity },
  '043-portal': { up: addPortalGrants },
  '044-reviews': { up: addReviews },
};

/** The last migration of the development before the first release: it led to the same tables. */
export const LAST_EARLIER = '024-generations-of-deliveries';

/** Whether a migration is of that time. */
export const isEarlier = (name: string): boolean => name <= LAST_EARLIER;
