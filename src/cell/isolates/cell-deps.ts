/** The parts of a cell that all its isolates share. */
import type { IsolateLimits } from '../../protocol/wire.ts';
import type { CryptoThreads } from '../crypto/crypto-jobs.ts';
import type { Engine } from '../engine.ts';
import type { ExecutionJournal } from '../execution-journal.ts';
import type { CellInspector } from '../inspection/cell-inspector.ts';
import type { MainThread } from './main-thread.ts';
import type { MemoryWatch } from './memory-watch.ts';
import type { RecentCpuOfIsolates } from './recent-cpu.ts';
import type { Slots } from './slots.ts';
import type { Watchdog } from './watchdog.ts';

/** What an isolate uses of its cell. */
export interface CellDeps {
  readonly engine: Engine;
  readonly slots: Slots;
  /** Notes whose code executes, for the host to read after a crash. */
  readonly journal: ExecutionJournal;
  readonly recentCpu: RecentCpuOfIsolates;
  readonly mainThread: MainThread;
  readonly watchdog: Pick<Watchdog, 'watch' | 'unwatch' | 'usedMs' | 'lateMs'>;
  /** Finds the isolate that the cell's memory grows under. */
  readonly memory: Pick<MemoryWatch, 'forget'>;
  /** Of the deployment; an isolate whose integration has lower ones is made with those. */
  readonly limits: IsolateLimits;
  readonly cryptoThreads: CryptoThreads;
  /** Absent in production: only a cell that was started for inspection has one. */
  readonly inspector?: CellInspector;
}
