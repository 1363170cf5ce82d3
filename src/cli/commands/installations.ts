/** `annex installations`: where integrations are installed. */
import Type from 'typebox';
import type { Annex } from '../../../packages/client/src/index.ts';
import { type Command, defineCommand } from '../command.ts';
import { idOf, statusOf, TARGET, type TargetView } from '../installation/target-view.ts';

export const installations: Command = defineCommand({
  name: 'installations',
  summary: 'list the installations of one integration, or of all',
  arguments: { integration: { help: 'name of the integration; default: all', optional: true } },
  options: { organization: { value: 'organization', help: 'only of this organization' } },
  examples: [
    { line: 'annex installations', does: 'see what is installed where' },
    { line: 'annex installations hello --organization acme', does: 'find one' },
  ],
  json: Type.Object({ items: Type.Array(TARGET) }),
  async run({ output, client, signal }, { integration, organization }) {
    const annex = await client();
    const items: TargetView[] = [];
    for await (const name of namesOf(annex, integration))
      for await (const one of annex.installations.all(name, {}, { signal }))
        if (organization === undefined || one.organization === organization) items.push(one);
    output.result({ items }, () => {
      output.table(
        ['INSTALLATION', 'INTEGRATION', 'ORGANIZATION', 'STATUS', 'ENDPOINT'],
        items.map((one) => [
          idOf(one),
          one.integration,
          one.organization,
          statusOf(one),
          one.urls.publicEndpoint,
        ]),
      );
      if (items.length === 0) output.talk('There is none: `annex install` makes one.');
    });
    return undefined;
  },
});

async function* namesOf(annex: Annex, only: string | undefined): AsyncIterable<string> {
  if (only !== undefined) yield only;
  else for await (const { name } of annex.integrations.all()) yield name;
}
