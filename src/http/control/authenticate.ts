/**
 * Who is calling: the bearer token of a request (RFC 6750) becomes its principal.
 *
 * Runs before the body is read, so that a caller without a token cannot make the host take an upload. What the principal
 * may do is decided route by route.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AnnexError } from '../../errors.ts';
import type { Principal } from '../../model/principal.ts';
import { bearerToken, type Credentials } from '../credentials.ts';

const PRINCIPAL = 'principal';

/** Demands a token for every route of this instance and of those below it. */
export function authenticate(app: FastifyInstance, credentials: Credentials): void {
  app.decorateRequest(PRINCIPAL);
  app.addHook('onRequest', async (request) => {
    const token = bearerToken(request.raw);
    if (token === undefined) {
      throw new AnnexError('TOKEN_MISSING', 'Send a token: "Authorization: Bearer <token>".');
    }
    const principal = await credentials.principal(request.raw, token);
    if (principal === undefined) throw new AnnexError('TOKEN_INVALID', 'The token is unknown or revoked.');
    request.setDecorator(PRINCIPAL, principal);
  });
}

/** The principal of a request that went through `authenticate`. */
export const principalOf = (request: FastifyRequest): Principal => request.getDecorator<Principal>(PRINCIPAL);

/** For what the operator alone may do. @throws `TOKEN_FORBIDDEN` */
export function requireAdmin(request: FastifyRequest): void {
  const { kind } = principalOf(request);
  if (kind === 'admin') return;
  throw new AnnexError(
    'TOKEN_FORBIDDEN',
    `This needs an admin token; the request came with one of kind ${kind}.`,
  );
}
