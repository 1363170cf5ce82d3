/**
 * From the outcome of a call to what its caller is told: one table, so that answer, log and metric cannot disagree.
 */
import { AnnexError, type ErrorCode } from '../errors.ts';
import type { LimitMet, Limits } from '../limits.ts';
import { limitSentence } from '../model/limit-met.ts';
import type { CallEnd, Outcome } from '../protocol/wire.ts';

interface OutcomeRow {
  readonly code: ErrorCode;
  /** What the caller reads. Says nothing about the integration's inner life: that is for its log. */
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
  canceled: { code: 'CALL_CANCELED', message: 'The caller went away before the answer.' },
  loadShed: { code: 'CALL_SHED', message: 'Too many calls are waiting for this installation.' },
  cellCrashed: { code: 'CELL_CRASHED', message: 'The process that ran the integration died; try again.' },
  internalError: { code: 'INTERNAL_ERROR', message: 'A fault of the service; its log has the reason.' },
};

/**
 * The error a caller sees when a call ended without an answer of the integration's own. What the cell said of the end is
 * not in it: the journal tells that, without the secrets of its target.
 */
export function outcomeError(outcome: Outcome, { limit }: { limit?: LimitMet } = {}): AnnexError {
  if (outcome === 'ok') return new AnnexError('INTERNAL_ERROR', 'The call ended without an answer.');
  const { code, message } = ROWS[outcome];
  const told = limit ? limitSentence(limit) : message;
  return new AnnexError(code, told, { extra: { outcome }, ...(limit && { limit }) });
}

/** The limit that ended a call, as the limits of its target have it: a cell only says which one it was. */
export function limitMet({ limit }: CallEnd, limits: Limits): LimitMet | undefined {
  if (limit === undefined) return undefined;
  const { name, used } = limit;
  return { name, max: limits[name], ...(used !== undefined && { used }) };
}
