/** What an isolate knows of the cell around it: who hears of its calls, and what it shares with the others. */
import type { CallEnd, FetchMessage, LogLevel, ScriptExports, StreamMessage } from '../wire.ts';
import type { Answer, CellCall } from './cell-call.ts';
import type { CryptoThreads } from './crypto-jobs.ts';
import type { Engine } from './engine.ts';
import type { Slots } from './slots.ts';
import type { TenantIsolate } from './tenant-isolate.ts';
import type { Watchdog } from './watchdog.ts';

/** Who hears how calls fare. */
export interface CallListener {
  log(call: CellCall, level: LogLevel, text: string): void;
  /** With `end`, the call is over too. */
  answered(call: CellCall, answer: Answer, end?: CallEnd): void;
  ended(call: CellCall, end: CallEnd): void;
  /** A fetch, or a part of a stream. */
  said(message: FetchMessage | StreamMessage, bytes: Buffer): void;
  loaded(isolate: TenantIsolate, exports: ScriptExports): void;
  /** The isolate is gone; the tenant has seen nothing of these calls, and they may run elsewhere. */
  gone(isolate: TenantIsolate, unseen: CellCall[]): void;
  /** The isolate is gone, and still holds a thread. */
  stuck(): void;
}

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
