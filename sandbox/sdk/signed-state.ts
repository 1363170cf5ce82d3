/**
 * The signed `state` of an authorization request, and the PKCE verifier
 * (docs/contract/oauth.md#state). Stateless until the callback, which another isolate may answer;
 * then the platform stores the digest, so that a state is good once.
 *
 * Attack: a made-up or expired state, or one of another installation, space or site. The state is
 * signed. The signature also covers the redirect URI and a hash of the client id, so that an
 * integration with two providers does not take the answer of one for that of the other (mix-up
 * attack).
 *
 * Attack: login CSRF. An attacker begins a flow, signs in with their own account and makes a
 * victim's browser finish it, so that the installation uses the attacker's account. The state holds
 * a hash of a cookie of the browser that began it; a hash, so that neither the state nor a log
 * reveals the cookie.
 *
 * The PKCE verifier is an HMAC of the nonce. A browser sees the nonce and the verifier's hash, and
 * cannot compute the verifier without the secret.
 */

/** The target of a flow. */
export interface FlowTarget {
  readonly installation: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
}

/** The values that a state is bound to, and the path that it leads back to. */
export interface FlowParts {
  /** Signing secret of the integration. */
  readonly signingSecret: string;
  readonly redirectURI: string;
  readonly clientId: string;
  readonly target: FlowTarget;
  /** Value of the flow's cookie. */
  readonly cookie: string;
  /**
   * Path of the handler below the endpoint, for the redirect URL that all installations share: the
   * platform sends the browser on to it.
   */
  readonly path: string;
}

interface State extends FlowTarget {
  readonly nonce: string;
  /** Hash of the cookie. */
  readonly browser: string;
  /** Hash of the client id. */
  readonly client: string;
  readonly path: string;
  /** Unix seconds. */
  readonly expires: number;
}

/** Seconds that a person may take at the provider. */
export const FLOW_SECONDS = 600;
/** A genuine state has about 300 characters. */
const STATE_CHARS_MAX = 2_048;
const SECRET_BYTES = 32;

/** Labels that separate the uses of the secret. Signed envelopes begin with a digit. */
const STATE_USE = 'annex oauth state 2';
const VERIFIER_USE = 'annex oauth verifier 1';

/** 256 random bits as base64url. */
export const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));

export const isRandomText = (text: string | undefined): text is string =>
  text !== undefined && /^[\w-]{43}$/.test(text);

/** Begins a flow. @returns `state` and `code_challenge` of the authorization request */
export async function beginFlow(parts: FlowParts): Promise<{ state: string; challenge: string }> {
  const nonce = randomText();
  const state: State = {
    ...parts.target,
    nonce,
    browser: await sha256(parts.cookie),
    client: await sha256(parts.clientId),
    path: parts.path,
    expires: Math.floor(Date.now() / 1_000) + FLOW_SECONDS,
  };
  const payload = base64url(new TextEncoder().encode(JSON.stringify(state)));
  const key = await hmacKey(parts.signingSecret);
  const signature = base64url(await crypto.subtle.sign('HMAC', key, signed(payload, parts)));
  return { state: `${payload}.${signature}`, challenge: await sha256(await verifierOf(key, nonce)) };
}

/** Reason for which a state is refused. */
export type StateFault = 'forged' | 'expired' | 'foreign' | 'another browser' | 'spent';

/**
 * Ends a flow. @returns the PKCE verifier and the digest by which the state is spent, or the fault
 */
export async function endFlow(
  text: string | undefined,
  parts: Omit<FlowParts, 'cookie' | 'path'> & { readonly cookie: string | undefined },
): Promise<{ readonly verifier: string; readonly digest: string } | { readonly fault: StateFault }> {
  const [payload = '', signature = '', ...rest] = (text ?? '').slice(0, STATE_CHARS_MAX).split('.');
  const key = await hmacKey(parts.signingSecret);
  const claimed = bytesOf(signature);
  // The payload is parsed only after its signature is verified, in constant time.
  const isOurs =
    claimed !== undefined &&
    rest.length === 0 &&
    (await crypto.subtle.verify('HMAC', key, claimed, signed(payload, parts)));
  const bytes = isOurs ? bytesOf(payload) : undefined;
  if (bytes === undefined) return { fault: 'forged' };
  const state = JSON.parse(new TextDecoder().decode(bytes)) as State;
  if (state.client !== (await sha256(parts.clientId))) return { fault: 'forged' };
  const { installation, space, site } = parts.target;
  const isForHere = state.installation === installation && state.space === space && state.site === site;
  if (!isForHere) return { fault: 'foreign' };
  if (Date.now() >= state.expires * 1_000) return { fault: 'expired' };
  // A hash may be compared as plain text: timing reveals only a prefix of it.
  if (parts.cookie === undefined || state.browser !== (await sha256(parts.cookie)))
    return { fault: 'another browser' };
  return { verifier: await verifierOf(key, state.nonce), digest: await sha256(state.nonce) };
}

/** The platform verifies it too, and does not know the client id (`src/model/oauth-state.ts`). */
const signed = (payload: string, { redirectURI }: Pick<FlowParts, 'redirectURI'>) =>
  new TextEncoder().encode(JSON.stringify([STATE_USE, payload, redirectURI]));

const hmacKey = (secret: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ]);

const verifierOf = async (key: CryptoKey, nonce: string): Promise<string> =>
  base64url(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`${VERIFIER_USE} ${nonce}`)));

/** In base64url, as S256 of PKCE (RFC 7636, section 4.2). */
export const sha256 = async (text: string): Promise<string> =>
  base64url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));

function base64url(bytes: ArrayBuffer | Uint8Array): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined;
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
