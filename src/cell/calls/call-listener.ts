/**
 * Receives the events of an isolate's calls: answers, ends, log lines. Implemented by the cell,
 * which sends them to the host.
 */
import type { CallEnd, FetchMessage, LogLevel, ScriptExports, StreamMessage } from '../../protocol/wire.ts';
import type { TenantIsolate } from '../isolates/tenant-isolate.ts';
import type { Answer, CellCall } from './cell-call.ts';

export interface CallListener {
  log(call: CellCall, level: LogLevel, text: string): void;
  /** With `end`, the call is over too. */
  answered(call: CellCall, answer: Answer, end?: CallEnd): void;
  ended(call: CellCall, end: CallEnd): void;
  /** A fetch, or a part of a stream, for the host. */
  sent(message: FetchMessage | StreamMessage, bytes: Buffer): void;
  loaded(isolate: TenantIsolate, exports: ScriptExports): void;
  /**
   * The isolate has been disposed of; the tenant has seen nothing of these calls, and they may run
   * elsewhere.
   */
  disposed(isolate: TenantIsolate, unseen: CellCall[]): void;
  /** The tenant has seen the call, and no message about it has been sent to the host yet. */
  begun(call: CellCall): void;
  /** The isolate has been disposed of and still holds a thread, or has broken the engine. */
  stuck(isolate: TenantIsolate): void;
}
