/** `annex resume`: let a paused installation work again. */
import { type Command, defineCommand } from '../command.ts';
import { PLACE, showTarget, TARGET, type TargetView } from '../installation/target-view.ts';
import {
  findInstallation,
  INSTALLATION_HELP,
  installationWord,
  targetPath,
} from '../traffic/installation-name.ts';

export const resume: Command = defineCommand({
  name: 'resume',
  summary: 'let a paused installation work again',
  description: [
    'Resumes an installation, or its part in a space or a site: it is active, or pending if its configuration is not valid.',
  ],
  arguments: { installation: { help: INSTALLATION_HELP, parse: installationWord } },
  options: PLACE,
  examples: [{ line: 'annex resume hello@acme', does: 'let it work again' }],
  json: TARGET,
  async run({ output, client, signal }, { installation: word, ...place }) {
    const annex = await client();
    const path = targetPath(await findInstallation(annex, word), place);
    const target = await annex.request<TargetView>('POST', `${path}/resume`, { options: { signal } });
    output.result(target, () => showTarget(output, target));
    return undefined;
  },
});
