/**
 * UI tokens: bearer tokens for a page of the host product, in the browser of a person who
 * configures one target (`docs/contract/api.md#ui-tokens`).
 *
 *   annex_ui_<payload> . <HMAC-SHA256 of "annex_ui_" and the payload>    (both base64url)
 *
 * Signed with the keys of runtime tokens and not stored: a product makes one for each view of a
 * page. Attack: a token of one kind is sent as one of the other. The payload of a runtime token
 * begins with an encoded `{`, never with this prefix, so no signature is one of both. Pure.
 */
import { base64url } from './identifiers.ts';
import type { TargetName } from './installation.ts';
import { LEVELS } from './level.ts';
import { isSigned, type RuntimeTokenKeys, signature } from './runtime-token-format.ts';

const PREFIX = 'annex_ui_';
/** Longer than any token that is made. Attack: long texts that are expensive to read. */
const TOKEN_CHARS_MAX = 8_192;
const SHAPE = /^(annex_ui_[A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;

export interface UiClaims {
  readonly integration: string;
  /** When the integration was first published, as in a runtime token. */
  readonly since: number;
  readonly target: TargetName;
  /** Id of the stored token that asked for it: the token ends with that one. */
  readonly issuer: string;
  /** Origins of the pages that may use it; empty for any that has it. */
  readonly origins: readonly string[];
  /** Unix seconds. */
  readonly expiresAt: number;
  /** Whether it is for the webhook of the target, too. */
  readonly webhook?: true;
}

export const isUiToken = (token: string): boolean => token.startsWith(PREFIX);

export function mintUiToken(keys: RuntimeTokenKeys, claims: UiClaims): string {
  const signed = `${PREFIX}${base64url(Buffer.from(JSON.stringify(claims), 'utf8'))}`;
  return `${signed}.${base64url(signature(keys[0], signed))}`;
}

/**
 * The claims of an authentic token, expired or not; undefined for any other text. What is signed is
 * parsed only then, and one of another form is from another version of this service.
 */
export function readUiToken(keys: RuntimeTokenKeys, token: string): UiClaims | undefined {
  if (token.length > TOKEN_CHARS_MAX) return undefined;
  const [, signed = '', by = ''] = SHAPE.exec(token) ?? [];
  if (signed === '' || !isSigned(keys, signed, by)) return undefined;
  const claims = JSON.parse(
    Buffer.from(signed.slice(PREFIX.length), 'base64url').toString('utf8'),
  ) as UiClaims;
  const isKnown = MEMBERS.includes(Object.keys(claims).join()) && LEVELS.includes(claims.target.level);
  return isKnown ? claims : undefined;
}

const ALWAYS = [
  ...(['integration', 'since', 'target', 'issuer', 'origins', 'expiresAt'] satisfies (keyof UiClaims)[]),
].join();
const MEMBERS = [ALWAYS, `${ALWAYS},webhook`];
