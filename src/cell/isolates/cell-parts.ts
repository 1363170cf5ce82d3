/** What an isolate shares with the others of its cell. */
import type { IsolateLimits } from '../../protocol/wire.ts';
import type { CryptoThreads } from '../crypto/crypto-jobs.ts';
import type { Engine } from '../engine.ts';
import type { ExecutionJournal } from '../execution-journal.ts';
import type { CpuUses } from './cpu-use.ts';
import type { MainThread } from './main-thread.ts';
import type { MemoryWatch } from './memory-watch.ts';
import type { Slots } from './slots.ts';
import type { Watchdog } from './watchdog.ts';

/** What an isolate needs of its cell. */
export interface CellParts {
  readonly engine: Engine;
  readonly slots: Slots;
  /** Where it is noted who executes. */
  readonly marks: ExecutionJournal;
  readonly cpuUses: CpuUses;
  readonly mainThread: MainThread;
  readonly watchdog: Pick<Watchdog, 'watch' | 'unwatch'>;
  /** Where it is found out what memory grows under. */
  readonly memory: Pick<MemoryWatch, 'forget'>;
  /** The deployment's; an isolate whose integration has lower ones is told its own. */
  readonly limits: IsolateLimits;
  readonly cryptoThreads: CryptoThreads;
}
