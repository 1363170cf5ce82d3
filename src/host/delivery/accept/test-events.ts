/**
 * Test events (docs/contract/webhooks.md#test-events): example events for one target. Otherwise
 * they are like any other event: stored, signed, posted and retried, if the target selects their
 * type.
 */
import { hash } from 'node:crypto';
import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import type { Actor } from '../../../model/actor.ts';
import { canonicalJson } from '../../../model/canonical-json.ts';
import { declaredExample, type EventType, reachOf } from '../../../model/event-type.ts';
import { exampleEvent, type WebhookEventType } from '../../../model/example-event.ts';
import { productEventId, type RandomBytes } from '../../../model/identifiers.ts';
import { limitClause } from '../../../model/limit-met.ts';
import type { AcceptedEvent, PostedEvent } from '../../store/deliveries/delivery.ts';
import type { Installation } from '../../store/installations/target-rows.ts';
import type { EventAcceptance } from './event-acceptance.ts';

export interface TestEventsDeps {
  readonly acceptance: Pick<EventAcceptance, 'accept'>;
  readonly limits: Pick<Limits, 'taskGenerations'>;
  readonly randomBytes: RandomBytes;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

/** A target of a webhook integration. */
export type TestedTarget = Pick<
  Installation,
  'installationId' | 'level' | 'place' | 'organization' | 'integration'
>;

/** A type of the specification, or one that the product has declared. */
export type TestedType = WebhookEventType | EventType;

export class TestEvents {
  readonly #deps: TestEventsDeps;

  constructor(deps: TestEventsDeps) {
    this.#deps = deps;
  }

  /**
   * Creates an example event and accepts it, with an audit entry in the same transaction.
   *
   * @throws `CHAIN_TOO_LONG`
   */
  async send(target: TestedTarget, type: TestedType, by: Actor): Promise<AcceptedEvent> {
    const { installationId, level, place, organization, integration } = target;
    const generation = this.#generationBehind(by);
    const eventId = productEventId(this.#deps.randomBytes);
    const event =
      typeof type === 'string'
        ? exampleEvent(type, { eventId, place })
        : declaredExample(type, { eventId, organization, place, createdAt: this.#deps.wallNow() });
    const name = typeof type === 'string' ? type : type.name;
    const posted: PostedEvent = {
      ...{ eventId, organization, type: name, level, place, installationId, generation },
      ...(typeof type !== 'string' && { declared: reachOf(type) }),
      body: JSON.stringify(event),
      bodyHash: hash('sha256', canonicalJson({ ...event, organization, installationId }), 'base64url'),
    };
    const about = { organization, integration, target: { installationId, level, place } };
    const entry = { action: 'webhook.test', ...about, details: { type: name } } as const;
    const [accepted] = await this.#deps.acceptance.accept([posted], { by, entry });
    if (accepted === undefined) throw new Error('One test event was posted, and no event was accepted.');
    return accepted;
  }

  /**
   * Attack: a webhook to the own endpoint, whose handler sends the next test event. It counts as a
   * task that queues the next one.
   */
  #generationBehind({ depth, generation = 0 }: Actor): number {
    if (depth === 0) return 0;
    const { taskGenerations: max } = this.#deps.limits;
    const used = generation + 1;
    if (used <= max) return used;
    const limit = { name: 'taskGenerations', max, used } as const;
    const message = `The test event would be number ${used} of a chain in which each causes the next one; ${limitClause(limit)}.`;
    throw new AnnexError('CHAIN_TOO_LONG', message, { limit });
  }
}
