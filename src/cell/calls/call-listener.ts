/** Who hears how the calls of an isolate fare: its cell, which tells the host. */
import type { CallEnd, FetchMessage, LogLevel, ScriptExports, StreamMessage } from '../../protocol/wire.ts';
import type { TenantIsolate } from '../isolates/tenant-isolate.ts';
import type { Answer, CellCall } from './cell-call.ts';

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
  /** The tenant has seen the call, and nothing has been said of it yet. */
  begun(call: CellCall): void;
  /** The isolate is gone, and still holds a thread. */
  stuck(isolate: TenantIsolate): void;
}
