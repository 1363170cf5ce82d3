/**
 * Notices of changes for the layers above the store, which cache what they read.
 *
 * A change of this node is emitted after its commit and before its answer: a call that starts after
 * the answer sees it. A change of another node arrives a moment after its commit (`Engine.listen`).
 */
import { EventEmitter } from 'node:events';
import type { Engine } from '../database/engine.ts';
import type { WaitingDelivery } from './deliveries/delivery.ts';
import type { WebhookChange } from './webhooks/webhook-health-rows.ts';

/** A listener that throws would fail a change that is committed. */
export type StoreChanges = EventEmitter<{
  /** An integration has another active version, other secrets or limits, or was deleted. */
  integration: [integration: string];
  /** An integration has another active version, or was deleted. */
  version: [integration: string];
  /** An installation or one of its targets changed. */
  installation: [installationId: string, organization: string];
  /** Installations were deleted, or an integration with its own endpoint: no call follows. */
  removed: [...tenants: string[]];
  /** A webhook secret of an installation was rotated. */
  webhookSecrets: [installationId: string];
  /** A token was revoked. */
  tokens: [];
  /** The keys of statements were rotated. */
  statementKeys: [];
  /** An event type was declared, changed or deleted. */
  eventTypes: [];
  /** Another node has more due deliveries than it can start. */
  backlog: [];
  /** Another node follows the deliveries of these scopes. */
  deliveryFollowers: [...scopes: string[]];
  /** Another node has committed these changes of deliveries that are followed. */
  deliverySteps: [...steps: string[]];
  /** A lifecycle event of this installation may have been written, by this node. */
  lifecycle: [installationId: string];
  /** Answers of receivers have changed states of webhooks, at this node. */
  webhooks: [changes: readonly WebhookChange[]];
  /** This node has committed deliveries of notices to the product. */
  notices: [deliveries: readonly WaitingDelivery[]];
  /** Changes of other nodes may have been missed: nothing that is cached is certain. */
  missed: [];
  /** The database answers again, after it did not. */
  back: [];
}>;

/** The changes that other nodes announce. */
export type AnnouncedChange = Exclude<
  keyof (StoreChanges extends EventEmitter<infer Changes> ? Changes : never),
  'lifecycle' | 'webhooks' | 'notices' | 'missed' | 'back'
>;

const ANNOUNCED: readonly string[] = [
  ...(['integration', 'version', 'installation', 'removed', 'webhookSecrets'] satisfies AnnouncedChange[]),
  ...(['tokens', 'statementKeys', 'eventTypes', 'backlog'] satisfies AnnouncedChange[]),
  ...(['deliveryFollowers', 'deliverySteps'] satisfies AnnouncedChange[]),
];

/** The notices of a store, with those of the other nodes. */
export function storeChanges(engine: Pick<Engine, 'listen'>): StoreChanges {
  const changes: StoreChanges = new EventEmitter();
  engine.listen({
    noticed({ change, about }) {
      // A node of a newer version may announce changes that this one does not know.
      if (ANNOUNCED.includes(change)) (changes as EventEmitter).emit(change, ...about);
    },
    missedNotices: () => void changes.emit('missed'),
    isBack: () => void changes.emit('back'),
  });
  return changes;
}
