/**
 * Checks the event of an envelope and completes it for its target
 * (docs/contract/calls.md#event-ids): missing ids are added, ids of another target are refused.
 *
 * The text is passed on with the missing members in front. Serializing the whole event again would
 * cost more than parsing it, and would change how numbers and strings are written.
 */
import { AnnexError } from '../../errors.ts';
import { EVENT_ID } from '../../model/posted-event.ts';
import { eventIds, type Target } from '../../model/target.ts';
import { isOfAnotherEndpoint } from './endpoint-path.ts';

export interface CheckedEvent {
  /** JSON text. */
  readonly bytes: Uint8Array;
  /** Whether it describes a request without a body (docs/contract/calls.md#envelope). */
  readonly isBodiless: boolean;
}

export type EventTarget = Pick<
  Target,
  'installationId' | 'level' | 'place' | 'publicEndpoint' | 'publicContentEndpoint' | 'endpointKey'
>;

const OPENING_BRACE = 0x7b;

/**
 * @param text JSON text of `event`
 * @param eventId for an event without one
 * @throws AnnexError ENVELOPE_INVALID
 */
export function checkEvent(
  text: Buffer,
  event: Readonly<Record<string, unknown>>,
  target: EventTarget,
  eventId: string,
): CheckedEvent {
  const { type } = event;
  if (typeof type !== 'string' || type === '')
    throw invalid('The `event` part has no `type`: set it to a non-empty string.');
  let missing = '';
  if (event['eventId'] === undefined) missing = member('eventId', eventId);
  else if (typeof event['eventId'] !== 'string' || !EVENT_ID.test(event['eventId']))
    throw invalid(
      'The `eventId` of the event must be a string of 1 to 255 printable ASCII characters, without spaces.',
    );
  const own = eventIds(target);
  if (own.installationId !== undefined) missing += missingId(event, 'installationId', own.installationId);
  else if (event['installationId'] !== undefined) throw ofAnotherTarget('installationId');
  if (own.spaceId !== undefined) missing += missingId(event, 'spaceId', own.spaceId);
  if (own.siteId !== undefined) missing += missingId(event, 'siteId', own.siteId);
  return {
    bytes: missing === '' ? text : withMembers(text, missing),
    isBodiless: type === 'fetch' && isBodilessRequest(event['request'], target),
  };
}

/** @throws AnnexError ENVELOPE_INVALID if the URL of the request is below another endpoint */
function isBodilessRequest(request: unknown, target: EventTarget): boolean {
  if (typeof request !== 'object' || request === null) return false;
  const { method, url } = request as { readonly method?: unknown; readonly url?: unknown };
  if (typeof url === 'string' && isOfAnotherEndpoint(url, target))
    throw invalid(
      "The `request.url` of the event is not below the target's endpoint: use the endpoint's URL or one below it.",
    );
  return typeof method === 'string' && /^(?:get|head)$/i.test(method);
}

/**
 * Attack: an event with ids of another installation, for code that takes them for its own.
 *
 * @returns the id as a member, if the event has none
 * @throws AnnexError ENVELOPE_INVALID if the event has another id
 */
function missingId(event: Readonly<Record<string, unknown>>, key: string, id: string): string {
  if (event[key] === undefined) return member(key, id);
  if (event[key] === id) return '';
  throw ofAnotherTarget(key);
}

const ofAnotherTarget = (key: string): AnnexError =>
  invalid(
    `The \`${key}\` of the event is not that of the endpoint's target: leave it out, or send the event to the endpoint of that target.`,
  );

const member = (key: string, value: string): string => `"${key}":${JSON.stringify(value)},`;

/** The object has at least a `type`, so a comma may end the added members. */
function withMembers(text: Buffer, members: string): Uint8Array {
  const rest = text.indexOf(OPENING_BRACE) + 1;
  const begin = `{${members}`;
  const at = Buffer.byteLength(begin);
  const whole = Buffer.allocUnsafe(at + text.length - rest);
  whole.write(begin);
  text.copy(whole, at, rest);
  return whole;
}

const invalid = (message: string): AnnexError => new AnnexError('ENVELOPE_INVALID', message);
