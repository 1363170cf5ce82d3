/**
 * The scratch file in which a cell notes who is executing, for the host to read once the cell has died of it.
 *
 * A file and not a message: what a dying process has not sent yet is lost, what it has written to a file is there. It has
 * no name, so nobody else can open it, and it goes with its last descriptor. What it says is hostile input: it is bounded,
 * and its reader takes only those for executing that the cell had work of. A cell that was taken over can therefore blame
 * its own tenants for its end, and nobody else.
 */
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXECUTION_JOURNAL } from '../protocol/wire.ts';

/** What was found when the cell had died. */
export interface ExecutionJournalRead {
  /** The owners whose code was executing. */
  readonly executing: ReadonlySet<string>;
  /** Those, and the ones that had just stopped: something of their calls may not have reached the host. */
  readonly touched: ReadonlySet<string>;
  /** The owner under whose isolate the cell has grown most, by the cell's own account. */
  readonly holder?: string;
  /** So it is of everybody's. */
  readonly unsure: boolean;
}

const FILE_BYTES = EXECUTION_JOURNAL.recordBytes * EXECUTION_JOURNAL.records;
const ID_AT = 2;

export class ExecutionJournalReader {
  /** For the cell to inherit. */
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

  /** Whether the cell has written more than marks. Attack: a cell that was taken over fills the disk. */
  get overgrown(): boolean {
    return this.#open && fstatSync(this.fd).size > FILE_BYTES;
  }

  /** What the cell has noted last. */
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
