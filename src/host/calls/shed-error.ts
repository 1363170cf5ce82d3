/** The error for the caller of a call that was not begun: which limit was met, and what helps. */
import { AnnexError } from '../../errors.ts';
import type { LimitMet, Limits } from '../../limits.ts';
import { limitClause, limitSentence } from '../../model/limit-met.ts';
import type { Outcome } from '../../protocol/wire.ts';
import type { Refusal } from './admission.ts';

/** Further members of each such error. */
export const SHED = { outcome: 'loadShed' satisfies Outcome };

const UPLOADS = 'calls whose bodies are still being sent';
const HELP =
  'and those of one address no more than they leave free; send fewer bodies at once, or send them faster';

export function shedError(why: Refusal, limits: Limits): AnnexError {
  if (why === 'closed') return new AnnexError('SERVICE_STOPPING', 'The service is shutting down.');
  const { limit, message } = refused(why, limits);
  return new AnnexError('CALL_SHED', message ?? limitSentence(limit), { limit, extra: SHED });
}

function refused(why: Exclude<Refusal, 'closed'>, limits: Limits): { limit: LimitMet; message?: string } {
  const { callsInFlight, callsWaitingPerInstallation, callsWaiting, firstByteMs } = limits;
  switch (why) {
    case 'left': {
      const limit: LimitMet = { name: 'firstByteMs', max: firstByteMs };
      const message = `The call waited too long for a place, and was not begun; ${limitClause(limit)}.`;
      return { limit, message };
    }
    case 'all':
      return { limit: { name: 'callsWaiting', max: callsWaiting, used: callsWaiting } };
    case 'installation': {
      const max = callsWaitingPerInstallation;
      return { limit: { name: 'callsWaitingPerInstallation', max, used: max } };
    }
    case 'uploads': {
      const limit: LimitMet = { name: 'callsInFlight', max: callsInFlight };
      const message = `Too many ${UPLOADS} run or wait; they have half of all places, ${HELP}; ${limitClause(limit)}.`;
      return { limit, message };
    }
    case 'uploadsOfInstallation': {
      const limit: LimitMet = { name: 'callsWaitingPerInstallation', max: callsWaitingPerInstallation };
      const message = `Too many ${UPLOADS} wait for the installation; they have half of its places to wait in, ${HELP}; ${limitClause(limit)}.`;
      return { limit, message };
    }
  }
}
