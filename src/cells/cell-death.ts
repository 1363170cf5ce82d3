/** How a cell came to its end, and who was executing in it: what its owner is told. */

/** Why a cell died that should have lived; the label of a metric, so their number is fixed. */
export const DEATH_REASONS = [
  /** The process ended by itself: a signal of its own making, an exit. */
  'crashed',
  /** Killed from outside, by somebody who is not us and not the kernel short of memory. */
  'killed',
  /** Grew past its bound, or was chosen by the kernel when memory ran out. */
  'memory',
  /** Did not answer. */
  'silent',
  /** Held a call past its wall time. */
  'overdue',
  /** Said something that no cell of ours says. */
  'breach',
  /** Lost a thread, or its engine. */
  'stuck',
] as const;
export type DeathReason = (typeof DEATH_REASONS)[number];

export interface CellDeath {
  /** Absent where it was ended because nobody needs it any more. */
  readonly reason?: DeathReason;
  /** Those who may have caused it: installations whose code was executing. */
  readonly suspects: readonly string[];
}
