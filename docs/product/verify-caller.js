// Verifies the statement that Annex sends with each call to the product's API. The keys are fetched
// once and kept; a request is verified without asking Annex.
import { createRemoteJWKSet, jwtVerify } from 'jose';

/**
 * @param {object} settings
 * @param {string} settings.annex URL of the control listener, as the product reaches it
 * @param {string} settings.issuer the value of --api-url
 * @param {string} settings.audience the value of --product-api
 */
export function callerVerifier({ annex, issuer, audience }) {
  const keys = createRemoteJWKSet(new URL('/v1/.well-known/jwks.json', annex), { cacheMaxAge: 300_000 });
  const options = { issuer, audience, algorithms: ['EdDSA'], clockTolerance: 5 };
  return async (/** @type {import('node:http').IncomingHttpHeaders} */ headers) => {
    const { payload } = await jwtVerify(String(headers['x-platform-caller']), keys, options);
    return payload;
  };
}

/**
 * Whether the caller may read the content of a space. A scope alone is not enough: the space must
 * belong to the organization that installed.
 *
 * @param {import('jose').JWTPayload} caller
 * @param {{ organization: string }} space
 */
export const mayRead = (caller, space) =>
  caller.kind === 'installation' &&
  Array.isArray(caller.scopes) &&
  caller.scopes.includes('space:content:read') &&
  caller.organization === space.organization;
