/**
 * Receives the events of an isolate's calls: answers, ends, log lines. Implemented by the cell,
 * which sends them to the host.
 */
import type { CallEnd, FetchMessage, LogLevel, StoreMessage, StreamMessage } from '../../protocol/wire.ts';
import type { Answer, CellCall } from './cell-call.ts';

export interface CallListener {
  log(call: CellCall, level: LogLevel, text: string): void;
  /** With `end`, the call is over too. */
  answered(call: CellCall, answer: Answer, end?: CallEnd): void;
  ended(call: CellCall, end: CallEnd): void;
  /** A fetch, an operation of storage, or a part of a stream, for the host. */
  sent(message: FetchMessage | StoreMessage | StreamMessage, bytes: Buffer): void;
  /** The tenant has seen the call, and no message about it has been sent to the host yet. */
  begun(call: CellCall): void;
}
