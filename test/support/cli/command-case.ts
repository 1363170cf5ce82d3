/**
 * One row of the table of commands: how a command succeeds and how it fails. The test adds
 * `--help`, `--json` with its schema, and that nothing is asked without a terminal.
 */
import type { Invocation } from './annex-run.ts';
import type { CommandWorld } from './command-world.ts';

export type Prepared = Invocation | Promise<Invocation>;

export interface FailingRun {
  readonly title: string;
  readonly run: (world: CommandWorld) => Prepared;
  readonly code: 1 | 2;
  /** What standard error says. */
  readonly says: RegExp;
}

interface AnyCase {
  /** The words that select the command, as `token create`. */
  readonly command: string;
  readonly failures: readonly [FailingRun, FailingRun, FailingRun, ...FailingRun[]];
}

interface SucceedingCase extends AnyCase {
  /**
   * Prepares what the command needs, and returns its invocation with all words. Called twice: for
   * people and with `--json`.
   */
  readonly success: (world: CommandWorld) => Prepared;
  /** What standard output shows to people. */
  readonly shows: RegExp;
}

interface CaseElsewhere extends AnyCase {
  /** The test of its success, which needs more than a service. */
  readonly successIn: string;
}

export type CommandCase = SucceedingCase | CaseElsewhere;
