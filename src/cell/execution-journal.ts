/**
 * Notes whose code is executing in this cell, where the host finds it after a crash (`EXECUTION_JOURNAL` of the wire).
 *
 * A record is written when an isolate begins to execute, and again when the next one does: an isolate that is entered
 * over and over, as a busy one is, costs no system call. The id of one that has stopped stays until all that the cell has
 * said is in the pipe, so that the host never takes a call for untouched of which it was about to hear. Nothing here
 * allocates while calls run, and a tenant can make none of it fail.
 */
import { writeSync } from 'node:fs';
import { EXECUTION_JOURNAL } from '../protocol/wire.ts';

/** How long the id of one that has stopped stays at least. */
const SWEEP_AFTER_MS = 10;

/** Puts all that has been said into the pipe. @returns false where some of it has to wait */
export type FlushWords = () => boolean;

/** One record of the file. */
interface JournalRecord {
  readonly position: number;
  /** Whose id the file has there. */
  mark: JournalEntry | undefined;
  state: RecordState;
}

/** `resting` is one that has stopped and of which the file does not know it yet. */
type RecordState = 'empty' | 'executing' | 'resting' | 'stopped';

export class ExecutionJournal {
  readonly #fd: number;
  readonly #flush: FlushWords;
  /** All but the first, of which there is only a state, and the last, which is the holder's. */
  readonly #records: JournalRecord[] = Array.from({ length: EXECUTION_JOURNAL.records - 2 }, (_, index) => ({
    position: (index + 1) * EXECUTION_JOURNAL.recordBytes,
    mark: undefined,
    state: 'empty',
  }));
  #resting: JournalRecord[] = [];
  #unsure = false;
  /** More executed at once than there are records: from then on nobody can be called idle. */
  #overflowed = false;
  #sweep: NodeJS.Timeout | undefined;

  /** @param fd the inherited file */
  constructor(fd: number, flush: FlushWords) {
    this.#fd = fd;
    this.#flush = flush;
  }

  /** Notes whose isolate the cell has grown most under. */
  hold(owner: string): void {
    const bytes = Buffer.alloc(EXECUTION_JOURNAL.recordBytes);
    bytes[0] = EXECUTION_JOURNAL.holds;
    bytes[1] = bytes.write(owner, 2, 'latin1');
    this.#write(bytes, bytes.byteLength, (EXECUTION_JOURNAL.records - 1) * EXECUTION_JOURNAL.recordBytes);
  }

  /** The mark of one isolate. @param owner whose it is, an id of the host's */
  of(owner: string): JournalEntry {
    const bytes = Buffer.alloc(EXECUTION_JOURNAL.recordBytes);
    bytes[0] = EXECUTION_JOURNAL.executing;
    bytes[1] = bytes.write(owner, 2, 'latin1');
    return new JournalEntry(this, bytes);
  }

  /** For `JournalEntry` alone. @param last the record that stood for it last @returns the one that does now */
  begin(mark: JournalEntry, last: JournalRecord | undefined): JournalRecord | undefined {
    const record = last?.mark === mark ? last : this.#vacant();
    this.#noteResting(record);
    if (record === undefined) {
      this.#overflowed = true;
      this.#doubt(true);
      return undefined;
    }
    if (record.mark !== mark) {
      if (record.mark !== undefined) this.#doubt(!this.#flush());
      this.#write(mark.bytes, mark.bytes.byteLength, record.position);
      record.mark = mark;
    } else if (record.state === 'stopped') {
      this.#write(EXECUTING, 1, record.position);
    }
    record.state = 'executing';
    return record;
  }

  /** For `JournalEntry` alone. */
  end(record: JournalRecord): void {
    record.state = 'resting';
    this.#resting.push(record);
    this.#sweep ??= setTimeout(() => this.#clear(), SWEEP_AFTER_MS);
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
  #noteResting(next: JournalRecord | undefined): void {
    if (this.#resting.length === 0) return;
    for (const record of this.#resting) {
      if (record === next || record.state !== 'resting') continue;
      this.#write(STOPPED, 1, record.position);
      record.state = 'stopped';
    }
    this.#resting = [];
  }

  /** All has been said of those that have stopped: their calls are over, or the host knows of them. */
  #clear(): void {
    this.#sweep = undefined;
    this.#resting = [];
    this.#doubt(!this.#flush());
    for (const record of this.#records) {
      if (record.state !== 'resting' && record.state !== 'stopped') continue;
      this.#write(EMPTY, 1, record.position);
      record.state = 'empty';
      record.mark = undefined;
    }
  }

  #doubt(unsure: boolean): void {
    const doubtful = unsure || this.#overflowed;
    if (doubtful === this.#unsure) return;
    this.#write(doubtful ? UNSURE : EMPTY, 1, 0);
    this.#unsure = doubtful;
  }

  #write(bytes: Buffer, length: number, position: number): void {
    writeSync(this.#fd, bytes, 0, length, position);
  }
}

const EMPTY = Buffer.of(EXECUTION_JOURNAL.empty);
const EXECUTING = Buffer.of(EXECUTION_JOURNAL.executing);
const STOPPED = Buffer.of(EXECUTION_JOURNAL.stopped);
const UNSURE = Buffer.of(EXECUTION_JOURNAL.unsure);

/** Whether one isolate executes. */
export class JournalEntry {
  readonly #marks: ExecutionJournal;
  /** Its record. */
  readonly bytes: Buffer;
  #last: JournalRecord | undefined;
  #current: JournalRecord | undefined;

  constructor(marks: ExecutionJournal, bytes: Buffer) {
    this.#marks = marks;
    this.bytes = bytes;
  }

  /** It begins to execute; to be followed by `unset`. */
  set(): void {
    if (this.#current !== undefined) return;
    this.#current = this.#marks.begin(this, this.#last);
    this.#last = this.#current;
  }

  unset(): void {
    if (this.#current !== undefined) this.#marks.end(this.#current);
    this.#current = undefined;
  }
}
