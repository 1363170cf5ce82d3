/**
 * The execution journal of one cell: a scratch file in which the cell notes whose code executes.
 * The host reads it when the cell has died (docs/decisions/execution-journal.md).
 *
 * A file and not a message: a dying process loses what it has not sent, and a file keeps what was
 * written. It has no name, so no other process can open it, and it ends with its last descriptor.
 * Its content is hostile input: it is bounded, and only owners that had tasks in the cell count. So
 * a cell that was taken over can blame only its own tenants for its end.
 */
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXECUTION_JOURNAL } from '../../protocol/wire.ts';

/** What the journal says when the cell has died. */
export interface ExecutionJournalRead {
  /** Owners whose code was executing. */
  readonly executing: ReadonlySet<string>;
  /**
   * Those, and owners whose code had just stopped: messages of their calls may not have reached the
   * host.
   */
  readonly touched: ReadonlySet<string>;
  /** The owner during whose entries the cell has grown most, as the cell reports it. */
  readonly holder?: string;
  /** Messages of the calls of any owner may not have reached the host. */
  readonly unsure: boolean;
}

const FILE_BYTES = EXECUTION_JOURNAL.recordBytes * EXECUTION_JOURNAL.records;
const ID_AT = 2;

export class ExecutionJournalReader {
  /** The descriptor that the cell inherits. */
  readonly fd: number;
  #open = true;

  constructor() {
    const folder = mkdtempSync(join(tmpdir(), 'annex-marks-'));
    try {
      this.fd = openSync(join(folder, 'marks'), 'wx+', 0o600);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /**
   * Whether the file is larger than a journal. Attack: a cell that was taken over fills the disk.
   */
  get overgrown(): boolean {
    return this.#open && fstatSync(this.fd).size > FILE_BYTES;
  }

  /** What the cell noted last. */
  read(): ExecutionJournalRead {
    const executing = new Set<string>();
    const touched = new Set<string>();
    if (!this.#open) return { executing, touched, unsure: true };
    const bytes = Buffer.alloc(FILE_BYTES);
    readSync(this.fd, bytes, 0, FILE_BYTES, 0);
    let holder: string | undefined;
    for (let at = EXECUTION_JOURNAL.recordBytes; at < FILE_BYTES; at += EXECUTION_JOURNAL.recordBytes) {
      const state = bytes.readUInt8(at);
      if (
        state !== EXECUTION_JOURNAL.executing &&
        state !== EXECUTION_JOURNAL.stopped &&
        state !== EXECUTION_JOURNAL.holds
      )
        continue;
      const idAt = at + ID_AT;
      const chars = Math.min(bytes.readUInt8(at + 1), EXECUTION_JOURNAL.recordBytes - ID_AT);
      const owner = bytes.toString('latin1', idAt, idAt + chars);
      if (state === EXECUTION_JOURNAL.holds) {
        holder = owner;
        continue;
      }
      touched.add(owner);
      if (state === EXECUTION_JOURNAL.executing) executing.add(owner);
    }
    return {
      executing,
      touched,
      ...(holder !== undefined && { holder }),
      unsure: bytes.readUInt8(0) !== EXECUTION_JOURNAL.empty,
    };
  }

  /** Idempotent. */
  close(): void {
    if (this.#open) closeSync(this.fd);
    this.#open = false;
  }
}
