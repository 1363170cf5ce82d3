/**
 * What the log of an installation is told of a delivery that has failed for good: what, where, why, and what to do about it.
 * Retries are no line each. Pure.
 */
import type { ClaimedDelivery } from '../store/deliveries/delivery.ts';
import type { Attempted } from './in-flight.ts';

export function failureText(
  {
    id,
    type,
    eventId,
    retries,
    faults,
  }: Pick<ClaimedDelivery, 'id' | 'type' | 'eventId' | 'retries' | 'faults'>,
  { ending: { end, outcome }, noted, detail }: Attempted,
): string {
  const destination = noted?.destination;
  // Whoever reads the log need not see all of a receiver's URL: its path may hold a key, too.
  const where = destination === undefined ? '' : ` to ${new URL(destination).origin}`;
  const times = end === 'fault' ? faults + 1 : retries + 1;
  const often = times === 1 ? '' : ` in the last of ${times} attempts`;
  return (
    `${type} (${eventId}) was not delivered${where}: ${outcome}${often}${whyText(detail, destination)} This is final. Once the cause is mended, ` +
    `POST /v1/deliveries/${id}/redeliver delivers it anew.`
  );
}

/** What the network answered says once more from where; a rule that says no has a sentence of its own. */
function whyText(detail: string | undefined, destination: string | undefined): string {
  if (detail === undefined) return '.';
  const from = destination === undefined ? '' : `${new URL(destination).origin}: `;
  const text = detail.startsWith(from) && from !== '' ? `: ${detail.slice(from.length)}` : `. ${detail}`;
  return text.endsWith('.') ? text : `${text}.`;
}
