/**
 * Where an endpoint lies in the world (`docs/contract/endpoints.md#urls`): below one origin that
 * all share, `{public URL}/{endpoint key}`, or, where the public URL has `{endpoint}` as the first
 * label of its host, on an origin of its own. Pure: text in, text out.
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
