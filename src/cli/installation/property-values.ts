/**
 * Turns `name=value` words into the values of a configuration. The form decides the type of each
 * value, because a word of the command line is always a text. The service checks the result again.
 */
import type { ConfigurationField, ConfigurationForm } from '../../../packages/client/src/index.ts';
import { nearest } from '../../model/spelling-hint.ts';
import { UsageError } from '../terminal/failure.ts';

export interface Assignment {
  readonly name: string;
  readonly value: string;
}

/** @throws UsageError */
export function assignment(word: string): Assignment {
  const at = word.indexOf('=');
  if (at < 1) throw new UsageError(`a setting has the form name=value; it is "${word}".`);
  return { name: word.slice(0, at), value: word.slice(at + 1) };
}

/**
 * @throws UsageError for a value that cannot be of its type, or a name that the form does not have
 */
export function valuesOf(
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
