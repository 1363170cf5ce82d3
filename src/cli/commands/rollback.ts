/** `annex rollback`: activates an earlier version of an integration. */
import Type from 'typebox';
import type { Annex } from '../../../packages/client/src/index.ts';
import { type Command, defineCommand } from '../command.ts';
import { Failure } from '../terminal/failure.ts';
import { versionNumber } from './versions.ts';

export const rollback: Command = defineCommand({
  name: 'rollback',
  summary: 'activate an earlier version of an integration',
  description: [
    'Activates a version of an integration: the one before the active one, or the one that is named. Requests that arrive after the answer run it. Nothing is deleted, so a later version can be activated the same way.',
  ],
  arguments: {
    integration: { help: 'name of the integration' },
    version: {
      help: 'number of the version; default: the one before the active one',
      optional: true,
      parse: versionNumber,
    },
  },
  examples: [
    { line: 'annex rollback hello', does: 'run the version before the active one again' },
    { line: 'annex rollback hello 3', does: 'run version 3' },
  ],
  json: Type.Object({
    integration: Type.String(),
    version: Type.Integer(),
    previous: Type.Integer({ description: 'The version that was active.' }),
  }),
  async run({ output, client, signal }, { integration, version: wanted }) {
    const annex = await client();
    const { version: previous } = await annex.integrations.get(integration, { signal });
    const version = wanted ?? (await versionBefore(annex, integration, previous));
    await annex.versions.activate(integration, version, { signal });
    output.result({ integration, version, previous }, () =>
      output.line(
        version === previous
          ? `${integration} runs version ${version} already.`
          : `${integration} runs version ${version} (before: ${previous}).`,
      ),
    );
    return undefined;
  },
});

async function versionBefore(annex: Annex, integration: string, active: number): Promise<number> {
  for await (const { version } of annex.versions.all(integration)) if (version < active) return version;
  throw new Failure(`${integration} has no version before ${active}, which is active.`, {
    code: 'VERSION_UNKNOWN',
    hint: `\`annex versions ${integration}\` lists them.`,
  });
}
