/**
 * Builds the public URL of an endpoint (`docs/contract/endpoints.md#urls`). All endpoints share one
 * origin, `{public URL}/{endpoint key}`, unless the public URL has `{endpoint}` as the first label
 * of its host: then each endpoint has its own origin. Pure.
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
