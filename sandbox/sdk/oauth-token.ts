/**
 * `getOAuthToken`: an access token that is good now, renewed if it has expired
 * (docs/contract/oauth.md#getoauthtoken).
 *
 * A provider that rotates refresh tokens takes an old one for a stolen one and revokes the
 * connection. So of all calls of the installation, one renews at a time: it holds the platform's
 * lease (docs/contract/oauth.md#leases), and reads the credentials again once it has the lease,
 * because another call may have renewed them since its environment was made.
 *
 * A lock in the isolate would not do: an installation can have several isolates, and a promise of
 * another call never settles if that call ends.
 */
import { ApiError } from './api.ts';
import type { ApiCredentialsLease } from './api-routes.ts';
import type { Context } from './context.ts';
import type { Installation } from './environment.ts';
import { ExposableError } from './exposable-error.ts';
import type { AccountConfiguration, Configuration, OAuthCredentials } from './manifest-types.ts';
import { targetRoutes } from './oauth.ts';
import {
  extracted,
  isText,
  type OAuthConfig,
  OAuthFailure,
  requestTokens,
  timeOf,
} from './oauth-provider.ts';

/** A token that expires within this time is renewed: the request that uses it takes time too. */
const MARGIN_MS = 30_000;
/** How long a call waits for the lease of another, and its first and longest pause. */
const WAIT_MS = 10_000;
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 1_000;
/** A rotated refresh token that cannot be stored is lost, and the connection with it. */
const STORE_ATTEMPTS = 8;

/** Token of each call by its context: a call renews once, however often its code asks. */
const tokens = new WeakMap<object, Promise<string>>();

/**
 * The access token of the call's target, or of the installation above it if the target has none. A
 * token that is good for 30 more seconds is returned as it is; another is renewed first.
 *
 * @param config the same object that `createOAuthHandler` was given
 * @param context context of the call
 * @returns the access token
 * @throws ExposableError with status 409 if nothing is connected, or the account has to be
 *   connected again; with status 503 if another call renews for more than 10 seconds, or the
 *   provider cannot renew now and the token has expired
 *
 * @example
 * const token = await getOAuthToken(config, context);
 * const headers = { authorization: `Bearer ${token}` };
 * const me = await fetch('https://provider.example/me', { headers });
 */
export function getOAuthToken<C extends Configuration = AccountConfiguration>(
  config: OAuthConfig<C>,
  context: Context<C>,
): Promise<string> {
  const known = tokens.get(context);
  if (known !== undefined) return known;
  const token = new Renewal(config, context).token();
  tokens.set(context, token);
  // After a failure, the code may ask again.
  token.catch(() => tokens.delete(context));
  return token;
}

type Routes = ReturnType<typeof targetRoutes>;

/** Credentials, and the routes of the target that has them. */
interface Stored {
  readonly credentials: GoodCredentials;
  readonly routes: Routes;
}

class Renewal<C extends Configuration> {
  readonly #config: OAuthConfig<C>;
  readonly #context: Context<C>;

  constructor(config: OAuthConfig<C>, context: Context<C>) {
    this.#config = config;
    this.#context = context;
  }

  async token(): Promise<string> {
    const stored = this.#stored();
    const installation = this.#context.environment.installation;
    if (stored === undefined || installation === undefined) throw unconnected('is not connected');
    if (isGood(stored.credentials, MARGIN_MS)) return stored.credentials.access_token;
    const leased = await this.#lease(stored.routes);
    const { lease, credentials } = leased;
    if (lease === undefined) return credentials.access_token;
    try {
      // Another call may have renewed them since this call's environment was made.
      if (isGood(credentials, MARGIN_MS)) return credentials.access_token;
      return await this.#renew({ credentials, routes: stored.routes }, installation, leased);
    } finally {
      await this.#release(stored.routes, lease);
    }
  }

