/**
 * All commands, in the order of the help. A command is one file, and one row here; its row in
 * `test/support/cli/command-cases.ts` shows that it works.
 */
import type { Command, CommandGroup } from '../command.ts';
import { call } from './call.ts';
import { deliveries } from './deliveries.ts';
import { integrations } from './integrations.ts';
import { listen } from './listen.ts';
import { login } from './login.ts';
import { logs } from './logs.ts';
import { profile } from './profile.ts';
import { render } from './render.ts';
import { rollback } from './rollback.ts';
import { serve } from './serve.ts';
import { tail } from './tail.ts';
import { token } from './token.ts';
import { trigger } from './trigger.ts';
import { types } from './types.ts';
import { versions } from './versions.ts';

export const COMMANDS: readonly (Command | CommandGroup)[] = [
  serve,
  types,
  integrations,
  versions,
  rollback,
  call,
  render,
  trigger,
  logs,
  tail,
  deliveries,
  listen,
  login,
  profile,
  token,
];
