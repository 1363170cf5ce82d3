/**
 * `getOAuthToken`: an access token that is good now, renewed where it is over (REFERENCE 6).
 *
 * Providers that hand out a new refresh token each time take an old one that comes again for a stolen one, and revoke the
 * connection. So one call renews at a time, of all calls of the installation: it holds the platform's lease meanwhile, and
 * reads the credentials anew once it has it, because another may have renewed them since this call was handed its
 * environment.
 *
 * What is shared within an isolate is not enough, since an installation can have several at once; nor would it be right: a
 * promise of another call is settled by that call's work, and never settles if the call ends.
 */
import { ApiError } from './api.ts';
import type { ApiCredentialsLease } from './api-routes.ts';
import type { Context } from './context.ts';
import type { Installation } from './environment.ts';
import { ExposableError } from './exposable-error.ts';
import type { AccountConfiguration, Configuration, OAuthCredentials } from './manifest-types.ts';
import { targetRoutes } from './oauth.ts';
import { extracted, type OAuthConfig, OAuthFailure, requestTokens } from './oauth-provider.ts';

/** A token is renewed while it is still good for this long: it has yet to get to where it is used. */
const MARGIN_MS = 30_000;
/** How long a call waits for another that is renewing, and its first and longest pause. */
const WAIT_MS = 10_000;
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 1_000;
/** A rotated refresh token that is not stored is lost, and the connection with it. */
const STORE_ATTEMPTS = 8;
/** Times below this are seconds: as milliseconds they would be in 1973. */
const SECONDS_BELOW = 100_000_000_000;

/** One call asks once, however often its code does. */
const asked = new WeakMap<object, Promise<string>>();

/**
 * The access token of this call's target, or of the installation that it is part of: as it is while it is good, and renewed
 * otherwise.
 *
 * @param config what `createOAuthHandler` was given
 * @throws ExposableError with status 409 where nothing is connected, or has to be connected again; 503 where another call is
 *   renewing and takes too long, or the provider cannot be asked now
 *
 * @example
 * const token = await getOAuthToken(config, context);
 * const me = await fetch('https://provider.example/me', { headers: { authorization: `Bearer ${token}` } });
 */
export function getOAuthToken<C extends Configuration = AccountConfiguration>(
  config: OAuthConfig<C>,
  context: Context<C>,
): Promise<string> {
  const known = asked.get(context);
  if (known !== undefined) return known;
  const token = new Renewal(config, context).token();
  asked.set(context, token);
  // What failed may be tried again.
  token.catch(() => asked.delete(context));
  return token;
}

type Routes = ReturnType<typeof targetRoutes>;

/** Credentials, where they are kept. */
interface Kept {
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
    const kept = this.#kept();
    const installation = this.#context.environment.installation;
    if (kept === undefined || installation === undefined) throw unconnected('is not connected');
    if (isGood(kept.credentials, MARGIN_MS)) return kept.credentials.access_token;
    const leased = await this.#lease(kept.routes);
    const { lease, credentials } = leased;
    if (lease === undefined) return credentials.access_token;
    try {
      // Another may have renewed them since this call was given its environment.
      if (isGood(credentials, MARGIN_MS)) return credentials.access_token;
      return await this.#renew({ credentials, routes: kept.routes }, installation, leased);
    } finally {
      await this.#release(kept.routes, lease);
    }
  }

  /** The most specific that there are. */
  #kept(): Kept | undefined {
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
   * Waits for its turn. Comes back with the lease and the credentials as they are now, or without it, where they have been
   * renewed meanwhile.
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
      // Those that wait do not all come back at once.
      await new Promise<void>((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
    }
  }

  async #ask(routes: Routes, lease?: string): Promise<{ body: ApiCredentialsLease; etag: string }> {
    const { body, headers } = await this.#context.api.request(`POST ${routes.lease}`, {
      body: lease === undefined ? {} : { lease },
    });
    return { body, etag: headers.get('etag') ?? '' };
  }

  /** One that is not given back is over with time; what the call came for is worth more than that. */
  async #release(routes: Routes, lease: string): Promise<void> {
    try {
      await this.#context.api.request(`DELETE ${routes.lease}/{lease}`, { path: { lease } });
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      console.warn(`OAuth: the lease on the credentials was not given back: ${cause.message}`);
    }
  }

  async #renew(
    { credentials, routes }: Kept,
    installation: Installation<C>,
    leased: Leased,
  ): Promise<string> {
    const { refresh_token } = credentials;
    if (typeof refresh_token !== 'string') throw unconnected('has expired and cannot be renewed');
    const { environment } = this.#context;
    let fresh: GoodCredentials;
    try {
      const grant = { grant_type: 'refresh_token', refresh_token };
      const answer = await requestTokens(this.#config, environment, installation, grant);
      fresh = renewed(credentials, (await extracted(this.#config, answer)).configuration.oauth_credentials);
    } catch (cause) {
      if (!(cause instanceof OAuthFailure)) throw cause;
      return this.#unrenewed(credentials, cause);
    }
    return this.#store({ credentials: fresh, routes }, leased);
  }

  /** What is good for a little while yet is used while the provider has its troubles. */
  #unrenewed(credentials: GoodCredentials, failure: OAuthFailure): string {
    const { cause } = failure;
    console.error(`OAuth: not renewed: ${failure.message}`, ...(cause instanceof Error ? [cause] : []));
    if (failure.word === 'invalid_grant') throw unconnected('has ended at the provider');
    if (isGood(credentials, 0)) return credentials.access_token;
    throw unavailable('cannot be renewed now');
  }

  /**
   * Stores what was renewed, unless somebody has connected another account meanwhile: what they have chosen stays.
   *
   * @returns the access token that is in force then
   */
  async #store({ credentials, routes }: Kept, leased: Leased): Promise<string> {
    const spent = leased.credentials.refresh_token;
    const token = credentials.access_token;
    let { etag } = leased;
    for (let attempt = 1; attempt <= STORE_ATTEMPTS; attempt += 1) {
      try {
        await this.#context.api.request(`PATCH ${routes.target}`, {
          body: { configuration: { oauth_credentials: credentials } },
          headers: { 'if-match': etag },
        });
        return token;
      } catch (cause) {
        if (!(cause instanceof ApiError) || !isPassing(cause)) throw cause;
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
 * What another attempt may get past. 429 is of it. The attack: whoever can have the integration edit, with webhooks for
 * instance, does it so often that what was renewed is refused, and the connection is lost.
 */
const isPassing = ({ status }: ApiError): boolean => status >= 500 || status === 412 || status === 429;

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

/** Without a time it is good until the provider says otherwise, which nobody here hears. */
function isGood({ expires_at }: OAuthCredentials, marginMs: number): boolean {
  if (typeof expires_at !== 'number') return true;
  const at = expires_at < SECONDS_BELOW ? expires_at * 1_000 : expires_at;
  return at > Date.now() + marginMs;
}

/** What a provider leaves out stays as it was, but for the time: an old one would make every token seem over. */
function renewed({ expires_at, ...before }: GoodCredentials, after: OAuthCredentials): GoodCredentials {
  const given = Object.entries(after).filter(([, value]) => value !== undefined && value !== null);
  return { ...before, ...Object.fromEntries(given) };
}

const unconnected = (what: string): ExposableError =>
  new ExposableError(`The connection ${what}. Connect the integration again in its settings.`, 409);

const unavailable = (what: string): ExposableError =>
  new ExposableError(`The connection ${what}. Try again in a moment.`, 503);
