/** The rows of all commands. A test fails for a command that has none. */
import { PROFILE_CASES } from './cases/profile.ts';
import type { CommandCase } from './command-case.ts';

export const COMMAND_CASES: readonly CommandCase[] = [...PROFILE_CASES];
