/**
 * Execution journal: notes whose code is executing in this cell, for the host to read after a crash
 * (`EXECUTION_JOURNAL` of `wire.ts` has the layout).
 *
 * A record is written when an isolate begins to execute, and again when the next one does: an
 * isolate that is entered again and again, as a busy one is, costs no system call. The owner's id
 * stays after its isolate has stopped, until all messages of the cell are in the pipe: so the host
 * never takes a call for unseen whose first message was lost with the cell. Nothing here allocates
 * while calls run, and a tenant can make none of it fail.
 */
import { writeSync } from 'node:fs';
import { EXECUTION_JOURNAL } from '../protocol/wire.ts';

/** How long the id of an isolate that has stopped stays at least. */
const CLEAR_AFTER_MS = 10;

/** Writes all messages to the pipe. @returns false where some have to wait */
export type FlushOutbox = () => boolean;

/** One record of the file. */
interface JournalRecord {
  readonly position: number;
  /** The isolate whose owner's id the file has there. */
  entry: JournalEntry | undefined;
  state: RecordState;
}

/** `stopping`: the isolate has stopped, and the file still has it as executing. */
type RecordState = 'empty' | 'executing' | 'stopping' | 'stopped';

export class ExecutionJournal {
  readonly #fd: number;
  readonly #flush: FlushOutbox;
  /**
   * All records but the first, which has a state alone, and the last, which names the holder of
   * most memory.
   */
  readonly #records: JournalRecord[] = Array.from({ length: EXECUTION_JOURNAL.records - 2 }, (_, index) => ({
    position: (index + 1) * EXECUTION_JOURNAL.recordBytes,
    entry: undefined,
    state: 'empty',
  }));
  #stopping: JournalRecord[] = [];
  #unsure = false;
  /** More isolates executed at once than there are records: from then on the journal is unsure. */
  #overflowed = false;
  #clearTimer: NodeJS.Timeout | undefined;

  /** @param fd the inherited file */
  constructor(fd: number, flush: FlushOutbox) {
    this.#fd = fd;
    this.#flush = flush;
  }

  /** Notes the owner of the isolate under which the cell's memory has grown most. */
  noteHolder(owner: string): void {
    const bytes = Buffer.alloc(EXECUTION_JOURNAL.recordBytes);
    bytes[0] = EXECUTION_JOURNAL.holds;
    bytes[1] = bytes.write(owner, 2, 'latin1');
    this.#write(bytes, bytes.byteLength, (EXECUTION_JOURNAL.records - 1) * EXECUTION_JOURNAL.recordBytes);
  }

  /** The entry of one isolate. @param owner its owner's id, as the host names it */
  of(owner: string): JournalEntry {
    const bytes = Buffer.alloc(EXECUTION_JOURNAL.recordBytes);
    bytes[0] = EXECUTION_JOURNAL.executing;
    bytes[1] = bytes.write(owner, 2, 'latin1');
    return new JournalEntry(this, bytes);
  }

  /**
   * For `JournalEntry` alone. @param last the record that it had last @returns the record that it
   * has now
   */
  begin(entry: JournalEntry, last: JournalRecord | undefined): JournalRecord | undefined {
    const record = last?.entry === entry ? last : this.#vacant();
    this.#writeStopped(record);
    if (record === undefined) {
      this.#overflowed = true;
      this.#setUnsure(true);
      return undefined;
    }
    if (record.entry !== entry) {
      if (record.entry !== undefined) this.#setUnsure(!this.#flush());
      this.#write(entry.bytes, entry.bytes.byteLength, record.position);
      record.entry = entry;
    } else if (record.state === 'stopped') {
      this.#write(EXECUTING, 1, record.position);
    }
    record.state = 'executing';
    return record;
  }

  /** For `JournalEntry` alone. */
  end(record: JournalRecord): void {
    record.state = 'stopping';
    this.#stopping.push(record);
    this.#clearTimer ??= setTimeout(() => this.#clear(), CLEAR_AFTER_MS);
  }

  #vacant(): JournalRecord | undefined {
    let stopped: JournalRecord | undefined;
    for (const record of this.#records) {
      if (record.state === 'empty') return record;
      if (record.state !== 'executing') stopped ??= record;
    }
    return stopped;
  }

  /** @param next the record that is about to execute */
  #writeStopped(next: JournalRecord | undefined): void {
    if (this.#stopping.length === 0) return;
    for (const record of this.#stopping) {
      if (record === next || record.state !== 'stopping') continue;
      this.#write(STOPPED, 1, record.position);
      record.state = 'stopped';
    }
    this.#stopping = [];
  }

  /**
   * Clears the records of isolates that have stopped: the messages of their calls are in the pipe,
   * or the journal is unsure.
   */
  #clear(): void {
    this.#clearTimer = undefined;
    this.#stopping = [];
    this.#setUnsure(!this.#flush());
    for (const record of this.#records) {
      if (record.state !== 'stopping' && record.state !== 'stopped') continue;
      this.#write(EMPTY, 1, record.position);
      record.state = 'empty';
      record.entry = undefined;
    }
  }

  #setUnsure(unsure: boolean): void {
    const isUnsure = unsure || this.#overflowed;
    if (isUnsure === this.#unsure) return;
    this.#write(isUnsure ? UNSURE : EMPTY, 1, 0);
    this.#unsure = isUnsure;
  }

  #write(bytes: Buffer, length: number, position: number): void {
    writeSync(this.#fd, bytes, 0, length, position);
  }
}

const EMPTY = Buffer.of(EXECUTION_JOURNAL.empty);
const EXECUTING = Buffer.of(EXECUTION_JOURNAL.executing);
const STOPPED = Buffer.of(EXECUTION_JOURNAL.stopped);
const UNSURE = Buffer.of(EXECUTION_JOURNAL.unsure);

/** The entry of one isolate: whether it is executing. */
export class JournalEntry {
  readonly #journal: ExecutionJournal;
  /** Its record. */
  readonly bytes: Buffer;
  #last: JournalRecord | undefined;
  #current: JournalRecord | undefined;

  constructor(journal: ExecutionJournal, bytes: Buffer) {
    this.#journal = journal;
    this.bytes = bytes;
  }

  /** The isolate begins to execute; to be followed by `unset`. */
  set(): void {
    if (this.#current !== undefined) return;
    this.#current = this.#journal.begin(this, this.#last);
    this.#last = this.#current;
  }

  /** The isolate has stopped executing. */
  unset(): void {
    if (this.#current !== undefined) this.#journal.end(this.#current);
    this.#current = undefined;
  }
}
