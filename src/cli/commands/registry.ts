/**
 * All commands, in the order of the help. A command is one file, and one row here; its row in
 * `test/support/cli/command-cases.ts` shows that it works.
 */
import type { Command, CommandGroup } from '../command.ts';
import { integrations } from './integrations.ts';
import { login } from './login.ts';
import { profile } from './profile.ts';
import { rollback } from './rollback.ts';
import { serve } from './serve.ts';
import { token } from './token.ts';
import { types } from './types.ts';
import { versions } from './versions.ts';

export const COMMANDS: readonly (Command | CommandGroup)[] = [
  serve,
  types,
  integrations,
  versions,
  rollback,
  login,
  profile,
  token,
];
