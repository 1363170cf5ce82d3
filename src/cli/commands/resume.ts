/** `annex resume`: let a paused installation work again. */
import { type Command, defineCommand } from '../command.ts';
import { switchTarget } from '../installation/switched-target.ts';
import { PLACE, TARGET } from '../installation/target-view.ts';
import { INSTALLATION_HELP, installationWord } from '../traffic/installation-name.ts';

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
  run: (context, input) => switchTarget(context, input, 'resume'),
});
