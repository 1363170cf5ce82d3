/** What an isolate shares with the others of its cell. */
import type { CryptoThreads } from './crypto-jobs.ts';
import type { Engine } from './engine.ts';
import type { Slots } from './slots.ts';
import type { Watchdog } from './watchdog.ts';

/** What an isolate needs of its cell. */
export interface IsolateHome {
  readonly engine: Engine;
  readonly slots: Slots;
  readonly watchdog: Watchdog;
  readonly responseBytesMax: number;
  readonly heapMib: number;
  readonly timersPerCall: number;
  readonly cryptoThreads: CryptoThreads;
}
