/**
 * Reads the body of `POST {endpoint}/v1`: multipart parts become an envelope
 * (docs/contract/calls.md#envelope).
 *
 * Every fault of the body is reported before an isolate is entered. The `environment` part grants
 * nothing: the host's own environment of the target replaces each key that the host knows. Only
 * unknown keys are passed on, and what the host product alone knows
 * (docs/contract/environment.md#source).
 */

import { AnnexError } from '../../../errors.ts';
import type { LimitName } from '../../../limits.ts';
import type { Environment } from '../../../model/environment.ts';
import { isTooDeep, JSON_DEPTH_MAX } from '../../../model/json-depth.ts';
import { limitClause, quantity } from '../../../model/limit-met.ts';
import { EVENT_ID } from '../../../model/posted-event.ts';
import { eventIds, type Target } from '../../../model/target.ts';
import type { Envelope } from '../../calls/call.ts';
import { isOfAnotherEndpoint } from './endpoint-address.ts';
import { boundaryOf, MultipartError, type Part, readMultipart } from './multipart.ts';

/** Keys that only the host sets, whether or not this target has them. */
const OWN_KEYS: ReadonlySet<string> = new Set([
  'apiEndpoint',
  'apiTokens',
  'configuration',
  'externalIds',
  'id',
  'installation',
  'integration',
  // The host alone says whether there is a proxy for fetches.
  'network',
  'secrets',
  'signingSecrets',
  'site',
  'siteInstallation',
  'site_selection',
  'space',
  'spaceInstallation',
  'space_selection',
  'status',
  'target',
  'urls',
  // Attack: assigned to an object, this key would replace its prototype.
  '__proto__',
]);

/**
 * @param eventId for an event without one
 * @throws AnnexError ENVELOPE_INVALID or REQUEST_TOO_LARGE, naming the part
 */
export function readEnvelope(
  contentType: string | undefined,
  body: Buffer,
  target: EventTarget & Pick<Target, 'limits' | 'environment' | 'environmentJson'>,
  eventId: string,
): Envelope {
  const { limits } = target;
  const parts = readParts(contentType, body);
  const event = required(parts, 'event', limits.envelopePartBytes);
  const environment = required(parts, 'environment', limits.envelopePartBytes);
  const fetchBody = parts.get('fetch-body');
  if (fetchBody && fetchBody.length > limits.requestBodyBytes)
    throw tooLarge('fetch-body', fetchBody, 'requestBodyBytes', limits.requestBodyBytes);
  const { bytes, isBodiless } = checkEvent(event, parseObject('event', event), target, eventId);
  return {
    event: bytes,
    environment: ownEnvironment(target, parseObject('environment', environment)),
    // As in raw traffic, a GET or HEAD request has no body that an integration could read.
    ...(fetchBody && !isBodiless && { body: fetchBody }),
  };
}

function readParts(contentType: string | undefined, body: Buffer): Map<string, Buffer> {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) throw invalid('The body must be multipart/form-data with a boundary.');
  const byName = new Map<string, Buffer>();
  for (const { name, bytes } of partsOf(body, boundary)) {
    // Attack: two parts with one name, of which two parsers could use different ones.
    if (byName.has(name)) throw invalid(`The part \`${name.slice(0, 64)}\` occurs twice: send it once.`);
    byName.set(name, bytes);
  }
  return byName;
}

function partsOf(body: Buffer, boundary: string): Part[] {
  try {
    return readMultipart(body, boundary);
  } catch (cause) {
    if (cause instanceof MultipartError) throw invalid(cause.message);
    throw cause;
  }
}

function required(parts: Map<string, Buffer>, name: string, bytesMax: number): Buffer {
  const bytes = parts.get(name);
  if (bytes === undefined) throw invalid(`The part \`${name}\` is missing.`);
  if (bytes.length > bytesMax) throw tooLarge(name, bytes, 'envelopePartBytes', bytesMax);
  return bytes;
}

function parseObject(name: string, bytes: Buffer): Record<string, unknown> {
  if (isTooDeep(bytes)) throw invalid(`The \`${name}\` part is nested deeper than ${JSON_DEPTH_MAX}.`);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw invalid(`The \`${name}\` part is not JSON: ${(cause as Error).message}.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`The \`${name}\` part must be a JSON object.`);
  }
  return value as Record<string, unknown>;
}

