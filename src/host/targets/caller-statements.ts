/**
 * Statements to the product's API: a JWT that says whose code sends a request
 * (docs/contract/api.md#the-products-api). The product verifies it offline with the public keys.
 *
 * A statement says who calls and not what is asked, so it is as true of the next request with the
 * same runtime token as of this one. So the requests of one token share a statement for half of its
 * life, and only its first request costs a signature. Nothing is shared between two tokens: the
 * token is the key of the cache. The token itself is verified at every request, before this.
 */
import { entryCache } from '../../model/entry-cache.ts';
import { base64url, type RandomBytes } from '../../model/identifiers.ts';
import type { RuntimeClaims } from '../../model/runtime-token-format.ts';
import type { StatementKeys } from '../store/statement-keys.ts';
import type { RuntimeGrant } from './runtime-tokens.ts';
import type { Origins } from './target-resolver.ts';

/** Life of a statement. */
const LIFE_S = 60;
/** How long requests share a statement: each one is valid for at least the other half. */
const SHARED_MS = (LIFE_S * 1_000) / 2;
const STATEMENTS_CACHED = 5_000;
const JTI_BYTES = 16;

export interface CallerStatementsDeps {
  readonly keys: Pick<StatementKeys, 'signing'>;
  /** The organization that owns an integration; undefined if there is none of this name. */
  ownerOf(integration: string): Promise<string | undefined>;
  readonly origins: Pick<Origins, 'apiUrl'>;
  /** The base URL of the product's API. */
  readonly audience: string;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
}

interface Shared {
  readonly kid: string;
  readonly until: number;
  readonly text: Promise<string>;
}

export class CallerStatements {
  readonly #deps: CallerStatementsDeps;
  readonly #shared = entryCache<Shared>(STATEMENTS_CACHED);

  constructor(deps: CallerStatementsDeps) {
    this.#deps = deps;
  }

  /** @param grant what the token, which is valid, grants */
  async statement(token: string, grant: RuntimeGrant): Promise<string> {
    const now = this.#deps.wallNow();
    const { kid, key } = await this.#deps.keys.signing();
    const shared = this.#shared.get(token);
    // A key that was withdrawn signs no more, and its statements are not sent any more.
    if (shared !== undefined && shared.kid === kid && now < shared.until) return shared.text;
    const text = this.#claims(grant).then((claims) => this.#sign(claims, { kid, key }, now));
    this.#shared.set(token, { kid, until: now + SHARED_MS, text });
    text.catch(() => this.#shared.delete(token));
    return text;
  }

  async #claims({ claims, organization }: RuntimeGrant): Promise<Record<string, unknown>> {
    const { kind, integration, version, scopes } = claims;
    const of = organization ?? (await this.#deps.ownerOf(integration));
    return { kind, integration, version, ...placeOf(claims), organization: of, scopes };
  }

  async #sign(
    claims: Record<string, unknown>,
    { kid, key }: Awaited<ReturnType<StatementKeys['signing']>>,
    now: number,
  ): Promise<string> {
    const { origins, audience, randomBytes } = this.#deps;
    const issuedAt = Math.floor(now / 1_000);
    // Loaded here: most services have no such API.
    const { SignJWT } = await import('jose');
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'JWT' })
      .setIssuer(origins.apiUrl)
      .setAudience(audience)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + LIFE_S)
      .setJti(base64url(randomBytes(JTI_BYTES)))
      .sign(key);
  }
}

function placeOf(claims: RuntimeClaims): Record<string, string> {
  if (claims.kind === 'integration') return {};
  const { installationId: installation, level, place } = claims.target;
  return { installation, ...(level !== 'organization' && { [level]: place }) };
}
