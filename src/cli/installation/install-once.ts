/** Installs an integration for an organization, unless it is installed there. */
import { type Annex, AnnexError } from '../../../packages/client/src/index.ts';

export interface InstalledOnce {
  readonly id: string;
  readonly organization: string;
  readonly publicEndpoint: string;
  readonly isNew: boolean;
  readonly status: 'active' | 'pending' | 'paused';
}

export async function installOnce(
  annex: Annex,
  integration: string,
  organization: string,
  signal: AbortSignal,
): Promise<InstalledOnce> {
  try {
    const { id, urls, status } = await annex.installations.create(integration, { organization }, { signal });
    return { id, organization, publicEndpoint: urls.publicEndpoint, isNew: true, status };
  } catch (error) {
    if (!(error instanceof AnnexError) || error.code !== 'INSTALLATION_EXISTS') throw error;
    const id = String(error.details['installation']);
    const { urls, status } = await annex.installations.get(integration, id, { signal });
    return { id, organization, publicEndpoint: urls.publicEndpoint, isNew: false, status };
  }
}
