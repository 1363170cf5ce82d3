/**
 * The `urls` of an integration and of its targets (`docs/contract/environment.md#urls`): endpoints,
 * the record in the API, images, and the page for people. Pure.
 */
import { endpointUrl } from './endpoint-url.ts';
import type { TargetName } from './installation.ts';

/** The base URLs that all others begin with, without a trailing slash. */
export interface UrlBases {
  /** Of the public listener; `endpointUrl` derives endpoints from it. */
  readonly publicUrl: string;
  /** The same for the origin without cookies; equal to `publicUrl` where there is none. */
  readonly contentUrl: string;
  /** Of the control API, as integrations and browsers reach it: `apiEndpoint` with its version. */
  readonly apiUrl: string;
  /** Of the host product's pages for people; empty if it is not known. */
  readonly appUrl: string;
  /** Of the redirect URLs of OAuth; empty or absent where the operator offers none. */
  readonly oauthUrl?: string;
}

/** Both URLs of one endpoint. */
export interface EndpointUrls {
  readonly publicEndpoint: string;
  /** On the origin without cookies; the public endpoint where there is none. */
  readonly publicContentEndpoint: string;
}

/** The organization that owns an integration. The product has organizations, Annex their ids. */
export interface Owner {
  readonly object: 'organization';
  readonly id: string;
  /** The id, where no sender of an envelope says another. */
  readonly title: string;
  /** Its record in the product's API, and its page. */
  readonly urls: Pick<TargetUrls, 'location' | 'app'>;
}

/** URLs of a target. */
export interface TargetUrls extends EndpointUrls {
  /** Its record in the API. */
  readonly location: string;
  /** Its page in the host product; absent where the service does not know the product. */
  readonly app?: string;
}

/** URLs of an integration. */
export interface IntegrationUrls extends TargetUrls {
  /** Absent where the manifest has no icon. */
  readonly icon?: string;
  /** The folder of its images, as the upload has it: public, on the public listener. */
  readonly assets: string;
  /** The redirect URL for OAuth of all installations; absent where the operator offers none. */
  readonly oauthCallback?: string;
}

export const endpointUrls = (
  { publicUrl, contentUrl }: Pick<UrlBases, 'publicUrl' | 'contentUrl'>,
  endpointKey: string,
): EndpointUrls => ({
  publicEndpoint: endpointUrl(publicUrl, endpointKey),
  publicContentEndpoint: endpointUrl(contentUrl, endpointKey),
});

/** @param endpointKey of the integration's own endpoint @param icon path in the manifest */
export function integrationUrls(
  bases: UrlBases,
  {
    name,
    endpointKey,
    icon,
  }: { readonly name: string; readonly endpointKey: string; readonly icon?: string },
): IntegrationUrls {
  return {
    ...located(bases, `/integrations/${name}`),
    ...(icon !== undefined && { icon: imageUrl(bases, endpointKey, icon) }),
    assets: assetsUrl(bases, endpointKey),
    ...endpointUrls(bases, endpointKey),
    ...(bases.oauthUrl && { oauthCallback: oauthCallbackUrl(bases.oauthUrl, name) }),
  };
}

export const ownerOf = (bases: UrlBases, organization: string): Owner => ({
  object: 'organization',
  id: organization,
  title: organization,
  urls: located(bases, `/organizations/${organization}`),
});

/** The redirect URL of an integration. @param oauthUrl base of all redirect URLs */
export const oauthCallbackUrl = (oauthUrl: string, integration: string): string =>
  `${oauthUrl}/oauth/${integration}/callback`;

export function targetUrls(
  bases: UrlBases,
  target: TargetName & { readonly integration: string; readonly endpointKey: string },
): TargetUrls {
  const { integration, installationId, level, place, endpointKey } = target;
  const whole = `/integrations/${integration}/installations/${installationId}`;
  const path = level === 'organization' ? whole : `${whole}/${level}s/${encodeURIComponent(place)}`;
  return { ...located(bases, path), ...endpointUrls(bases, endpointKey) };
}

/** The page for people has the path of the record. */
const located = ({ apiUrl, appUrl }: UrlBases, path: string): Pick<TargetUrls, 'location' | 'app'> => ({
  location: `${apiUrl}${path}`,
  ...(appUrl !== '' && { app: `${appUrl}${path}` }),
});

/** Path below the endpoint of an integration, which its code does not get. */
export const ASSETS_PATH = '/~assets';

const assetsUrl = ({ publicUrl }: Pick<UrlBases, 'publicUrl'>, endpointKey: string): string =>
  `${endpointUrl(publicUrl, endpointKey)}${ASSETS_PATH}`;

/**
 * Public URL of an image of the active version.
 *
 * @param endpointKey of the integration's own endpoint @param path as in the manifest
 */
export const imageUrl = (bases: Pick<UrlBases, 'publicUrl'>, endpointKey: string, path: string): string =>
  `${assetsUrl(bases, endpointKey)}/${path.split('/').map(encodeURIComponent).join('/')}`;
