/**
 * Headers and conditions of a published script on the public listener
 * (docs/contract/published-scripts.md#script).
 *
 * Attack: a script that browsers of a site load, and with it headers of the code: cookies, a type
 * that makes it a page, a policy for the origin. All headers are the host's own.
 */
import type { PublishedScript } from '../../calls/published-scripts.ts';

/** How long browsers use a script without asking again. */
const MAX_AGE_S = 300;

export const scriptHeaders = ({ tag }: PublishedScript): Record<string, string> => ({
  'content-type': 'text/javascript; charset=utf-8',
  'x-content-type-options': 'nosniff',
  // A site is another origin than the endpoint.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': `public, max-age=${MAX_AGE_S}`,
  etag: tag,
});

/** Whether `If-None-Match` names the script. A malformed header names nothing. */
export const isKnownScript = (header: string | undefined, { tag }: PublishedScript): boolean =>
  header !== undefined && (header.trim() === '*' || header.split(',').some((one) => isTag(one, tag)));

const isTag = (one: string, tag: string): boolean => one.trim().replace(/^W\//, '') === tag;
