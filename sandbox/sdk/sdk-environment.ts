/**
 * Turns the environment of an envelope into `context.environment`
 * (docs/contract/environment.md#sdk): the same members, of which a few have another meaning for
 * authors of this SDK.
 *
 * It changes the parsed object in place, once for each call. It adds nothing that the envelope does
 * not have.
 */
import type { Environment } from './environment.ts';

interface EndpointUrls {
  publicEndpoint: string;
  publicContentEndpoint: string;
}

/** Members as an envelope has them. */
interface EnvelopeEnvironment {
  apiEndpoint: string;
  readonly signingSecrets?: {
    installation?: string;
    readonly spaceInstallation?: string;
    readonly siteInstallation?: string;
  };
  readonly integration?: { urls?: EndpointUrls & { integrationEndpoint?: string } };
  /** Of the most specific target; absent at the integration's own endpoint. */
  readonly urls?: EndpointUrls;
}

/** @param parsed the part `environment`, which no other code has; changed */
export function sdkEnvironment(parsed: object): Environment {
  const environment = parsed as EnvelopeEnvironment;
  const { apiEndpoint, signingSecrets, integration, urls } = environment;
  if (typeof apiEndpoint === 'string') environment.apiEndpoint = `${apiEndpoint}/v1`;
  if (integration?.urls !== undefined) {
    integration.urls.integrationEndpoint = integration.urls.publicEndpoint;
    if (urls !== undefined) {
      integration.urls.publicEndpoint = urls.publicEndpoint;
      integration.urls.publicContentEndpoint = urls.publicContentEndpoint;
    }
  }
  if (signingSecrets !== undefined) {
    const specific = signingSecrets.spaceInstallation ?? signingSecrets.siteInstallation;
    if (specific !== undefined) signingSecrets.installation = specific;
  }
  return parsed as Environment;
}
