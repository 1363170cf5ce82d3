/**
 * `annex secrets`: lists, sets and removes secrets of an integration. A value comes from standard
 * input, from a variable or from the person at the terminal, and is never shown.
 */
import Type from 'typebox';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { paint } from '../terminal/output.ts';
import { secretFor } from '../terminal/secret-input.ts';

const INTEGRATION = { help: 'name of the integration' } as const;
const NAME = { help: 'name of the secret, as the manifest declares it' } as const;
const SECRET = Type.Object({
  name: Type.String(),
  isSet: Type.Boolean(),
  isDeclared: Type.Boolean(),
  updatedAt: Type.Optional(Type.String()),
});
const CHANGED = Type.Object({ integration: Type.String(), secret: Type.String() });

const list: Command = defineCommand({
  name: 'list',
  summary: 'list the secrets of an integration, without their values',
  arguments: { integration: INTEGRATION },
  examples: [{ line: 'annex secrets list hello', does: 'see which secrets have a value' }],
  json: Type.Object({ integration: Type.String(), items: Type.Array(SECRET) }),
  async run({ output, client, signal }, { integration }) {
    const { items } = await (await client()).secrets.list(integration, { signal });
    output.list(
      { integration, items },
      ['SECRET', 'VALUE', 'SET', ''],
      ({ name, isSet, isDeclared, updatedAt }) => [
        name,
        isSet ? paint('green', 'set') : paint('yellow', 'none'),
        paint('dim', updatedAt ?? ''),
        isDeclared ? '' : 'not in the manifest of the active version',
      ],
      `${integration} declares no secrets.`,
    );
  },
});

const set: Command = defineCommand({
  name: 'set',
  summary: 'set the value of a secret, without a publish',
  description: [
    'Sets one secret. The value is read from standard input, or from the variable of --from-env; at a terminal it is asked for, and not shown. Calls that start after the answer see it.',
  ],
  arguments: { integration: INTEGRATION, name: NAME },
  options: { fromEnv: { value: 'variable', help: 'take the value of this variable' } },
  examples: [
    { line: 'annex secrets set hello CLIENT_SECRET', does: 'type the value at the terminal' },
    { line: 'annex secrets set hello CLIENT_SECRET < secret.txt', does: 'take the value from a file' },
    {
      line: 'annex secrets set hello CLIENT_SECRET --from-env CLIENT_SECRET',
      does: 'take it from a variable',
    },
  ],
  json: CHANGED,
  async run(context, { integration, name, fromEnv }) {
    const { output, client, signal } = context;
    const annex = await client();
    const value = await secretFor(context, name, fromEnv);
    await annex.secrets.set(integration, { [name]: value }, { signal });
    output.result({ integration, secret: name }, () => output.line(`${name} of ${integration} is set.`));
  },
});

const remove: Command = defineCommand({
  name: 'remove',
  summary: 'remove a secret that the active version does not declare',
  arguments: { integration: INTEGRATION, name: NAME },
  examples: [{ line: 'annex secrets remove hello OLD_KEY', does: 'forget the value of OLD_KEY' }],
  json: CHANGED,
  async run({ output, client, signal }, { integration, name }) {
    await (await client()).secrets.delete(integration, name, { signal });
    output.result({ integration, secret: name }, () => output.line(`${name} of ${integration} is removed.`));
  },
});

export const secrets: CommandGroup = {
  name: 'secrets',
  summary: 'list, set and remove secrets of an integration',
  description: ['Values are sealed by the service and never shown again.'],
  examples: [{ line: 'annex secrets list hello', does: 'see which secrets have a value' }],
  commands: [list, set, remove],
};
