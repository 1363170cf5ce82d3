/**
 * A place for a cell, with the process that is in it now. `placement.ts` decides which installation
 * runs in which place; the pool starts and ends the processes.
 */
import type { CellProcess } from './cell-process.ts';

export type PlaceKind = 'shared' | 'heavy' | 'trial' | 'quarantine';

/** A place for a cell: it outlives the process in it. */
export class CellPlace {
  readonly kind: PlaceKind;
  /** Absent where the cell is started on demand and not needed. */
  cell: CellProcess | undefined;
  /** Cells in a row that died before they were ready. */
  failedStarts = 0;
  /** After a failed start, the next one is not before this time. */
  retryAt = 0;
  /** Other installations run here now: the next call gets a fresh cell. */
  stale = false;
  /** Since when the cell has had no task. */
  idleSince: number | undefined;
  /** How many tasks the cell had been given by then. */
  tasks = 0;

  constructor(kind: PlaceKind) {
    this.kind = kind;
  }
}
