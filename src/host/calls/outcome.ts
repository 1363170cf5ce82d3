/**
 * The error that a caller gets for each outcome of a call: one table, so that answer, log and
 * metric cannot disagree (docs/contract/calls.md#errors).
 */
import { AnnexError, type ErrorCode } from '../../errors.ts';
import type { LimitMet, Limits } from '../../limits.ts';
import { limitSentence } from '../../model/limit-met.ts';
import type { CallEnd, Outcome } from '../../protocol/wire.ts';

interface OutcomeRow {
  readonly code: ErrorCode;
  /** For the caller: what the integration did in detail is only in its log. */
  readonly message: string;
}

const ROWS: Readonly<Record<Exclude<Outcome, 'ok'>, OutcomeRow>> = {
  exception: { code: 'INTEGRATION_EXCEPTION', message: 'The integration failed; its log has the reason.' },
  exceededCpu: {
    code: 'ISOLATE_LIMIT_EXCEEDED',
    message: 'The integration used up its CPU time for one call.',
  },
  exceededMemory: { code: 'ISOLATE_LIMIT_EXCEEDED', message: 'The integration used up its memory.' },
  exceededWallTime: { code: 'CALL_TIMED_OUT', message: 'The integration did not answer in time.' },
  responseTooLarge: {
    code: 'INTEGRATION_RESPONSE_TOO_LARGE',
    message: "The integration's answer is over the response limit.",
  },
  canceled: { code: 'CALL_CANCELED', message: 'The caller disconnected before the answer.' },
  loadShed: { code: 'CALL_SHED', message: 'Too many calls are waiting for this installation.' },
  cellCrashed: { code: 'CELL_CRASHED', message: 'The process that ran the integration died; try again.' },
  internalError: { code: 'INTERNAL_ERROR', message: 'A fault of the service; its log has the reason.' },
};

/**
 * The error for the caller of a call that ended without an answer of the integration. Words of the
 * cell are not in it: the call log has them, without the secrets of the target.
 */
export function outcomeError(outcome: Outcome, { limit }: { limit?: LimitMet } = {}): AnnexError {
  if (outcome === 'ok') return new AnnexError('INTERNAL_ERROR', 'The call ended without an answer.');
  const { code, message } = ROWS[outcome];
  const sentence = limit ? limitSentence(limit) : message;
  return new AnnexError(code, sentence, { extra: { outcome }, ...(limit && { limit }) });
}

/**
 * The error for a call whose code failed after a request of it to this service had failed with this
 * code.
 */
export const platformFault = (faultCode: ErrorCode): AnnexError =>
  new AnnexError(
    faultCode,
    `A request of the integration to this service failed for a reason of the platform (${faultCode}), and the call after it.`,
    { extra: { outcome: 'internalError' satisfies Outcome } },
  );

/**
 * The limit that ended a call, with its value for the target: a cell only reports which one it was.
 */
export function limitMet({ limit }: CallEnd, limits: Limits): LimitMet | undefined {
  if (limit === undefined) return undefined;
  const { name, used } = limit;
  return { name, max: limits[name], ...(used !== undefined && { used }) };
}
