/**
 * One call of an integration for a route, and its whole answer, bounded.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { boundedBody } from '../../../calls/bounded-body.ts';
import type { Dispatch } from '../../../calls/dispatch.ts';
import { outcomeError } from '../../../calls/outcome.ts';
import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import type { Target } from '../../../model/target.ts';
import { nestedCaller } from '../nested-call.ts';

/** An event for the code, as JSON. */
export interface CodeEvent {
  readonly eventId: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

export interface IntegrationAnswer {
  readonly status: number;
  readonly headers: readonly [string, string][];
  readonly body: Buffer;
}

export interface IntegrationCallParts {
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly limits: Limits;
  /** Largest body of the answer. */
  readonly bytesMax: number;
}

/** @throws AnnexError CALL_TOO_DEEP, ANSWER_INVALID, or the outcome of a call without an answer */
export async function integrationAnswer(
  { dispatch, limits, bytesMax }: IntegrationCallParts,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  target: Target,
  event: CodeEvent,
): Promise<IntegrationAnswer> {
  const caller = nestedCaller(request, reply, limits);
  const envelope = { event: Buffer.from(JSON.stringify(event)), environment: target.environmentJson };
  const result = await dispatch.call(target, envelope, request.id, caller);
  if (result.response === undefined) throw result.refusal ?? outcomeError(result.outcome, result);
  const { status, headers, body } = result.response;
  const bytes = await boundedBody(body, bytesMax).catch(() => {
    throw caller.left ? outcomeError('canceled') : invalidAnswer(event.type, 'broke off');
  });
  if (bytes === undefined) throw invalidAnswer(event.type, `has more than ${bytesMax / 1024} KiB`);
  return { status, headers, body: bytes };
}

/** @param what the fault, as a predicate */
export const invalidAnswer = (type: string, what: string): AnnexError =>
  new AnnexError('ANSWER_INVALID', `The answer of the integration to \`${type}\` ${what}.`);
