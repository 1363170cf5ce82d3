/** `annex ask`: a call of the product, which the code of an installation answers. */
import Type from 'typebox';
import { type Command, defineCommand } from '../command.ts';
import { findInstallation, INSTALLATION, targetPath } from '../traffic/installation.ts';
import { givenObject, seconds } from '../traffic/option-values.ts';

export const ask: Command = defineCommand({
  name: 'ask',
  summary: 'ask an installation what its code answers',
  description: [
    'Makes a call of the manifest, as the backend of the host product does, and writes the answer as JSON.',
  ],
  arguments: {
    installation: INSTALLATION,
    call: { help: 'name of the call, as the manifest has it' },
  },
  options: {
    input: { value: 'json', help: 'what the code gets: a JSON object, or @file (default: {})' },
    space: { value: 'space', help: 'ask for this space' },
    site: { value: 'site', help: 'ask for this site' },
    timeout: { value: 'seconds', help: 'wait at most this long', parse: seconds },
  },
  examples: [
    {
      line: `annex ask billing@acme invoice.total --input '{"invoice":"inv_1"}'`,
      does: 'see what the product would get',
    },
  ],
  json: Type.Unknown({ description: 'The answer of the code.' }),
  async run(context, { installation: word, call, input, space, site, timeout }) {
    const { output, signal } = context;
    const body = (await givenObject(context, '--input', input)) ?? {};
    const client = await context.client();
    const path = targetPath(await findInstallation(client, word), { space, site });
    const answer = await client.request<unknown>('POST', `${path}/calls/${encodeURIComponent(call)}`, {
      ...{ body, signal, ...(timeout !== undefined && { timeoutMs: timeout }) },
    });
    output.result(answer, () => output.line(JSON.stringify(answer, undefined, 2)));
  },
});