function ownEnvironment(
  target: Pick<Target, 'environment' | 'environmentJson'>,
  sent: Record<string, unknown>,
): Uint8Array {
  const foreign = Object.entries(sent).filter(([key]) => !OWN_KEYS.has(key));
  const own = withSentMembers(target.environment, sent);
  if (foreign.length === 0 && own === target.environment) return target.environmentJson;
  return Buffer.from(JSON.stringify({ ...Object.fromEntries(foreign), ...own }));
}

const invalid = (message: string): AnnexError => new AnnexError('ENVELOPE_INVALID', message);
function tooLarge(part: string, bytes: Buffer, name: LimitName, max: number): AnnexError {
  const used = bytes.byteLength;
  const has = `The part \`${part}\` has ${quantity(name, used)}`;
  const limit = { name, max, used };
  return new AnnexError('REQUEST_TOO_LARGE', `${has}; ${limitClause(limit)}.`, { limit });
}

interface CheckedEvent {
  /** JSON text. */
  readonly bytes: Uint8Array;
  /** Whether it describes a request without a body (docs/contract/calls.md#envelope). */
  readonly isBodiless: boolean;
}

type EventTarget = Pick<
  Target,
  'installationId' | 'level' | 'place' | 'publicEndpoint' | 'publicContentEndpoint' | 'endpointKey'
>;

const OPENING_BRACE = 0x7b;

/**
 * Checks the event of an envelope and completes it for its target
 * (docs/contract/calls.md#event-ids): missing ids are added, ids of another target are refused.
 *
 * The text is passed on with the missing members in front. Serializing the whole event again would
 * cost more than parsing it, and would change how numbers and strings are written.
 *
 * @param text JSON text of `event`
 * @param eventId for an event without one
 * @throws AnnexError ENVELOPE_INVALID
 */
function checkEvent(
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

/** Never an endpoint. */
const MEMBERS = ['location', 'app', 'icon', 'assets'] as const;
const HOLDERS = ['integration', 'installation', 'spaceInstallation', 'siteInstallation'] as const;
const URL_CHARS_MAX = 2_048;

type Sent = Readonly<Record<string, unknown>>;

/**
 * Members of the `environment` part of an envelope that the host product knows and the host does
 * not: URLs, such as the page of an installation in the product, and what the owner of the
 * integration is beside its id (docs/contract/environment.md#source).
 *
 * Attack: an environment that names other endpoints, another API or another owner. Only a few
 * members of `urls` are taken, only where the host has none, and only http and https URLs of a
 * bounded length; and only members of the owner whose id the host has.
 *
 * @returns the same object if nothing is added
 */
function withSentMembers(own: Environment, sent: Sent): Environment {
  let environment = withSentOwner(own, sent['integration']);
  for (const holder of HOLDERS) {
    const known = environment[holder];
    const given = sent[holder];
    if (known === undefined || given === undefined) continue;
    const added = addedUrls(known.urls, given);
    if (added === undefined) continue;
    environment = { ...environment, [holder]: { ...known, urls: { ...known.urls, ...added } } };
  }
  return environment === own ? own : withFlatUrls(environment);
}

function withSentOwner(own: Environment, integration: unknown): Environment {
  const sent = isObject(integration) ? integration['owner'] : undefined;
  const { owner } = own.integration;
  if (!isObject(sent) || sent['id'] !== owner.id) return own;
  const urls = { ...owner.urls, ...addedUrls(owner.urls, sent) };
  const title = typeof sent['title'] === 'string' ? sent['title'] : owner.title;
  const { object, id } = owner;
  return { ...own, integration: { ...own.integration, owner: { ...sent, object, id, title, urls } } };
}

/** The flat `urls` are those of the most specific target. */
function withFlatUrls(environment: Environment): Environment {
  const { installation, spaceInstallation, siteInstallation } = environment;
  const { urls } = spaceInstallation ?? siteInstallation ?? installation ?? {};
  return urls === undefined ? environment : { ...environment, urls };
}

function addedUrls(known: object, given: unknown): Record<string, string> | undefined {
  const urls = isObject(given) ? given['urls'] : undefined;
  if (!isObject(urls)) return undefined;
  let added: Record<string, string> | undefined;
  for (const member of MEMBERS) {
    const url = urls[member];
    if (member in known || !isUrl(url)) continue;
    added ??= {};
    added[member] = url;
  }
  return added;
}

const isUrl = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= URL_CHARS_MAX && /^https?:/.test(value) && URL.canParse(value);

const isObject = (value: unknown): value is Sent => typeof value === 'object' && value !== null;
