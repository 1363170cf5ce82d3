/**
 * The log line of a delivery that has failed for good: what, where, why, and what to do about it.
 * Retries have no line. Pure.
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
  { ending: { end, outcome }, recorded, detail }: Attempted,
): string {
  const destination = recorded?.destination;
  // Only the origin: the path of a receiver's URL may hold a key.
  const where = destination === undefined ? '' : ` to ${new URL(destination).origin}`;
  const times = end === 'fault' ? faults + 1 : retries + 1;
  const often = times === 1 ? '' : ` in the last of ${times} attempts`;
  return (
    `${type} (${eventId}) was not delivered${where}: ${outcome}${often}${whyText(detail, destination)} ` +
    `This is final. Once the cause is fixed, POST /v1/deliveries/${id}/redeliver delivers it again.`
  );
}

/** Network errors repeat the origin in front, which is cut off; a blocked URL has a sentence. */
function whyText(detail: string | undefined, destination: string | undefined): string {
  if (detail === undefined) return '.';
  const from = destination === undefined ? '' : `${new URL(destination).origin}: `;
  const text = detail.startsWith(from) && from !== '' ? `: ${detail.slice(from.length)}` : `. ${detail}`;
  return text.endsWith('.') ? text : `${text}.`;
}
