/**
 * Types of events, deliveries and attempts. No SQL, no decisions.
 */

import type { DeclaredReach } from '../../../model/event-type.ts';
import type { EndpointLevel, Level } from '../../../model/level.ts';
import type { EndpointName } from '../../../model/target.ts';
import type { AttemptResult, DeliveryKind, DeliveryState, WebhookState } from '../../database/tables.ts';
import type { ReceiverSign } from '../webhooks/webhook-health-rows.ts';

/** A validated event, ready to be stored. */
export interface PostedEvent {
  readonly eventId: string;
  readonly organization: string;
  readonly type: string;
  readonly level: Level;
  /** Id of the space or the site; empty at the level of the organization. */
  readonly place: string;
  /** Of a type that the product has declared. */
  readonly declared?: DeclaredReach;
  /** Set if the event is for one installation only. */
  readonly installationId?: string;
  /** JSON object as handlers receive it, with `eventId` and `type`, without `installationId`. */
  readonly body: string;
  /** Hash of the body, independent of the order of its members. */
  readonly bodyHash: string;
  /** `Caller.generation` of the calls for it; absent for 0. */
  readonly generation?: number;
}

/** An event as it is stored: one of the product, or a task. */
export interface EventRecord extends Omit<PostedEvent, 'level'> {
  readonly level: EndpointLevel;
}

/** Result of posting an event. */
export interface AcceptedEvent {
  readonly eventId: string;
  /** Number of deliveries when it was first accepted. */
  readonly deliveries: number;
  /** False if it was accepted before, with the same body. */
  readonly isNew: boolean;
}

/** A delivery that became pending, for the fair scheduler. */
export interface WaitingDelivery {
  readonly id: string;
  /** Key of the endpoint, or its lane of tasks (`taskLane`). */
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
}

/** A delivery as it is listed. Times are milliseconds since 1970. */
export interface Delivery {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly kind: DeliveryKind;
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
  readonly target: EndpointName;
  readonly state: DeliveryState;
  readonly dueAt: number;
  readonly armedAt: number;
  readonly attempts: number;
  readonly retries: number;
  readonly unknowns: number;
  readonly faults: number;
  readonly outcome?: string;
  readonly createdAt: number;
  readonly finishedAt?: number;
}

/** What is posted to a receiver, and where. */
export interface DeliveryPayload {
  readonly destination: string;
  /** JSON text; its UTF-8 bytes are signed and posted. */
  readonly payload: string;
  /** `Target.revision` at which the destination was determined. */
  readonly revision: string;
}

/** A delivery reserved for its claimant until the lease ends. */
export interface ClaimedDelivery extends Delivery {
  /** Number of the claim; a write with an older number changes nothing. */
  readonly fence: number;
  /** JSON of the event, without `installationId`. */
  readonly eventBody: string;
  /** `Caller.generation` of its calls. */
  readonly generation: number;
  /** Absent until it is made. */
  readonly payload?: DeliveryPayload;
  /** State of its webhook, unless that is healthy. */
  readonly webhook?: { readonly state: WebhookState; readonly failingSince: number | null };
}

/** One call or post, with its outcome. */
export interface Attempt {
  readonly at: number;
  readonly durationMs: number;
  readonly result: AttemptResult;
  /** A few words: `answered 200`, `timeout`, an error code. Never text from an integration. */
  readonly outcome: string;
  /** URL that was posted to, without its query. */
  readonly destination?: string;
  readonly status?: number;
  /** Beginning of the receiver's answer. */
  readonly response?: string;
  readonly truncated?: boolean;
  /** Why TLS failed, in words of Annex: never text of the receiver. */
  readonly reason?: string;
}

export interface RecordedAttempt extends Attempt {
  /** From 1. */
  readonly number: number;
}

/** Outcome of a claimed delivery: its attempt, and its next state. */
export interface Settlement {
  readonly claim: Pick<
    ClaimedDelivery,
    ('id' | 'fence' | 'attempts' | 'type' | 'organization' | 'target') | ('integration' | 'webhook')
  >;
  readonly state: DeliveryState;
  /** If it stays `pending`: time of the next attempt. */
  readonly dueAt: number;
  readonly retries: number;
  readonly unknowns: number;
  readonly faults: number;
  readonly outcome: string;
  /** Absent if no attempt was made, because there was no target to call. */
  readonly attempt?: Attempt;
  /** What the answer of the receiver says of its webhook; absent if nothing was posted. */
  readonly sign?: ReceiverSign['sign'];
}

/** Claimable deliveries of an endpoint. */
export interface DueDeliveries {
  /** The longest due first. */
  readonly ids: readonly string[];
  /** Whether more are due. */
  readonly more: boolean;
  /** Due time of the next one, if no further one is due now; absent if none is pending. */
  readonly nextAt?: number;
  /** Its id. */
  readonly nextId?: string;
}
