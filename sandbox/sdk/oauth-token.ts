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
  clientGrant,
  extracted,
  isText,
  type OAuthClientCredentials,
  type OAuthConfig,
  OAuthFailure,
  requestTokens,
  timeOf,
} from './oauth-provider.ts';
import { sha256 } from './signed-state.ts';

/** A token that expires within this time is renewed: the request that uses it takes time too. */
const MARGIN_MS = 30_000;
/** How long a call waits for the lease of another, and its first and longest pause. */
const WAIT_MS = 10_000;
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 1_000;
/** A rotated refresh token that cannot be stored is lost, and the connection with it. */
const STORE_ATTEMPTS = 8;

/**
 * Forced renewals of a target: one in each minute of the clock. Attack: code in a loop of refusals
 * and renewals, for which the provider blocks the client.
 */
const FRESH_MS = 60_000;

/** Token of each call by its context: a call renews once, however often its code asks. */
const tokens = new WeakMap<object, { readonly token: Promise<string>; readonly isFresh: boolean }>();

/** The third parameter of `getOAuthToken`. */
export interface OAuthTokenOptions {
  /**
   * Renews a token that should be good, because the provider has refused it. Where another call
   * has renewed it already, that token is returned; within a minute of another forced renewal, the
   * present one.
   */
  readonly fresh?: boolean;
}

/**
 * The access token of the call's target, or of the installation above it if the target has none. A
 * token that is good for 30 more seconds is returned as it is; another is renewed first.
 *
 * @param config the same object that `createOAuthHandler` was given
 * @param context context of the call
 * @param options whether a token that should be good is renewed
 * @returns the access token
 * @throws ExposableError with status 409 if nothing is connected, or the account has to be
 *   connected again; with status 503 if another call renews for more than 10 seconds, or the
 *   provider cannot renew now and the token has expired
 *
 * @example
 * const me = async (options?: OAuthTokenOptions) => {
 *   const token = await getOAuthToken(config, context, options);
 *   return fetch('https://provider.example/me', { headers: { authorization: `Bearer ${token}` } });
 * };
 * let answer = await me();
 * if (answer.status === 401) answer = await me({ fresh: true });
 */
export function getOAuthToken<C extends Configuration = AccountConfiguration>(
  config: OAuthConfig<C> | OAuthClientCredentials<C>,
  context: Context<C>,
  { fresh: isFresh = false }: OAuthTokenOptions = {},
): Promise<string> {
  const known = tokens.get(context);
  if (known !== undefined && (known.isFresh || !isFresh)) return known.token;
  const renewal = new Renewal(config, context);
  const token = isFresh ? renewal.freshToken(known?.token) : renewal.token();
  tokens.set(context, { token, isFresh });
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

/** Stands for the credentials of a client that has asked for none yet. */
const NONE: GoodCredentials = { access_token: '', expires_at: 1 };

class Renewal<C extends Configuration> {
  readonly #config: OAuthConfig<C> | OAuthClientCredentials<C>;
  readonly #context: Context<C>;

  constructor(config: OAuthConfig<C> | OAuthClientCredentials<C>, context: Context<C>) {
    this.#config = config;
    this.#context = context;
  }

  /** @param refused a token that counts as over, whatever its expiry is */
  async token(refused?: string): Promise<string> {
    const stored = this.#stored();
    const installation = this.#context.environment.installation;
    if (stored === undefined || installation === undefined) throw unconnected('is not connected');
    const { routes } = stored;
    const isUsable = (credentials: GoodCredentials) =>
      isGood(credentials, MARGIN_MS) && credentials.access_token !== refused;
    if (isUsable(stored.credentials)) return stored.credentials.access_token;
    const leased = await this.#lease(routes, isUsable);
    const { lease, credentials } = leased;
    if (lease === undefined) return credentials.access_token;
    try {
      // Another call may have renewed them since this call's environment was made.
      if (isUsable(credentials)) return credentials.access_token;
      const isForced = isGood(credentials, MARGIN_MS);
      if (isForced && !(await this.#mayForce(routes))) return credentials.access_token;
      return await this.#renew({ credentials, routes }, installation, leased, isForced);
    } finally {
      await this.#release(routes, lease);
    }
  }

  /** @param known the token that this call has got before */
  async freshToken(known: Promise<string> | undefined): Promise<string> {
    const got = await known?.catch(() => undefined);
    return this.token(got ?? this.#stored()?.credentials.access_token);
  }

  /** Whether this is the first forced renewal of the minute. */
  async #mayForce(routes: Routes): Promise<boolean> {
    const digest = await sha256(`fresh token ${Math.floor(Date.now() / FRESH_MS)}`);
    try {
      return (await this.#context.api.request(`POST ${routes.states}`, { body: { digest } })).body.isFirst;
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      return false;
    }
  }

  /** The most specific credentials of the environment. */
  #stored(): Stored | undefined {
    const { environment } = this.#context;
    const { installation, spaceInstallation, siteInstallation } = environment;
    const own = (spaceInstallation ?? siteInstallation)?.configuration as Partial<Configuration> | undefined;
    const below = credentialsOf(own?.['oauth_credentials']);
    if (below !== undefined) return { credentials: below, routes: targetRoutes(environment) };
    const above = this.#orNone(
      (installation?.configuration as Partial<Configuration>)?.['oauth_credentials'],
    );
    return above && { credentials: above, routes: targetRoutes({}) };
  }

  /** A client needs nobody to connect it. */
  #orNone(credentials: unknown): GoodCredentials | undefined {
    return credentialsOf(credentials) ?? (this.#config.grant === 'client_credentials' ? NONE : undefined);
  }

  /**
   * Waits for the lease. Returns it with the present credentials, or the credentials alone if
   * another call has renewed them.
   */
  async #lease(routes: Routes, isUsable: (credentials: GoodCredentials) => boolean): Promise<Leased> {
    const until = Date.now() + WAIT_MS;
    for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, PAUSE_MS_MAX)) {
      const { body, etag } = await this.#ask(routes);
      const credentials = this.#orNone(body.credentials);
      if (credentials === undefined) {
        if (body.lease !== undefined) await this.#release(routes, body.lease);
        throw unconnected('is not connected any more');
      }
      if (body.lease !== undefined) return { lease: body.lease, credentials, etag };
      if (isUsable(credentials)) return { credentials, etag };
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
    isForced: boolean,
  ): Promise<string> {
    const { refresh_token } = credentials;
    const grant =
      this.#config.grant === 'client_credentials'
        ? clientGrant(this.#config)
        : isText(refresh_token) && { grant_type: 'refresh_token', refresh_token };
    if (grant === false) {
      if (!isForced) await this.#reportLost(routes, leased);
      throw unconnected(isForced ? 'cannot be renewed' : 'has expired and cannot be renewed');
    }
    const { environment } = this.#context;
    let fresh: GoodCredentials;
    try {
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
    const before = leased.credentials.access_token;
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
        const present = this.#orNone(now.body.credentials);
        if (present === undefined) throw unconnected('is not connected any more');
        if (present.access_token !== before) return present.access_token || token;
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
