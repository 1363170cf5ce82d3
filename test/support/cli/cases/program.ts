/** Commands about the program itself. */
import type { CommandCase } from '../command-case.ts';

export const PROGRAM_CASES: readonly CommandCase[] = [
  {
    command: 'help',
    success: () => ({ words: ['help', 'token', 'create'] }),
    shows: /^NAME\n {4}annex token create - .*^EXAMPLES$.*^EXIT CODES$.*^JSON$/ms,
    failures: [
      {
        title: 'a command that there is not',
        run: () => ({ words: ['help', 'tokn', 'create'] }),
        code: 2,
        says: /There is no command "tokn create"\. Did you mean token create\?/,
      },
      {
        title: 'an option that there is not',
        run: () => ({ words: ['help', '--al'] }),
        code: 2,
        says: /Unknown option '--al'/,
      },
      {
        title: 'a word that is no command',
        run: () => ({ words: ['help', 'everything'] }),
        code: 2,
        says: /There is no command "everything"\.\n`annex help` lists all\./,
      },
    ],
  },
  {
    command: 'completions',
    success: () => ({ words: ['completions', 'bash'] }),
    shows: /complete -o default -F _annex annex/,
    failures: [
      {
        title: 'a shell that there is not',
        run: () => ({ words: ['completions', 'bsh'] }),
        code: 2,
        says: /<shell> must be one of bash, zsh, fish; it is "bsh"\. Did you mean bash\?/,
      },
      {
        title: 'no shell',
        run: () => ({ words: ['completions'] }),
        code: 2,
        says: /Missing required argument 'shell'/,
      },
      {
        title: 'two shells',
        run: () => ({ words: ['completions', 'bash', 'zsh'] }),
        code: 2,
        says: /Too many arguments/,
      },
    ],
  },
];
