/**
 * The `state` of an authorization request, and what else of the flow is made of the integration's signing secret
 * (REFERENCE 6). Nothing of a flow is stored before it comes back: the callback may be answered by another isolate than its beginning.
 * Then its digest is, by the platform, so that a state is good once.
 *
 * What the signature keeps away: a `state` that somebody made up, one of another installation, space or site, and one that is
 * over. It covers the redirect URI and the client as well, so that the answer of one provider is not taken for that of
 * another, where an integration speaks with two (the mix-up attack).
 *
 * What the browser's cookie keeps away: an attacker who begins a flow, signs in with an account of their own, and has
 * somebody else's browser finish it, so that the installation works with the attacker's account (login CSRF). The state
 * holds a hash of the cookie, so neither the state nor a log that it stands in gives the cookie away.
 *
 * The PKCE verifier is made of the nonce and the secret. A browser sees the nonce, in the state, and the verifier's hash; to
 * make the verifier of either it would need the secret.
 */

/** What a flow is for. */
export interface FlowTarget {
  readonly installation: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
}

/** What a state is held to, besides its own signature. */
export interface FlowParts {
  /** The integration's own. */
  readonly signingSecret: string;
  readonly redirectURI: string;
  readonly clientId: string;
  readonly target: FlowTarget;
  /** What the browser keeps. */
  readonly cookie: string;
}

interface State extends FlowTarget {
  readonly nonce: string;
  /** Hash of the cookie. */
  readonly browser: string;
  /** Unix seconds. */
  readonly expires: number;
}

/** How long a person may take at the provider. */
export const FLOW_SECONDS = 600;
/** One of ours has some 300. */
const STATE_CHARS = 2_048;
const SECRET_BYTES = 32;

/** The labels keep the uses of the one secret apart; webhooks sign what begins with a digit. */
const STATE_USE = 'annex oauth state 1';
const VERIFIER_USE = 'annex oauth verifier 1';

/** 256 random bits. */
export const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));

export const isRandomText = (text: string | undefined): text is string =>
  text !== undefined && /^[\w-]{43}$/.test(text);

/** Begins a flow. @returns what goes into the authorization request */
export async function beginFlow(parts: FlowParts): Promise<{ state: string; challenge: string }> {
  const nonce = randomText();
  const state: State = {
    ...parts.target,
    nonce,
    browser: await sha256(parts.cookie),
    expires: Math.floor(Date.now() / 1_000) + FLOW_SECONDS,
  };
  const payload = base64url(new TextEncoder().encode(JSON.stringify(state)));
  const key = await hmacKey(parts.signingSecret);
  const signature = base64url(await crypto.subtle.sign('HMAC', key, signed(payload, parts)));
  return { state: `${payload}.${signature}`, challenge: await sha256(await verifierOf(key, nonce)) };
}

/** Why a state is refused. */
export type StateFault = 'forged' | 'expired' | 'foreign' | 'another browser' | 'spent';

/** Ends a flow. @returns the PKCE verifier and what the state is spent by, or why it is not believed */
export async function endFlow(
  text: string | undefined,
  parts: Omit<FlowParts, 'cookie'> & { readonly cookie: string | undefined },
): Promise<{ readonly verifier: string; readonly digest: string } | { readonly fault: StateFault }> {
  const [payload = '', signature = '', ...rest] = (text ?? '').slice(0, STATE_CHARS).split('.');
  const key = await hmacKey(parts.signingSecret);
  const claimed = bytesOf(signature);
  // Nothing of it is read before it is known to be ours; `verify` takes the same time whatever is wrong.
  const isOurs =
    claimed !== undefined &&
    rest.length === 0 &&
    (await crypto.subtle.verify('HMAC', key, claimed, signed(payload, parts)));
  const bytes = isOurs ? bytesOf(payload) : undefined;
  if (bytes === undefined) return { fault: 'forged' };
  const state = JSON.parse(new TextDecoder().decode(bytes)) as State;
  const { installation, space, site } = parts.target;
  const isForHere = state.installation === installation && state.space === space && state.site === site;
  if (!isForHere) return { fault: 'foreign' };
  if (Date.now() >= state.expires * 1_000) return { fault: 'expired' };
  // A hash, so it may be compared like any other text: to make one that begins as it does helps nobody.
  if (parts.cookie === undefined || state.browser !== (await sha256(parts.cookie)))
    return { fault: 'another browser' };
  return { verifier: await verifierOf(key, state.nonce), digest: await sha256(state.nonce) };
}

const signed = (payload: string, { redirectURI, clientId }: Pick<FlowParts, 'redirectURI' | 'clientId'>) =>
  new TextEncoder().encode(JSON.stringify([STATE_USE, payload, redirectURI, clientId]));

const hmacKey = (secret: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ]);

const verifierOf = async (key: CryptoKey, nonce: string): Promise<string> =>
  base64url(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`${VERIFIER_USE} ${nonce}`)));

/** As PKCE has its S256 (RFC 7636, section 4.2). */
const sha256 = async (text: string): Promise<string> =>
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
