/** The rows of all commands. A test fails for a command that has none. */

import { AUTHOR_CASES } from './cases/author.ts';
import { DEV_CASES } from './cases/dev.ts';
import { EVENT_TYPE_CASES } from './cases/event-types.ts';
import { INSTALLATION_CASES } from './cases/installation.ts';
import { INTEGRATION_CASES } from './cases/integrations.ts';
import { LOGIN_CASES } from './cases/login.ts';
import { OPERATOR_CASES } from './cases/operator.ts';
import { PROFILE_CASES } from './cases/profile.ts';
import { PROGRAM_CASES } from './cases/program.ts';
import { SCHEDULE_CASES } from './cases/schedules.ts';
import { SERVE_CASES } from './cases/serve.ts';
import { TEST_CASES } from './cases/test.ts';
import { TOKEN_CASES } from './cases/token.ts';
import { TRAFFIC_CASES } from './cases/traffic.ts';
import { TYPES_CASES } from './cases/types.ts';
import { WEBHOOK_CASES } from './cases/webhook.ts';
import type { CommandCase } from './command-case.ts';

export const COMMAND_CASES: readonly CommandCase[] = [
  ...SERVE_CASES,
  ...DEV_CASES,
  ...TYPES_CASES,
  ...TEST_CASES,
  ...AUTHOR_CASES,
  ...INTEGRATION_CASES,
  ...INSTALLATION_CASES,
  ...OPERATOR_CASES,
  ...PROGRAM_CASES,
  ...LOGIN_CASES,
  ...PROFILE_CASES,
  ...TOKEN_CASES,
  ...TRAFFIC_CASES,
  ...WEBHOOK_CASES,
  ...EVENT_TYPE_CASES,
  ...SCHEDULE_CASES,
];