  /** The most specific credentials of the environment. */
  #stored(): Stored | undefined {
    const { environment } = this.#context;
    const { installation, spaceInstallation, siteInstallation } = environment;
    const own = (spaceInstallation ?? siteInstallation)?.configuration as Partial<Configuration> | undefined;
    const below = credentialsOf(own?.['oauth_credentials']);
    if (below !== undefined) return { credentials: below, routes: targetRoutes(environment) };
    const above = credentialsOf(
      (installation?.configuration as Partial<Configuration>)?.['oauth_credentials'],
    );
    return above && { credentials: above, routes: targetRoutes({}) };
  }

  /**
   * Waits for the lease. Returns it with the present credentials, or the credentials alone if
   * another call has renewed them.
   */
  async #lease(routes: Routes): Promise<Leased> {
    const until = Date.now() + WAIT_MS;
    for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, PAUSE_MS_MAX)) {
      const { body, etag } = await this.#ask(routes);
      const credentials = credentialsOf(body.credentials);
      if (credentials === undefined) {
        if (body.lease !== undefined) await this.#release(routes, body.lease);
        throw unconnected('is not connected any more');
      }
      if (body.lease !== undefined) return { lease: body.lease, credentials, etag };
      if (isGood(credentials, MARGIN_MS)) return { credentials, etag };
      if (Date.now() >= until) throw unavailable('is being renewed');
      // Jitter, so that waiting calls do not all ask at once.
      await new Promise<void>((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
    }
  }

  async #ask(routes: Routes, lease?: string): Promise<{ body: ApiCredentialsLease; etag: string }> {
    const { body, headers } = await this.#context.api.request(`POST ${routes.lease}`, {
      body: lease === undefined ? {} : { lease },
    });
    return { body, etag: headers.get('etag') ?? '' };
  }

  /** A failure is only logged: the lease expires by itself. */
  async #release(routes: Routes, lease: string): Promise<void> {
    try {
      await this.#context.api.request(`DELETE ${routes.lease}/{lease}`, { path: { lease } });
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      console.warn(`OAuth: the lease on the credentials was not given back: ${cause.message}`);
    }
  }

  async #renew(
    { credentials, routes }: Stored,
    installation: Installation<C>,
    leased: Leased,
  ): Promise<string> {
    const { refresh_token } = credentials;
    if (!isText(refresh_token)) {
      await this.#reportLost(routes, leased);
      throw unconnected('has expired and cannot be renewed');
    }
    const { environment } = this.#context;
    let fresh: GoodCredentials;
    try {
      const grant = { grant_type: 'refresh_token', refresh_token };
      const answer = await requestTokens(this.#config, environment, installation, grant);
      fresh = renewed(credentials, (await extracted(this.#config, answer)).configuration.oauth_credentials);
    } catch (cause) {
      if (!(cause instanceof OAuthFailure)) throw cause;
      if (cause.isFinal) await this.#reportLost(routes, leased);
      return this.#unrenewed(credentials, cause);
    }
    return this.#store({ credentials: fresh, routes }, leased);
  }

  /**
   * The product hears that the account has to be connected again. A failure changes nothing for the
   * call, whose answer says the same.
   */
  async #reportLost(routes: Routes, { lease, etag }: Leased): Promise<void> {
    if (lease === undefined) return;
    try {
      const headers = { 'if-match': etag };
      await this.#context.api.request(`POST ${routes.lost}`, { body: { lease }, headers });
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
    }
  }

  /** Returns the old token while it is still good, and the provider cannot renew it. */
  #unrenewed(credentials: GoodCredentials, failure: OAuthFailure): string {
    const { cause } = failure;
    console.error(`OAuth: not renewed: ${failure.message}`, ...(cause instanceof Error ? [cause] : []));
    if (failure.isFinal) throw unconnected('has ended at the provider');
    if (isGood(credentials, 0)) return credentials.access_token;
    throw unavailable('cannot be renewed now');
  }

  /**
   * Stores renewed credentials, unless a person has connected another account meanwhile: then those
   * stay.
   *
   * @returns the access token of the credentials that are stored now
   */
  async #store({ credentials, routes }: Stored, leased: Leased): Promise<string> {
    const spent = leased.credentials.refresh_token;
    const token = credentials.access_token;
    let { etag } = leased;
    for (let attempt = 1; attempt <= STORE_ATTEMPTS; attempt += 1) {
      try {
        await this.#context.api.request(`PATCH ${routes.target}`, {
          query: { configuration: 'merge' },
          body: { configuration: { oauth_credentials: credentials } },
          headers: { 'if-match': etag },
        });
        return token;
      } catch (cause) {
        if (!(cause instanceof ApiError) || !isTransient(cause)) throw cause;
        if (cause.status !== 412) await new Promise<void>((resolve) => setTimeout(resolve, attempt * 250));
        const now = await this.#ask(routes, leased.lease);
        const present = credentialsOf(now.body.credentials);
        if (present === undefined) throw unconnected('is not connected any more');
        if (present.refresh_token !== spent) return present.access_token;
        etag = now.etag;
      }
    }
    console.error(
      'OAuth: the renewed credentials could not be stored; the connection may have to be made again',
    );
    return token;
  }
}

/**
 * Whether another attempt may succeed. Attack on 429: anyone who can make the integration edit,
 * such as the sender of its webhooks, uses up the rate, so that renewed credentials are refused and
 * lost.
 */
const isTransient = ({ status }: ApiError): boolean => status >= 500 || status === 412 || status === 429;

type GoodCredentials = OAuthCredentials & { readonly access_token: string };

interface Leased {
  readonly lease?: string;
  readonly credentials: GoodCredentials;
  readonly etag: string;
}

function credentialsOf(value: unknown): GoodCredentials | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const credentials = value as OAuthCredentials;
  return typeof credentials.access_token === 'string' ? (credentials as GoodCredentials) : undefined;
}

/** A token without an expiry counts as good. */
function isGood({ expires_at }: OAuthCredentials, marginMs: number): boolean {
  const at = timeOf(expires_at);
  return at === undefined || at > Date.now() + marginMs;
}

/**
 * Members that the provider leaves out, or leaves empty, keep their values, except `expires_at`:
 * the old one would make the new token look expired.
 *
 * @throws OAuthFailure without a new access token: the old one would look like one that lasts
 */
function renewed({ expires_at, ...before }: GoodCredentials, after: OAuthCredentials): GoodCredentials {
  if (!isText(after.access_token))
    throw new OAuthFailure('the renewal gave no access token', { isFinal: true });
  const given = Object.entries(after).filter(
    ([name, value]) => value !== undefined && value !== null && (name !== 'refresh_token' || value !== ''),
  );
  return { ...before, ...Object.fromEntries(given) };
}

const unconnected = (what: string): ExposableError =>
  new ExposableError(`The connection ${what}. Connect the integration again in its settings.`, 409);

const unavailable = (what: string): ExposableError =>
  new ExposableError(`The connection ${what}. Try again in a moment.`, 503);
