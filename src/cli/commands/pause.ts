/** `annex pause`: stop events and calls of an installation. */
import { type Command, defineCommand } from '../command.ts';
import { switchTarget } from '../installation/switched-target.ts';
import { PLACE, TARGET } from '../installation/target-view.ts';
import { INSTALLATION_HELP, installationWord } from '../traffic/installation-name.ts';

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
  run: (context, input) => switchTarget(context, input, 'pause'),
});
