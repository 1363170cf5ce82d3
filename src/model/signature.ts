/**
 * The signature of platform requests and of webhook deliveries, `X-Platform-Signature: t=<unix
 * seconds>,v1=<hex>` (`docs/contract/webhooks.md#signature`). Pure: secrets and time are
 * parameters. Webhooks may have that of Standard Webhooks instead, or both
 * (`docs/contract/webhooks.md#standard-webhooks`).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

const TIMESTAMP = /^[0-9]{1,16}$/;
const DIGEST = /^[0-9a-f]{64}$/;
/** Attack: long headers that are expensive to parse. */
const HEADER_CHARS_MAX = 1_024;

/**
 * @param secrets each signs; during a rotation the new secret is first. The key is the text's
 * UTF-8.
 * @param timestampS Unix seconds of this request; a retry of the same body is signed again
 * @param body exactly the bytes that are sent
 * @returns the header's value
 */
export function signatureHeader(secrets: readonly string[], timestampS: number, body: Uint8Array): string {
  // A header without a digest must never be sent.
  if (secrets.length === 0) throw new Error('Nothing can be signed without a secret.');
  const prefix = `${timestampS}.`;
  let header = `t=${timestampS}`;
  for (const secret of secrets)
    header += `,v1=${createHmac('sha256', secret).update(prefix).update(body).digest('hex')}`;
  return header;
}

/** By which scheme a webhook is signed. */
export const SIGNATURE_SCHEMES = ['platform', 'standard', 'both'] as const;
export type SignatureScheme = (typeof SIGNATURE_SCHEMES)[number];

const STANDARD_PREFIX = 'whsec_';
/** Keys of Standard Webhooks have so many bytes. */
const STANDARD_BYTES_MIN = 24;
const STANDARD_BYTES_MAX = 64;

/**
 * The key of a secret in Standard Webhooks: its text, as in the scheme of the platform, unless it
 * is a secret of that form already, which an installer brings along from another service.
 *
 * One key for both schemes: what is signed in one is no payload in the other, because a payload is
 * JSON and begins with neither an id nor a time and a dot.
 */
function standardKey(secret: string): Buffer {
  const encoded = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : '';
  const bytes = Buffer.from(encoded, 'base64');
  const isStandard = bytes.length >= STANDARD_BYTES_MIN && bytes.length <= STANDARD_BYTES_MAX;
  return isStandard && bytes.toString('base64') === encoded ? bytes : Buffer.from(secret, 'utf8');
}

/** A secret as receivers of Standard Webhooks take it: `whsec_…`. */
export const standardSecret = (secret: string): string =>
  `${STANDARD_PREFIX}${standardKey(secret).toString('base64')}`;

/** Names of the headers of Standard Webhooks. */
export const STANDARD_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/** Id of a delivery there: its own has one dot, which would end it in the text that is signed. */
export const standardId = (deliveryId: string): string => deliveryId.replace('.', '_');

/**
 * The headers of Standard Webhooks.
 *
 * @param secrets as for `signatureHeader`
 * @param id of `standardId`
 */
export function standardHeaders(
  secrets: readonly string[],
  { id, timestampS }: { readonly id: string; readonly timestampS: number },
  body: Uint8Array,
): Record<(typeof STANDARD_HEADERS)[number], string> {
  if (secrets.length === 0) throw new Error('Nothing can be signed without a secret.');
  const prefix = `${id}.${timestampS}.`;
  const signatures = secrets.map((secret) =>
    createHmac('sha256', standardKey(secret)).update(prefix).update(body).digest('base64'),
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  };
}

/** Beginning of the names of a webhook's headers, as the specification has it. */
export const HEADER_PREFIX = 'X-Platform';

/** Names of the headers of a webhook. */
export interface HeaderNames {
  readonly signature: string;
  readonly event: string;
  readonly delivery: string;
  readonly attempt: string;
}

/** @param prefix as `X-Acme` */
export function headerNames(prefix: string): HeaderNames {
  const start = prefix.toLowerCase();
  return {
    signature: `${start}-signature`,
    event: `${start}-event`,
    delivery: `${start}-delivery`,
    attempt: `${start}-attempt`,
  };
}

/** A parsed header: a time, and the digests of one or more secrets. */
export interface SignatureClaim {
  /** Unix seconds, as the signed text. */
  readonly timestamp: string;
  readonly digests: readonly Buffer[];
}

/**
 * @param header the header's value, as received
 * @param body the raw body, exactly as received
 * @param secrets any of these may have signed
 */
export function verifySignature(
  header: string | undefined,
  body: Uint8Array,
  secrets: readonly string[],
): boolean {
  const claim = header === undefined ? undefined : readSignature(header);
  return claim !== undefined && matchingDigests(claim, body, secrets).length > 0;
}

/** @returns the digests of the claim that match the body under one of the secrets */
export function matchingDigests(
  { timestamp, digests }: SignatureClaim,
  body: Uint8Array,
  secrets: readonly string[],
): Buffer[] {
  const matching: Buffer[] = [];
  for (const secret of secrets) {
    const digest = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest();
    // Every pair is compared in constant time, so that timing reveals neither the digest nor which
    // secret made it.
    for (const candidate of digests) if (timingSafeEqual(digest, candidate)) matching.push(candidate);
  }
  return matching;
}

/** @returns undefined where the header is not a valid signature header */
export function readSignature(header: string): SignatureClaim | undefined {
  if (header.length > HEADER_CHARS_MAX) return undefined;
  let timestamp: string | undefined;
  const digests: Buffer[] = [];
  for (const pair of header.split(',')) {
    const separator = pair.indexOf('=');
    const key = pair.slice(0, separator);
    const value = pair.slice(separator + 1);
    if (key === 't') {
      // Attack: a second timestamp would let an old signature pass for a new time.
      if (timestamp !== undefined || !TIMESTAMP.test(value)) return undefined;
      timestamp = value;
    } else if (key === 'v1') {
      if (!DIGEST.test(value)) return undefined;
      digests.push(Buffer.from(value, 'hex'));
    }
  }
  return timestamp === undefined || digests.length === 0 ? undefined : { timestamp, digests };
}
