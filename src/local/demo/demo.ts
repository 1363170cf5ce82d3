/** `annex demo`: a tour of Annex on a service that lives only as long as the command. */
import Type from 'typebox';
import { type Command, defineCommand } from '../../cli/command.ts';
import { EXIT } from '../../cli/terminal/failure.ts';

export const demo: Command = defineCommand({
  name: 'demo',
  summary: 'see a tour of Annex, then try it out',
  description: [
    'Starts a service on free ports with a temporary data folder. Publishes six integrations, installs and calls them, posts an event and receives the signed webhook for it, and shows each request with its answer. Then it keeps serving until Ctrl-C, and removes everything.',
    'It needs no token and no folder of yours, and changes nothing of another service.',
  ],
  options: { once: { help: 'stop after the tour' } },
  examples: [
    { line: 'annex demo', does: 'see the tour, and keep the service for further requests' },
    { line: 'annex demo --once', does: 'see the tour alone' },
  ],
  exits: { 1: 'a step of the tour failed, or the service could not be started' },
  json: Type.Object({
    ok: Type.Boolean({ description: 'Whether every step succeeded.' }),
    failed: Type.Array(Type.String(), { description: 'What was expected and did not happen.' }),
  }),
  stream: true,
  async run({ output, signal }, { once }) {
    // Loaded here: the other commands do without a service of their own.
    const { runDemo } = await import('./run-demo.ts');
    let isOk = true;
    await runDemo({
      once,
      signal,
      print(text) {
        if (!output.isJson) output.line(text);
      },
      async toured(failed) {
        isOk = failed.length === 0;
        await output.item({ ok: isOk, failed }, () => {
          if (isOk) return output.line('\nEvery step succeeded.');
          output.line(`\n${failed.length} steps failed:`);
          for (const sentence of failed) output.line(`  ${sentence}`);
        });
      },
    });
    return isOk ? EXIT.ok : EXIT.failed;
  },
});
