/**
 * `annex completions`: prints a script that completes commands, options and their values in a
 * shell. The script holds all of them, so that a key press starts no process.
 */
import Type from 'typebox';
import { type Command, type CommandGroup, defineCommand, isGroup, kebab } from '../command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
const GLOBALS = ['--help', '--json', '--no-color', '--profile'];
/** The words where a command is complete: files are offered. */
const FILES = '';

/** What may follow the words of a command. */
interface Place {
  /** `token create`. */
  readonly words: string;
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly { readonly flag: string; readonly help: string }[];
  /** Values of its arguments. */
  readonly values: readonly string[];
  /** Values of options, by their flags. */
  readonly choices: readonly { readonly flag: string; readonly values: readonly string[] }[];
}

function placesOf(entries: readonly (Command | CommandGroup)[]): Place[] {
  const groups: Place[] = [{ name: FILES, commands: entries }, ...entries.filter(isGroup)].map(
    ({ name, commands }) => ({ words: name, commands, options: [], values: [], choices: [] }),
  );
  const commands = entries.flatMap((entry) =>
    isGroup(entry)
      ? entry.commands.map((command) => placeOf(`${entry.name} ${command.name}`, command))
      : [placeOf(entry.name, entry)],
  );
  return [...groups, ...commands];
}

function placeOf(words: string, command: Command): Place {
  const shown = Object.entries(command.options).filter(([, { hidden }]) => !hidden);
  return {
    words,
    commands: [],
    options: shown.map(([key, { help }]) => ({ flag: `--${kebab(key)}`, help })),
    values: Object.values(command.arguments).flatMap(({ choices = [] }) => choices),
    choices: shown.flatMap(([key, { choices }]) =>
      choices === undefined ? [] : [{ flag: `--${kebab(key)}`, values: choices }],
    ),
  };
}

const wordsAt = ({ commands, options, values }: Place): string =>
  [...commands.map(({ name }) => name), ...values, ...options.map(({ flag }) => flag), ...GLOBALS].join(' ');

/** The part that bash and zsh share: which words may come at a place, and after an option. */
const cases = (places: readonly Place[]): string => `
  case "$place $previous" in
${places
  .flatMap(({ words, choices }) =>
    choices.map(({ flag, values }) => `    '${words} ${flag}') candidates='${values.join(' ')}'; return ;;`),
  )
  .join('\n')}
  esac
  case "$place" in
${places.map((place) => `    '${place.words}') candidates='${wordsAt(place)}' ;;`).join('\n')}
  esac`;

/** Walks over the words before the cursor, and keeps those that select a command. */
const place = (places: readonly Place[]): string => `
  place='' previous=''
  for word in "$@"; do
    previous="$word"
    case "$place\${place:+ }$word" in
${places
  .filter(({ words }) => words !== '')
  .map(({ words }) => `      '${words}') place='${words}' ;;`)
  .join('\n')}
    esac
  done`;

const bash = (places: readonly Place[]): string => `# bash completion of annex
_annex_candidates() {
  local place previous word${place(places)}${cases(places)}
}
_annex() {
  local candidates=''
  _annex_candidates "\${COMP_WORDS[@]:1:COMP_CWORD-1}"
  COMPREPLY=($(compgen -W "$candidates" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _annex annex
`;

const zsh = (places: readonly Place[]): string => `#compdef annex
# zsh completion of annex
_annex_candidates() {
  local place previous word${place(places)}${cases(places)}
}
_annex() {
  local candidates=''
  _annex_candidates "\${(@)words[2,CURRENT-1]}"
  compadd -- \${=candidates}
  _files
}
if [ "$funcstack[1]" = '_annex' ]; then _annex "$@"; else compdef _annex annex; fi
`;

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fish(places: readonly Place[]): string {
  const root = places.find(({ words }) => words === FILES);
  const names = root?.commands.map(({ name }) => name).join(' ') ?? '';
  const lines = places.flatMap(({ words, commands, options, values, choices }) => {
    const [first, second] = words.split(' ');
    const group = commands.map(({ name }) => name).join(' ');
    const inGroup = `__fish_seen_subcommand_from ${first}`;
    const here =
      words === FILES
        ? `not __fish_seen_subcommand_from ${names}`
        : second === undefined
          ? `${inGroup}${group === '' ? '' : `; and not __fish_seen_subcommand_from ${group}`}`
          : `${inGroup}; and __fish_seen_subcommand_from ${second}`;
    const rule = `complete -c annex -n ${quoted(here)}`;
    return [
      ...commands.map(({ name, summary }) => `${rule} -f -a ${name} -d ${quoted(summary)}`),
      ...values.map((value) => `${rule} -f -a ${quoted(value)}`),
      ...options.map(({ flag, help }) => {
        const set = choices.find((one) => one.flag === flag);
        const takes = set === undefined ? '' : ` -x -a ${quoted(set.values.join(' '))}`;
        return `${rule} -l ${flag.slice(2)}${takes} -d ${quoted(help)}`;
      }),
    ];
  });
  const globals = GLOBALS.map((flag) => `complete -c annex -l ${flag.slice(2)}`);
  return `${['# fish completion of annex', ...globals, ...lines].join('\n')}\n`;
}

const SCRIPTS = { bash, zsh, fish };

/**
 * @param entries all commands; read when the script is made, because this command is one of them
 */
export const completionsOf = (entries: () => readonly (Command | CommandGroup)[]): Command =>
  defineCommand({
    name: 'completions',
    summary: 'print a script that completes commands in a shell',
    arguments: { shell: { help: 'the shell', choices: SHELLS } },
    examples: [
      { line: 'source <(annex completions bash)', does: 'complete in this bash; in ~/.bashrc, in all' },
      { line: 'annex completions zsh > ~/.zfunc/_annex', does: 'complete in zsh, with ~/.zfunc in fpath' },
      { line: 'annex completions fish > ~/.config/fish/completions/annex.fish', does: 'complete in fish' },
    ],
    json: Type.Object({ shell: Type.Enum([...SHELLS]), script: Type.String() }),
    async run({ output }, { shell }) {
      const script = SCRIPTS[shell](placesOf(entries()));
      output.result({ shell, script }, () => output.line(script.trimEnd()));
    },
  });
