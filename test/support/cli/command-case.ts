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

export interface CommandCase {
  /** The words that select the command, as `token create`. */
  readonly command: string;
  /**
   * Prepares what the command needs, and returns its invocation with all words. Called twice: for
   * people and with `--json`.
   */
  readonly success: (world: CommandWorld) => Prepared;
  /** What standard output shows to people. */
  readonly shows: RegExp;
  readonly failures: readonly [FailingRun, FailingRun, FailingRun, ...FailingRun[]];
}
