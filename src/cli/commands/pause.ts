/** `annex pause`: stop events and calls of an installation. */
import { type Command, defineCommand } from '../command.ts';
import { PLACE, showTarget, TARGET, type TargetView } from '../installation/target-view.ts';
import {
  findInstallation,
  INSTALLATION_HELP,
  installationWord,
  targetPath,
} from '../traffic/installation-name.ts';

export const pause: Command = defineCommand({
  name: 'pause',
  summary: 'stop events and calls of an installation',
  description: [
    'Pauses an installation, or its part in a space or a site. Until it is resumed, it gets no events and its endpoint answers 503.',
  ],
  arguments: { installation: { help: INSTALLATION_HELP, parse: installationWord } },
  options: PLACE,
  examples: [{ line: 'annex pause hello@acme', does: 'stop the installation of "acme" for now' }],
  json: TARGET,
  async run({ output, client, signal }, { installation: word, ...place }) {
    const annex = await client();
    const path = targetPath(await findInstallation(annex, word), place);
    const target = await annex.request<TargetView>('POST', `${path}/pause`, { options: { signal } });
    output.result(target, () => showTarget(output, target));
    return undefined;
  },
});
