/** Why a cell died, and which installations may have caused it. */
import type { ExecutionJournalRead } from './execution-journal-reader.ts';

/** Why a cell died that should have lived; the label of a metric, so their number is fixed. */
export const DEATH_REASONS = [
  /** The process ended by itself: a signal that it raised, an exit. */
  'crashed',
  /** Killed from outside, neither by the host nor by a kernel short of memory. */
  'killed',
  /** Grew past its bound, or was chosen by the kernel when memory ran out. */
  'memory',
  /** Did not answer pings. */
  'silent',
  /** Held a call past its wall time. */
  'overdue',
  /** Sent a message that no honest cell sends. */
  'breach',
  /** Lost a thread, or its engine. */
  'stuck',
] as const;
export type DeathReason = (typeof DEATH_REASONS)[number];

/**
 * Where no owner was executing, those with calls in the cell are suspects; beyond this number they
 * say nothing.
 */
const SUSPECTS_WITH_CALLS_MAX = 8;

export interface CellDeath {
  /** Absent where the cell was ended because it was no longer needed. */
  readonly reason?: DeathReason;
  /** Installations that may have caused it: their code was executing. */
  readonly suspects: readonly string[];
}

/** What is known of a cell when its process has ended. */
/** Owners of the tasks that the cell had. */
export interface TasksAtDeath {
  hasOwner(owner: string): boolean;
  /** Owners of tasks that have begun, each once. */
  begunOwners(): string[];
}

export interface DeathEvidence {
  /** Why the host killed it; undefined where it ended by itself. */
  readonly killedFor: DeathReason | 'retired' | undefined;
  readonly signal: NodeJS.Signals | null;
  /**
   * Whether the kernel has just run out of memory; where it does not report that, whether the cell
   * was large.
   */
  readonly outOfMemory: () => boolean;
  readonly journal: Pick<ExecutionJournalRead, 'executing' | 'holder'>;
  readonly tasks: TasksAtDeath;
  /** Owners that are known to be the reason. */
  readonly culprits: readonly string[];
  /** The culprits were reported before, when the cell was found unwell. */
  readonly culpritsReported: boolean;
  /** The cell grew faster than its own account explains. */
  readonly leapt: boolean;
}

export function deathOf(evidence: DeathEvidence): CellDeath {
  const { killedFor, journal, tasks, culprits } = evidence;
  if (killedFor === 'retired') return { suspects: [] };
  const reason = killedFor ?? reasonByItself(evidence);
  if (reason === 'killed') return { reason, suspects: [] };
  // One end is not to count twice.
  if (culprits.length > 0) return { reason, suspects: evidence.culpritsReported ? [] : culprits };
  // Attack: one installation fills memory over many calls, so that another one executes when it
  // runs out.
  const { holder, executing } = journal;
  if (reason === 'memory' && holder !== undefined && tasks.hasOwner(holder))
    return { reason, suspects: [holder] };
  if (reason === 'memory' && !evidence.leapt) return { reason, suspects: [] };
  const journaled = [...executing].filter((owner) => tasks.hasOwner(owner));
  if (journaled.length > 0) return { reason, suspects: journaled };
  // No code was executing: the death may be the late effect of any call that has begun.
  const begun = tasks.begunOwners();
  return { reason, suspects: begun.length > SUSPECTS_WITH_CALLS_MAX ? [] : begun };
}

function reasonByItself({ signal, outOfMemory }: DeathEvidence): DeathReason {
  if (signal !== 'SIGKILL') return 'crashed';
  return outOfMemory() ? 'memory' : 'killed';
}
