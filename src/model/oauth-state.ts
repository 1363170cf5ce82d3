/**
 * The host's half of the signed `state` of an OAuth flow (docs/contract/oauth.md#state): finds the
 * target that began a flow, for the redirect URL of an integration. `sandbox/sdk/signed-state.ts`
 * makes states, and checks them again with what only a browser and the code have: the cookie and
 * the client id. Pure.
 *
 * Attack: a made-up state that leads the browser, with a code, to a target of another choice. The
 * state is read only after its signature by the integration's own secret was verified.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { TargetName } from './installation.ts';

/** As in `sandbox/sdk/signed-state.ts`. */
const STATE_USE = 'annex oauth state 2';
const STATE_CHARS_MAX = 2_048;

/** A state that is genuine and not over. */
export interface ReadState {
  readonly target: TargetName;
  /** Path of the handler below the target's endpoint; empty, or with a slash at its beginning. */
  readonly path: string;
  /** Names the state where it is spent. */
  readonly digest: string;
}

export type StateFault = 'forged' | 'expired';

/** @param now milliseconds since 1970 */
export function readState(
  text: string,
  {
    signingSecret,
    redirectURI,
    now,
  }: { readonly signingSecret: string; readonly redirectURI: string; readonly now: number },
): ReadState | StateFault {
  const [payload = '', signature = '', ...rest] = text.slice(0, STATE_CHARS_MAX).split('.');
  const claimed = Buffer.from(signature, 'base64url');
  const signed = JSON.stringify([STATE_USE, payload, redirectURI]);
  const own = createHmac('sha256', signingSecret).update(signed).digest();
  const isOurs = rest.length === 0 && claimed.length === own.length && timingSafeEqual(claimed, own);
  const state = isOurs ? parsed(payload) : undefined;
  if (state === undefined) return 'forged';
  if (now >= state.expires * 1_000) return 'expired';
  const { installation: installationId, space, site, path, nonce } = state;
  const below = space === undefined ? ('site' as const) : ('space' as const);
  const place = space ?? site;
  const target: TargetName =
    place === undefined
      ? { installationId, level: 'organization', place: '' }
      : { installationId, level: below, place };
  return { target, path, digest: createHash('sha256').update(nonce).digest('base64url') };
}

interface Payload {
  readonly installation: string;
  readonly space?: string;
  readonly site?: string;
  readonly path: string;
  readonly nonce: string;
  /** Unix seconds. */
  readonly expires: number;
}

/** The code of an integration knows the secret, so a signed state may have any content. */
function parsed(payload: string): Payload | undefined {
  try {
    const value = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Partial<Payload> | null;
    const { installation, space, site, path, nonce, expires } = value ?? {};
    const texts = [installation, path, nonce, space ?? '', site ?? ''];
    if (!texts.every((text) => typeof text === 'string') || typeof expires !== 'number') return undefined;
    return path === '' || path?.startsWith('/') ? (value as Payload) : undefined;
  } catch {
    return undefined;
  }
}
