/**
 * The event of an envelope, checked and completed for its target (COMPAT 1): what its sender leaves out of the ids the host
 * fills in, and what names another target is refused.
 *
 * The text itself is handed on, with the missing members in front: to write the whole event anew would cost more than to read
 * it, and change how numbers and texts are written.
 */
import { AnnexError } from '../../errors.ts';
import { EVENT_ID } from '../../model/posted-event.ts';
import { eventIds, type Target } from '../../model/target.ts';
import { isOfAnotherEndpoint } from './endpoint-path.ts';

export interface CheckedEvent {
  /** JSON text. */
  readonly bytes: Uint8Array;
  /** Whether it describes a request that has no body (REFERENCE D3). */
  readonly isBodiless: boolean;
}

export type EventTarget = Pick<
  Target,
  'installationId' | 'level' | 'place' | 'publicEndpoint' | 'endpointKey'
>;

const OPENING_BRACE = 0x7b;

/**
 * @param text JSON text of `event`
 * @param eventId for an event that has none
 * @throws AnnexError ENVELOPE_INVALID
 */
export function checkEvent(
  text: Buffer,
  event: Readonly<Record<string, unknown>>,
  target: EventTarget,
  eventId: string,
): CheckedEvent {
  const { type } = event;
  if (typeof type !== 'string' || type === '') throw invalid('The `event` part has no `type`.');
  let missing = '';
  if (event['eventId'] === undefined) missing = member('eventId', eventId);
  else if (typeof event['eventId'] !== 'string' || !EVENT_ID.test(event['eventId']))
    throw invalid(
      'The `eventId` of the event must be a string of 1 to 255 printable ASCII characters, without spaces.',
    );
  const own = eventIds(target);
  missing += missingId(event, 'installationId', own.installationId);
  if (own.spaceId !== undefined) missing += missingId(event, 'spaceId', own.spaceId);
  if (own.siteId !== undefined) missing += missingId(event, 'siteId', own.siteId);
  return {
    bytes: missing === '' ? text : inFront(text, missing),
    isBodiless: type === 'fetch' && isBodilessRequest(event['request'], target),
  };
}

/** @throws AnnexError ENVELOPE_INVALID where the request is one to another endpoint */
function isBodilessRequest(request: unknown, target: EventTarget): boolean {
  if (typeof request !== 'object' || request === null) return false;
  const { method, url } = request as { readonly method?: unknown; readonly url?: unknown };
  if (typeof url === 'string' && isOfAnotherEndpoint(url, target))
    throw invalid("The `request.url` of the event is not below the target's endpoint.");
  return typeof method === 'string' && /^(?:get|head)$/i.test(method);
}

/**
 * The attack: code that takes the ids of an event for those of its installation acts for another one.
 *
 * @returns the id as a member, where the event has none
 * @throws AnnexError ENVELOPE_INVALID where it has another
 */
function missingId(event: Readonly<Record<string, unknown>>, key: string, id: string): string {
  if (event[key] === undefined) return member(key, id);
  if (event[key] === id) return '';
  throw invalid(`The \`${key}\` of the event is not that of the endpoint's target.`);
}

const member = (key: string, value: string): string => `"${key}":${JSON.stringify(value)},`;

/** The object has a `type`, so a comma may stand behind what comes before it. */
function inFront(text: Buffer, members: string): Uint8Array {
  const rest = text.indexOf(OPENING_BRACE) + 1;
  const begin = `{${members}`;
  const at = Buffer.byteLength(begin);
  const whole = Buffer.allocUnsafe(at + text.length - rest);
  whole.write(begin);
  text.copy(whole, at, rest);
  return whole;
}

const invalid = (message: string): AnnexError => new AnnexError('ENVELOPE_INVALID', message);
