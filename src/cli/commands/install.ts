/**
 * `annex install`: an integration into an organization, or an installation into a space or site.
 */
import { AnnexError } from '../../../packages/client/src/index.ts';
import { type Command, defineCommand } from '../command.ts';
import { PLACE, showTarget, TARGET, type TargetView } from '../installation/target-view.ts';
import { UsageError } from '../terminal/failure.ts';
import { findInstallation } from '../traffic/installation-name.ts';

export const install: Command = defineCommand({
  name: 'install',
  summary: 'install an integration for an organization',
  description: [
    'Installs an integration for an organization. With --space or --site, adds the installation of this organization to that space or site, and installs it first if needed.',
    'An installation whose configuration is incomplete is pending: `annex configure` completes it.',
  ],
  arguments: { integration: { help: 'name of the integration' } },
  options: {
    organization: { value: 'organization', required: true, help: 'the organization to install for' },
    space: { value: PLACE.space.value, help: 'the space to install into' },
    site: { value: PLACE.site.value, help: 'the site to install into' },
    externalId: { value: 'id', repeatable: true, help: 'an id by which the integration finds it again' },
    installToken: { value: 'token', help: 'token of the install link of an unlisted integration' },
  },
  examples: [
    { line: 'annex install hello --organization acme', does: 'install it and print its endpoint' },
    { line: 'annex install hello --organization acme --space garden', does: 'install it in one space' },
  ],
  json: TARGET,
  async run({ output, client, signal }, { integration, space, site, ...given }) {
    if (space !== undefined && site !== undefined)
      throw new UsageError('--space and --site exclude each other: leave one out.');
    const annex = await client();
    const { organization, installToken } = given;
    const externalIds = given.externalId.length > 0 ? { externalIds: given.externalId } : {};
    const body = { organization, ...(installToken !== undefined && { installToken }) };
    let made: unknown;
    if (space === undefined && site === undefined) {
      made = await annex.installations.create(integration, { ...body, ...externalIds }, { signal });
    } else {
      const word = `${integration}@${organization}`;
      const { id } = await annex.installations
        .create(integration, body, { signal })
        .catch((error: unknown) => {
          if (error instanceof AnnexError && error.code === 'INSTALLATION_EXISTS')
            return findInstallation(annex, word);
          throw error;
        });
      made =
        space === undefined
          ? await annex.sites.create(integration, id, { site: site ?? '', ...externalIds }, { signal })
          : await annex.spaces.create(integration, id, { space, ...externalIds }, { signal });
    }
    const target = made as TargetView;
    output.result(target, () => showTarget(output, target));
    return undefined;
  },
});
