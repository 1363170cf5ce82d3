/**
 * All commands, in the order of the help. A command is one file, and one row here; its row in
 * `test/support/cli/command-cases.ts` shows that it works.
 */
import type { Command, CommandGroup } from '../command.ts';
import { profile } from './profile.ts';

export const COMMANDS: readonly (Command | CommandGroup)[] = [profile];
