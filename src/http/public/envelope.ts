/**
 * Reads the body of `POST {endpoint}/v1`: multipart parts become an envelope
 * (docs/contract/calls.md#envelope).
 *
 * Every fault of the body is reported before an isolate is entered. The `environment` part grants
 * nothing: the host's own environment of the target replaces each key that the host knows. Only
 * unknown keys are passed on, and what the host product alone knows (`envelope-members.ts`,
 * docs/contract/environment.md#source).
 */

import type { Envelope } from '../../calls/call.ts';
import { AnnexError } from '../../errors.ts';
import type { LimitName } from '../../limits.ts';
import { isTooDeep, JSON_DEPTH_MAX } from '../../model/json-depth.ts';
import { limitClause, quantity } from '../../model/limit-met.ts';
import type { Target } from '../../model/target.ts';
import { checkEvent, type EventTarget } from './envelope-event.ts';
import { withSentMembers } from './envelope-members.ts';
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
