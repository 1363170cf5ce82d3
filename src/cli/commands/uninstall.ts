/** `annex uninstall`: removes an installation, or its part in a space or a site. */
import Type from 'typebox';
import { type Command, defineCommand } from '../command.ts';
import { PLACE } from '../installation/target-view.ts';
import {
  findInstallation,
  INSTALLATION_HELP,
  installationWord,
  nameOf,
  targetPath,
} from '../traffic/installation-name.ts';

export const uninstall: Command = defineCommand({
  name: 'uninstall',
  summary: 'remove an installation with all its data',
  description: [
    'Removes an installation with its configuration, logs and deliveries that wait, or only its part in a space or a site. Nothing of it can be restored.',
  ],
  arguments: { installation: { help: INSTALLATION_HELP, parse: installationWord } },
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
    return undefined;
  },
});
