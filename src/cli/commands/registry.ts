/**
 * All commands, in the order of the help. A command is one file, and one row here; its row in
 * `test/support/cli/command-cases.ts` shows that it works.
 */
import type { Command, CommandGroup } from '../command.ts';
import { api } from './api.ts';
import { backup } from './backup.ts';
import { call } from './call.ts';
import { check } from './check.ts';
import { completionsOf } from './completions.ts';
import { configure } from './configure.ts';
import { copy } from './copy.ts';
import { deliveries } from './deliveries.ts';
import { demo } from './demo.ts';
import { dev } from './dev.ts';
import { doctor } from './doctor.ts';
import { helpOf } from './help.ts';
import { install } from './install.ts';
import { installations } from './installations.ts';
import { integrations } from './integrations.ts';
import { listen } from './listen.ts';
import { login } from './login.ts';
import { logs } from './logs.ts';
import { newCommand } from './new.ts';
import { pause } from './pause.ts';
import { profile } from './profile.ts';
import { publish } from './publish.ts';
import { render } from './render.ts';
import { resume } from './resume.ts';
import { rollback } from './rollback.ts';
import { secrets } from './secrets.ts';
import { serve } from './serve.ts';
import { tail } from './tail.ts';
import { test } from './test.ts';
import { token } from './token.ts';
import { trigger } from './trigger.ts';
import { types } from './types.ts';
import { uninstall } from './uninstall.ts';
import { vault } from './vault.ts';
import { versions } from './versions.ts';
import { webhook } from './webhook.ts';

export const COMMANDS: readonly (Command | CommandGroup)[] = [
  serve,
  demo,
  newCommand,
  dev,
  check,
  types,
  test,
  publish,
  integrations,
  versions,
  rollback,
  secrets,
  call,
  render,
  trigger,
  logs,
  tail,
  deliveries,
  listen,
  webhook,
  install,
  uninstall,
  installations,
  configure,
  pause,
  resume,
  login,
  profile,
  token,
  api,
  doctor,
  backup,
  copy,
  vault,
  helpOf(() => COMMANDS),
  completionsOf(() => COMMANDS),
];
