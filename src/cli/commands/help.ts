/** `annex help`: the whole reference of a command, as a page of text. */
import Type from 'typebox';
import { nearest } from '../../model/spelling-hint.ts';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { type Reference, referencesOf, textOf } from '../reference.ts';
import { UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';

const ROW = Type.Object({ command: Type.String(), summary: Type.String() });

/** @param entries all commands; read when the help is asked for, as this command is one of them */
export const helpOf = (entries: () => readonly (Command | CommandGroup)[]): Command =>
  defineCommand({
    name: 'help',
    summary: 'explain a command in full',
    description: [
      'Explains a command in full: its arguments, options, examples, exit codes and the shape of its JSON. Without a command, lists all.',
    ],
    arguments: { command: { help: 'the words of a command', optional: true, variadic: true } },
    examples: [
      { line: 'annex help', does: 'list all commands' },
      { line: 'annex help token create', does: 'explain one' },
    ],
    json: Type.Object({
      commands: Type.Array(Type.Intersect([ROW, Type.Object({ usage: Type.String() })]), {
        description: 'With everything that the page says.',
      }),
    }),
    async run({ output }, { command }) {
      const found = chosen(referencesOf(entries()), command.join(' '));
      output.result({ commands: found }, () => {
        const [only, ...others] = found;
        if (only !== undefined && others.length === 0) output.line(textOf(only));
        else
          output.table(
            ['COMMAND', 'DOES'],
            found.map((reference) => [paint('bold', reference.command), reference.summary]),
          );
      });
      return undefined;
    },
  });

/** One command, those of a group, or all. @throws UsageError */
function chosen(all: readonly Reference[], words: string): readonly Reference[] {
  const prefix = `annex${words === '' ? '' : ` ${words}`}`;
  const found = all.filter(({ command }) => command === prefix || command.startsWith(`${prefix} `));
  if (found.length > 0) return found;
  const near = nearest(
    words,
    all.map(({ command }) => command.slice('annex '.length)),
  );
  throw new UsageError(
    `There is no command "${words}".${near === undefined ? '' : ` Did you mean ${near}?`}`,
    { hint: '`annex help` lists all.' },
  );
}
