/**
 * Builds the public URL of an endpoint (`docs/contract/endpoints.md#urls`). All endpoints share one
 * origin, `{public URL}/{endpoint key}`, unless the public URL has `{endpoint}` as the first label
 * of its host: then each endpoint has its own origin, and the path of the public URL. Pure.
 */

/** Stands for the endpoint key in a public URL. */
export const ENDPOINT_PLACEHOLDER = '{endpoint}';

/** Whether each endpoint has an origin of its own. */
export const hasOwnOrigins = (publicUrl: string): boolean => publicUrl.includes(ENDPOINT_PLACEHOLDER);

/** @param publicUrl without a trailing slash @returns the endpoint's URL, without one */
export const endpointUrl = (publicUrl: string, endpointKey: string): string =>
  hasOwnOrigins(publicUrl)
    ? publicUrl.replace(ENDPOINT_PLACEHOLDER, endpointKey)
    : `${publicUrl}/${endpointKey}`;

/**
 * The URL of envelopes as a module worker sees it: the endpoint's origin and exactly the path of
 * the version. Bundles take the version from the whole path.
 *
 * @param endpoint absolute URL of an endpoint
 */
export const envelopeUrl = (endpoint: string): string => {
  const pathAt = endpoint.indexOf('/', endpoint.indexOf('//') + 2);
  return `${pathAt === -1 ? endpoint : endpoint.slice(0, pathAt)}/v1`;
};

/** The part of an endpoint's URL after the host; empty if there is none. */
export const endpointPath = (endpoint: string): string => {
  const pathAt = endpoint.indexOf('/', endpoint.indexOf('//') + 2);
  return pathAt === -1 ? '' : endpoint.slice(pathAt);
};
