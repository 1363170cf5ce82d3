/**
 * Events and deliveries in the words of those who store, make and show them. No SQL, no decisions.
 */

import type { AttemptResult, DeliveryKind, DeliveryState } from '../../database/tables.ts';
import type { Level, TargetName } from '../../model/installation.ts';

/** An event that was found to be in order, ready to be put down. */
export interface PostedEvent {
  readonly eventId: string;
  readonly organization: string;
  readonly type: string;
  readonly level: Exclude<Level, 'organization'>;
  /** Id of the space or the site. */
  readonly place: string;
  /** Where it is for one installation alone. */
  readonly installationId?: string;
  /** JSON object, as handlers get it, `eventId` and `type` included, without `installationId`. */
  readonly body: string;
  /** The same for the same members in another order. */
  readonly bodyHash: string;
}

/** What has become of it. */
export interface AcceptedEvent {
  readonly eventId: string;
  /** How many it came to when it was first accepted. */
  readonly deliveries: number;
  /** False where it had been accepted before, with the same body. */
  readonly isNew: boolean;
}

/** One more delivery that waits, for whoever delivers. */
export interface WaitingDelivery {
  readonly id: string;
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
}

/** A delivery as it is looked at. Times are milliseconds since 1970. */
export interface Delivery {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly kind: DeliveryKind;
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
  readonly target: TargetName;
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

/** What is posted, and where. */
export interface DeliveryPayload {
  readonly destination: string;
  /** JSON text. Its UTF-8 bytes are what is signed and posted. */
  readonly payload: string;
  /** `Target.revision`, when the destination was named. */
  readonly revision: string;
}

/** A delivery that whoever holds this has to itself, until its lease is over. */
export interface ClaimedDelivery extends Delivery {
  /** Fencing token: another claim has another. */
  readonly fence: number;
  /** JSON of the event, without `installationId`. */
  readonly eventBody: string;
  /** Absent until it has been made. */
  readonly payload?: DeliveryPayload;
}

/** One call or request, and how it ended. */
export interface Attempt {
  readonly at: number;
  readonly durationMs: number;
  readonly result: AttemptResult;
  /** A few words: `answered 200`, `timeout`, a code of a refusal. Never what an integration said. */
  readonly outcome: string;
  /** URL that was posted to, without its query. */
  readonly destination?: string;
  readonly status?: number;
  /** Head of the receiver's answer. */
  readonly response?: string;
  readonly truncated?: boolean;
}

export interface RecordedAttempt extends Attempt {
  /** From 1. */
  readonly number: number;
}

/** What becomes of a claimed delivery. */
export interface Settlement {
  readonly claim: Pick<ClaimedDelivery, 'id' | 'fence' | 'attempts'>;
  readonly state: DeliveryState;
  /** Where it stays `pending`: when it is to be tried next. */
  readonly dueAt: number;
  readonly retries: number;
  readonly unknowns: number;
  readonly faults: number;
  readonly outcome: string;
  /** Absent where none was made: nobody was there to be called. */
  readonly attempt?: Attempt;
}

/** What of an endpoint may be claimed now. */
export interface DueDeliveries {
  /** The longest due first. */
  readonly ids: readonly string[];
  /** Whether more than these are due. */
  readonly more: boolean;
  /** When the next one will be, where none is left that is due; absent where nothing waits. */
  readonly nextAt?: number;
}
