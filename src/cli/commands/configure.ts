/**
 * `annex configure`: sets values of an installation's configuration, or shows them. The form of the
 * integration decides the type of each value, because a word of the command line is always a text.
 * The service checks the result again.
 */
import { resolve } from 'node:path';
import Type from 'typebox';
import { parse as parseYaml } from 'yaml';
import type { ConfigurationField, ConfigurationForm } from '../../../packages/client/src/index.ts';
import { nearest } from '../../model/spelling-hint.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { type Output, paint } from '../terminal/output.ts';
import { findInstallation, INSTALLATION, PLACE, targetPath } from '../traffic/installation.ts';
import { givenText } from '../traffic/option-values.ts';

const FORM = Type.Object({
  status: Type.Enum(['active', 'pending', 'paused']),
  properties: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String(),
        type: Type.String(),
        required: Type.Boolean(),
        value: Type.Optional(Type.Unknown()),
      }),
    ),
  ),
  problems: Type.Optional(
    Type.Array(Type.Object({ property: Type.String(), message: Type.String() }), {
      description: 'What keeps the configuration from being valid.',
    }),
  ),
});

export const configure: Command = defineCommand({
  name: 'configure',
  summary: 'set or show the configuration of an installation',
  description: [
    'Sets values of the configuration, and prints the result. Values get the type that the manifest declares: numbers, true or false, and lists with commas. Without a value, only shows the configuration.',
    'Values that are not named stay as they are, unless --replace removes them.',
  ],
  arguments: {
    installation: INSTALLATION,
    values: { help: 'name=value', optional: true, variadic: true, parse: assignment },
  },
  options: {
    ...PLACE,
    file: { value: 'file', help: 'take values from a JSON or YAML file; "-" reads standard input' },
    unset: { value: 'name', repeatable: true, help: 'remove this value' },
    replace: { help: 'remove all values that are not named' },
  },
  examples: [
    { line: 'annex configure greeter@acme', does: 'see what can be set' },
    { line: 'annex configure greeter@acme greeting="Good day" times=2', does: 'set two values' },
    {
      line: 'annex configure greeter@acme --space garden --file settings.yaml',
      does: 'set those of a space',
    },
  ],
  json: FORM,
  async run(context, { installation: word, values, file, unset, replace, ...place }) {
    const { output, client, signal } = context;
    const annex = await client();
    const path = targetPath(await findInstallation(annex, word), place);
    const form = () =>
      annex.request<ConfigurationForm>('GET', `${path}/configuration`, { options: { signal } });
    const given = file === undefined ? {} : await valuesIn(context, file);
    const removed = Object.fromEntries(unset.map((name) => [name, null]));
    const typed = values.length > 0 ? valuesOf(await form(), values) : {};
    const configuration = { ...given, ...typed, ...removed };
    if (replace || Object.keys(configuration).length > 0)
      await annex.request('PATCH', path, {
        query: { configuration: replace ? 'replace' : 'merge' },
        body: { configuration },
        options: { signal },
      });
    const now = await form();
    output.result(now, () => showForm(output, now));
  },
});

async function valuesIn(context: CommandContext, file: string): Promise<object> {
  const source = file === '-' ? 'Standard input' : resolve(context.cwd, file);
  const yaml = await givenText(context, file);
  let value: unknown;
  try {
    value = parseYaml(yaml, { maxAliasCount: 0 });
  } catch (cause) {
    throw new UsageError(`${source} is neither JSON nor YAML: ${(cause as Error).message}`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(`${source} must hold names with values.`);
}

function showForm(
  output: Output,
  { properties = [], problems = [], status, componentId }: ConfigurationForm,
): void {
  output.table(
    ['SETTING', 'VALUE', 'TYPE', ''],
    properties.map(({ name, type, required, value, sealed, isSet, default: otherwise, ...field }) => [
      paint('bold', name),
      sealed ? (isSet ? '(set)' : '') : shown(value ?? otherwise),
      field.enum === undefined ? type : field.enum.join(' | '),
      required ? 'required' : '',
    ]),
  );
  if (properties.length === 0)
    output.line(
      componentId === undefined ? 'It has no settings.' : `It is configured by its component ${componentId}.`,
    );
  output.talk(`It is ${status}.`);
  for (const { property, message, hint } of problems)
    output.talk(paint('yellow', `${property}: `), message, hint === undefined ? '' : ` ${hint}`);
}

const shown = (value: unknown): string => {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

interface Assignment {
  readonly name: string;
  readonly value: string;
}

/** @throws UsageError */
function assignment(word: string): Assignment {
  const at = word.indexOf('=');
  if (at < 1) throw new UsageError(`a setting has the form name=value; it is "${word}".`);
  return { name: word.slice(0, at), value: word.slice(at + 1) };
}

/**
 * @throws UsageError for a value that cannot be of its type, or a name that the form does not have
 */
function valuesOf(
  form: Pick<ConfigurationForm, 'properties'>,
  assignments: readonly Assignment[],
): Record<string, unknown> {
  const fields = new Map((form.properties ?? []).map((field) => [field.name, field]));
  const values: Record<string, unknown> = Object.create(null);
  for (const { name, value } of assignments) {
    const field = fields.get(name);
    if (field === undefined) throw unknownName(name, fields.keys());
    // A list may be given by several words, or in one with commas.
    if (field.multiple) values[name] = [...((values[name] as string[]) ?? []), ...value.split(',')];
    else if (Object.hasOwn(values, name)) throw new UsageError(`${name} is there twice.`);
    else values[name] = typedValue(field, value);
  }
  return { ...values };
}

function typedValue({ name, type, enum: choices }: ConfigurationField, text: string): unknown {
  if (type === 'boolean') {
    if (text === 'true' || text === 'false') return text === 'true';
    throw new UsageError(`${name} must be true or false; it is "${text}".`);
  }
  if (type === 'number') {
    const number = Number(text);
    if (text.trim() !== '' && Number.isFinite(number)) return number;
    throw new UsageError(`${name} must be a number; it is "${text}".`);
  }
  if (type === 'button')
    throw new UsageError(`${name} is a button, which the integration sets; it is not set by hand.`);
  if (choices === undefined || choices.includes(text)) return text;
  const near = nearest(text, choices);
  throw new UsageError(
    `${name} must be one of ${choices.join(', ')}; it is "${text}".${near === undefined ? '' : ` Did you mean ${near}?`}`,
  );
}

function unknownName(name: string, known: Iterable<string>): UsageError {
  const names = [...known];
  const near = nearest(name, names);
  const has = names.length === 0 ? 'It has no settings.' : `It has ${names.join(', ')}.`;
  return new UsageError(
    `The integration has no setting "${name}". ${near === undefined ? has : `Did you mean ${near}?`}`,
    { hint: 'Settings of a space or of a site are set with --space or --site.' },
  );
}
