/** `annex token`: makes, lists and revokes the tokens of a service. For its operator. */
import Type from 'typebox';
import { isTokenRight, TOKEN_KINDS as KINDS, TOKEN_RIGHTS } from '../../model/principal.ts';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';
import { duration } from '../traffic/option-values.ts';

const RIGHTS = Object.keys(TOKEN_RIGHTS).filter(isTokenRight);
const TOKEN = {
  id: Type.String(),
  name: Type.Optional(Type.String()),
  kind: Type.Enum([...KINDS]),
  organization: Type.Optional(Type.String()),
  rights: Type.Optional(Type.Array(Type.String())),
  createdAt: Type.String(),
  expiresAt: Type.Optional(Type.String()),
  lastUsedAt: Type.Optional(Type.String()),
};

const create: Command = defineCommand({
  name: 'create',
  summary: 'make a token and print it once',
  description: [
    'Makes a token and prints it. Annex keeps only its hash, so it cannot be shown again.',
    'admin: the operator, may do everything. platform: the host product. organization: authors and members of one organization; needs --organization.',
    'With --right the token does only what that right is for. --expires-in ends it by itself.',
  ],
  options: {
    kind: { value: 'kind', choices: KINDS, required: true, help: 'what the token may do' },
    organization: { value: 'id', help: 'the organization of a token of that kind' },
    name: { value: 'text', help: 'what it is for, as the list shows it' },
    right: {
      value: 'right',
      choices: RIGHTS,
      repeatable: true,
      help: 'narrows it to what this right is for; default: everything that its kind may do',
    },
    expiresIn: { value: 'duration', parse: duration, help: 'when it expires, as 12h or 90d; default: never' },
  },
  examples: [
    { line: 'annex token create --kind platform', does: 'make the token of the host product' },
    {
      line: 'annex token create --kind organization --organization acme',
      does: 'make a token for an author',
    },
    {
      line: 'annex token create --kind platform --right events:post --expires-in 90d --name billing',
      does: 'make a token that only posts events, for 90 days',
    },
  ],
  json: Type.Object({ ...TOKEN, token: Type.String() }),
  async run({ output, client, signal }, { kind, organization, name, right, expiresIn }) {
    if (kind === 'organization' && organization === undefined)
      throw new UsageError('A token of kind organization needs --organization.');
    if (kind !== 'organization' && organization !== undefined)
      throw new UsageError(`A token of kind ${kind} has no organization: leave --organization out.`);
    const body = {
      ...{ kind, organization, name },
      ...(right.length > 0 && { rights: [...right] }),
      ...(expiresIn !== undefined && { expiresIn: Math.ceil(expiresIn / 1_000) }),
    };
    const made = await (await client()).tokens.create(body, { signal });
    output.result(made, () => {
      output.line(made.token);
      output.talk(`${made.id}, of kind ${made.kind}. It is shown only now; \`annex token revoke\` ends it.`);
    });
  },
});

const list: Command = defineCommand({
  name: 'list',
  summary: 'list the tokens, without their values',
  examples: [{ line: 'annex token list', does: 'see which tokens are valid' }],
  json: Type.Object({ items: Type.Array(Type.Object(TOKEN)) }),
  async run({ output, client, signal }) {
    const items = await Array.fromAsync((await client()).tokens.all({}, { signal }));
    output.list(
      { items },
      ['TOKEN', 'KIND', 'ORGANIZATION', 'NAME', 'RIGHTS', 'CREATED', 'EXPIRES', 'LAST USED'],
      ({ id, kind, organization = '', name = '', rights, createdAt, expiresAt = '', lastUsedAt = '' }) => [
        ...[id, kind, organization, name, rights?.join(' ') ?? 'all'],
        ...[paint('dim', createdAt), expiresAt, lastUsedAt],
      ],
    );
  },
});

const revoke: Command = defineCommand({
  name: 'revoke',
  summary: 'revoke a token',
  description: ['Revokes a token. Requests with it are refused from now on, and streams with it end.'],
  arguments: { id: { help: 'id of the token, as `annex token list` shows it' } },
  examples: [{ line: 'annex token revoke tok_4h5k2c7q', does: 'end a token that was lost' }],
  json: Type.Object({ id: Type.String(), revoked: Type.Literal(true) }),
  async run({ output, client, signal }, { id }) {
    await (await client()).tokens.delete(id, { signal });
    output.result({ id, revoked: true }, () => output.line(`${id} is revoked.`));
  },
});

export const token: CommandGroup = {
  name: 'token',
  summary: 'make, list and revoke tokens',
  examples: [{ line: 'annex token create --kind platform', does: 'make the token of the host product' }],
  commands: [create, list, revoke],
};
