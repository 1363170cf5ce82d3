/**
 * Runtime tokens: bearer tokens with which an integration's code calls the API of its own service
 * (`docs/contract/environment.md#runtime-tokens`).
 *
 *   annex_run_<payload> . <HMAC-SHA256 of the payload>          (both base64url)
 *
 * Signed rather than stored, because one is issued for every target every 30 seconds and lives only
 * a little longer than a call. The payload is authentic but not secret: the holder of a token can
 * read it. Pure: keys and time are parameters. Does not check that the token's integration and
 * installation still exist; the store does.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { base64url } from './identifiers.ts';
import type { TargetName } from './installation.ts';

const RUNTIME_TOKEN_PREFIX = 'annex_run_';
/** Longer than any token that is issued. Attack: long texts that are expensive to read. */
export const RUNTIME_TOKEN_CHARS_MAX = 4_096;
/** HMAC-SHA256 in base64url. */
const SIGNATURE_CHARS = 43;
const SHAPE = new RegExp(`^${RUNTIME_TOKEN_PREFIX}([A-Za-z0-9_-]+)\\.([A-Za-z0-9_-]{${SIGNATURE_CHARS}})$`);

/** The first key signs, all verify, so that tokens stay valid when keys are rotated. */
export type RuntimeTokenKeys = readonly [Uint8Array, ...Uint8Array[]];

interface Claims {
  readonly integration: string;
  /**
   * When the integration was first published, in milliseconds since 1970. An integration that is
   * deleted and published again under the same name, perhaps by another owner, does not accept
   * tokens of the old one.
   */
  readonly since: number;
  /** Number of the version that runs. */
  readonly version: number;
  /** Scopes of that version. */
  readonly scopes: readonly string[];
  /** Unix seconds. */
  readonly expiresAt: number;
}

/** Claims of a token for the integration as a whole. */
export interface IntegrationClaims extends Claims {
  readonly kind: 'integration';
}

/** Claims of a token for one installation. */
export interface InstallationClaims extends Claims {
  readonly kind: 'installation';
  /** The target of the call: the installation, or its part in a space or a site. */
  readonly target: TargetName;
}

export type RuntimeClaims = IntegrationClaims | InstallationClaims;

/**
 * The claims of an authentic token, expired or not; undefined where the signature is not by one of
 * the keys.
 */
export type ReadRuntimeToken = { readonly claims: RuntimeClaims; readonly isExpired: boolean } | undefined;

export const isRuntimeToken = (token: string): boolean => token.startsWith(RUNTIME_TOKEN_PREFIX);

/** Issues a token. Deterministic: the same claims make the same token. */
export function mintRuntimeToken(keys: RuntimeTokenKeys, claims: RuntimeClaims): string {
  const payload = base64url(Buffer.from(JSON.stringify(payloadOf(claims)), 'utf8'));
  return `${RUNTIME_TOKEN_PREFIX}${payload}.${base64url(signature(keys[0], payload))}`;
}

/**
 * Reads an untrusted token. The payload is parsed only after its signature is verified.
 *
 * @param now milliseconds since 1970
 */
export function readRuntimeToken(keys: RuntimeTokenKeys, token: string, now: number): ReadRuntimeToken {
  if (token.length > RUNTIME_TOKEN_CHARS_MAX) return undefined;
  const [, payload, signed] = SHAPE.exec(token) ?? [];
  if (payload === undefined || signed === undefined || !isSigned(keys, payload, signed)) return undefined;
  const claims = claimsOf(payload);
  return claims && { claims, isExpired: now >= claims.expiresAt * 1_000 };
}

/** HMAC-SHA256 of a text. */
export const signature = (key: Uint8Array, payload: string): Buffer =>
  createHmac('sha256', key).update(payload, 'ascii').digest();

/** Whether one of the keys made the signature of a text, in base64url. */
export function isSigned(keys: RuntimeTokenKeys, payload: string, signed: string): boolean {
  const claimed = Buffer.from(signed, 'base64url');
  // The last character has two unused bits. Attack: if they were ignored, one token would have four
  // spellings, of which a revocation list names only one.
  if (base64url(claimed) !== signed) return false;
  let isGenuine = false;
  // Every key is compared in constant time, so that timing reveals neither the signature nor which
  // key made it.
  for (const key of keys) if (timingSafeEqual(signature(key, payload), claimed)) isGenuine = true;
  return isGenuine;
}

/** The signed payload. Names are short because it is in the environment of every call, twice. */
interface Payload {
  readonly kind: string;
  readonly integration: string;
  readonly since: number;
  readonly version: number;
  readonly scopes: readonly string[];
  readonly exp: number;
  readonly installation?: string;
  readonly space?: string;
  readonly site?: string;
}

function payloadOf(claims: RuntimeClaims): Payload {
  const { kind, integration, since, version, scopes, expiresAt: exp } = claims;
  const common = { kind, integration, since, version, scopes, exp };
  if (claims.kind === 'integration') return common;
  const { installationId: installation, level, place } = claims.target;
  return { ...common, installation, ...(level !== 'organization' && { [level]: place }) };
}

/**
 * An authentic payload of another form is from another version of this service. It is refused: an
 * unknown member may be a restriction.
 */
function claimsOf(text: string): RuntimeClaims | undefined {
  const payload = parse(text);
  if (payload === undefined || Object.keys(payload).some((name) => !MEMBERS.has(name))) return undefined;
  const { kind, integration, since, version, scopes, exp, installation, space, site } = payload;
  if (typeof integration !== 'string' || !isWhole(since) || !isWhole(exp)) return undefined;
  if (!isWhole(version) || !areTexts(scopes)) return undefined;
  const common = { integration, since, version, scopes, expiresAt: exp };
  if (kind === 'integration') {
    return installation === undefined && space === undefined && site === undefined
      ? { ...common, kind }
      : undefined;
  }
  if (kind !== 'installation' || typeof installation !== 'string') return undefined;
  const target = targetOf(installation, space, site);
  return target && { ...common, kind, target };
}

function targetOf(installationId: string, space: unknown, site: unknown): TargetName | undefined {
  if (space === undefined && site === undefined) return { installationId, level: 'organization', place: '' };
  if (typeof space === 'string' && site === undefined)
    return { installationId, level: 'space', place: space };
  if (typeof site === 'string' && space === undefined) return { installationId, level: 'site', place: site };
  return undefined;
}

const MEMBERS: ReadonlySet<string> = new Set<keyof Payload>([
  ...(['kind', 'integration', 'since', 'version', 'scopes', 'exp'] as const),
  ...(['installation', 'space', 'site'] as const),
]);

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const areTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

function parse(text: string): Partial<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
