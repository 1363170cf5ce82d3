/**
 * `annex installations`, `install`, `uninstall`, `pause` and `resume`: where integrations are
 * installed, in organizations and in their spaces and sites.
 */
import Type from 'typebox';
import { AnnexError } from '../../../packages/client/src/index.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import {
  findInstallation,
  INSTALLATION,
  idOf,
  nameOf,
  PLACE,
  showTarget,
  statusOf,
  TARGET,
  type TargetView,
  targetPath,
} from '../traffic/installation.ts';

const STATUSES = ['active', 'pending', 'paused'] as const;

export const installations: Command = defineCommand({
  name: 'installations',
  summary: 'list the installations of one integration, or of all',
  arguments: { integration: { help: 'name of the integration; default: all', optional: true } },
  options: {
    organization: { value: 'organization', help: 'only of this organization' },
    status: { value: 'status', choices: STATUSES, help: 'only those in this state' },
    externalId: { value: 'id', help: 'only those with this id of another system' },
  },
  examples: [
    { line: 'annex installations', does: 'see what is installed where' },
    { line: 'annex installations hello --organization acme', does: 'find one' },
    { line: 'annex installations --status pending', does: 'see what waits for its configuration' },
  ],
  json: Type.Object({ items: Type.Array(TARGET) }),
  async run({ output, client, signal }, { integration, ...where }) {
    const annex = await client();
    const items: TargetView[] = await Array.fromAsync(
      annex.installations.allWhere({ integration, ...where }, { signal }),
    );
    // An unknown name is an error, and no empty list.
    if (items.length === 0 && integration !== undefined)
      await annex.integrations.get(integration, { signal });
    output.list(
      { items },
      ['INSTALLATION', 'INTEGRATION', 'ORGANIZATION', 'STATUS', 'ENDPOINT'],
      (one) => [idOf(one), one.integration, one.organization, statusOf(one), one.urls.publicEndpoint],
      'There is none: `annex install` makes one.',
    );
  },
});

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
  },
});

export const uninstall: Command = defineCommand({
  name: 'uninstall',
  summary: 'remove an installation with all its data',
  description: [
    'Removes an installation with its configuration, logs and deliveries that wait, or only its part in a space or a site. Nothing of it can be restored.',
  ],
  arguments: { installation: INSTALLATION },
  options: PLACE,
  examples: [
    { line: 'annex uninstall hello@acme', does: 'remove the installation of "acme"' },
    { line: 'annex uninstall hello@acme --space garden', does: 'remove it from one space' },
  ],
  json: Type.Object({ installation: Type.String(), uninstalled: Type.Literal(true) }),
  async run({ output, client, signal }, { installation: word, ...place }) {
    const annex = await client();
    const installation = await findInstallation(annex, word);
    await annex.request('DELETE', targetPath(installation, place), { answer: 'none', options: { signal } });
    output.result({ installation: installation.id, uninstalled: true }, () =>
      output.line(`${nameOf(installation)} is removed${place.space || place.site ? ' there' : ''}.`),
    );
  },
});

/** A command that switches an installation, or a part of it. */
const switches = (
  name: 'pause' | 'resume',
  does: Pick<Command, 'summary' | 'description' | 'examples'>,
): Command =>
  defineCommand({
    name,
    ...does,
    arguments: { installation: INSTALLATION },
    options: PLACE,
    json: TARGET,
    async run({ output, client, signal }, { installation: word, ...place }) {
      const annex = await client();
      const path = targetPath(await findInstallation(annex, word), place);
      const target = await annex.request<TargetView>('POST', `${path}/${name}`, { options: { signal } });
      output.result(target, () => showTarget(output, target));
    },
  });

export const pause = switches('pause', {
  summary: 'stop events and calls of an installation',
  description: [
    'Pauses an installation, or its part in a space or a site. Until it is resumed, it gets no events and its endpoint answers 503.',
  ],
  examples: [{ line: 'annex pause hello@acme', does: 'stop the installation of "acme" for now' }],
});

export const resume = switches('resume', {
  summary: 'let a paused installation work again',
  description: [
    'Resumes an installation, or its part in a space or a site: it is active, or pending if its configuration is not valid.',
  ],
  examples: [{ line: 'annex resume hello@acme', does: 'let it work again' }],
});

export const uiToken: Command = defineCommand({
  name: 'ui-token',
  summary: 'make a token for a page that configures an installation',
  description: [
    'Makes a token for <annex-configuration> in a page: it reads and saves the configuration of one installation, or of its part in a space or a site, and nothing else. With --webhook it is for <annex-webhooks>, too. It ends by itself.',
  ],
  arguments: { installation: INSTALLATION },
  options: {
    ...PLACE,
    origin: { value: 'origin', repeatable: true, help: 'an origin whose pages may use it' },
    webhook: { help: 'it sets up the webhook, too' },
    minutes: { value: 'minutes', parse: wholeMinutes, default: 15, help: 'how long it lasts, 60 at most' },
  },
  examples: [
    { line: 'annex ui-token hello@acme', does: 'make one for the installation of "acme"' },
    {
      line: 'annex ui-token hello@acme --origin http://127.0.0.1:3000',
      does: 'for a page of that origin alone',
    },
  ],
  json: Type.Object({ token: Type.String(), expiresAt: Type.String() }),
  async run({ output, client, signal }, { installation: word, origin, minutes, webhook, ...place }) {
    const annex = await client();
    const path = targetPath(await findInstallation(annex, word), place);
    const body = {
      ...{ expiresIn: minutes * 60, ...(webhook && { webhook }) },
      ...(origin.length > 0 && { origins: [...origin] }),
    };
    const made = await annex.request<{ token: string; expiresAt: string }>('POST', `${path}/ui-tokens`, {
      body,
      options: { signal },
    });
    output.result(made, () => {
      output.line(made.token);
      output.talk(`It ends at ${made.expiresAt}.`);
    });
  },
});

function wholeMinutes(text: string): number {
  if (/^([1-9]|[1-5]\d|60)$/.test(text)) return Number(text);
  throw new UsageError('--minutes is a whole number from 1 to 60.');
}
