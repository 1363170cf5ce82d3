/** Who has signed in. The cookie is the browser's alone; the page knows what the service says of it. */
import { signal } from '@preact/signals';
import { ApiError, ask } from './api.ts';

export interface Session {
  readonly kind: 'admin' | 'platform' | 'organization';
  readonly organization?: string;
}

const PATH = '/console/session';

/** Undefined until it is known, null for nobody. */
export const session = signal<Session | null | undefined>(undefined);

export const signedOut = (): void => {
  session.value = null;
};

/** @throws ApiError for a token that is none, or a link that was used */
export async function signIn(token: string): Promise<void> {
  session.value = await ask<Session>(PATH, { method: 'POST', token });
}

export async function signOut(): Promise<void> {
  await ask(PATH, { method: 'DELETE' });
  signedOut();
}

/**
 * Finds out who has signed in. A link has a token for one use in its fragment, which no server sees;
 * it leaves the address at once.
 *
 * @returns why a link did not sign in
 */
export async function begin(): Promise<string | undefined> {
  const link = new URLSearchParams(location.hash.slice(1)).get('sign-in');
  if (link !== null) {
    history.replaceState(undefined, '', location.pathname);
    const refused = await signIn(link).then(
      () => undefined,
      (cause: Error) => cause,
    );
    if (refused === undefined) return undefined;
    await current();
    return refused instanceof ApiError && refused.status === 401
      ? 'This link was used, or is too old. Sign in with a token.'
      : refused.message;
  }
  await current();
  return undefined;
}

async function current(): Promise<void> {
  const answer = await ask<Partial<Session>>(PATH).catch(() => undefined);
  session.value = answer?.kind === undefined ? null : { ...answer, kind: answer.kind };
}
