/**
 * All commands, in the order of the help. A command is one file, and one row here; its row in
 * `test/support/cli/command-cases.ts` shows that it works.
 */
import type { Command, CommandGroup } from '../cli/command.ts';
import { api } from '../cli/commands/api.ts';
import { ask } from '../cli/commands/ask.ts';
import { call } from '../cli/commands/call.ts';
import { completionsOf } from '../cli/commands/completions.ts';
import { configure } from '../cli/commands/configure.ts';
import { consoleLink } from '../cli/commands/console.ts';
import { deliveries } from '../cli/commands/deliveries.ts';
import { eventTypes } from '../cli/commands/event-types.ts';
import { helpOf } from '../cli/commands/help.ts';
import { importCommand } from '../cli/commands/import.ts';
import { install, installations, pause, resume, uiToken, uninstall } from '../cli/commands/installations.ts';
import { integrations, review, rollback, versions } from '../cli/commands/integrations.ts';
import { listen } from '../cli/commands/listen.ts';
import { logs, tail } from '../cli/commands/logs.ts';
import { newCommand } from '../cli/commands/new.ts';
import { notices } from '../cli/commands/notices.ts';
import { organizations } from '../cli/commands/organizations.ts';
import { portalLink } from '../cli/commands/portal.ts';
import { login, profile } from '../cli/commands/profile.ts';
import { publish } from '../cli/commands/publish.ts';
import { render } from '../cli/commands/render.ts';
import { schedules } from '../cli/commands/schedules.ts';
import { secrets } from '../cli/commands/secrets.ts';
import { sourceMap } from '../cli/commands/source-map.ts';
import { storage } from '../cli/commands/storage.ts';
import { token } from '../cli/commands/token.ts';
import { trigger } from '../cli/commands/trigger.ts';
import { types } from '../cli/commands/types.ts';
import { webhook } from '../cli/commands/webhook.ts';
import { check } from './check.ts';
import { demo } from './demo/demo.ts';
import { dev } from './dev/dev.ts';
import { doctor } from './doctor.ts';
import { serve } from './serve.ts';
import { backup, copy, recoverToken, vault } from './store/operator-commands.ts';
import { test } from './testing/test.ts';

export const COMMANDS: readonly (Command | CommandGroup)[] = [
  serve,
  demo,
  newCommand,
  importCommand,
  dev,
  check,
  types,
  test,
  publish,
  integrations,
  versions,
  rollback,
  review,
  sourceMap,
  secrets,
  call,
  render,
  ask,
  trigger,
  eventTypes,
  logs,
  tail,
  storage,
  deliveries,
  listen,
  webhook,
  notices,
  schedules,
  install,
  uninstall,
  installations,
  configure,
  pause,
  resume,
  uiToken,
  login,
  profile,
  organizations,
  { ...token, commands: [...token.commands, recoverToken] },
  consoleLink,
  portalLink,
  api,
  doctor,
  backup,
  copy,
  vault,
  helpOf(() => COMMANDS),
  completionsOf(() => COMMANDS),
];
