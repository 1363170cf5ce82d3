/**
 * Simulates a disk that loses power: computes the files as they are afterwards, from the writes and
 * syncs before.
 *
 * Synced bytes are kept. Of later writes, none, all or some sectors may be kept, in any order. That
 * a file exists or was removed is taken to be on the disk at once, as file systems with a journal
 * have it by the next sync.
 */
import type { TracedCall } from './traced-writes.ts';

/** What happens to writes that were not synced; `torn`: some sectors of them are kept. */
export type Unsynced = 'lost' | 'kept' | 'torn';

const SECTOR_BYTES = 512;

type Change = Extract<TracedCall, { kind: 'write' | 'truncate' }>;

interface File {
  readonly synced: Content;
  /** Writes since the last sync. */
  changes: Change[];
}

export class PowerCut {
  readonly #files = new Map<string, File>();
  readonly #random: () => number;

  /** @param files as they were before the first call */
  constructor(files: ReadonlyMap<string, Buffer>, random: () => number) {
    for (const [path, bytes] of files) this.#files.set(path, { synced: new Content(bytes), changes: [] });
    this.#random = random;
  }

  /** Takes the next call. */
  take(call: TracedCall): void {
    if (call.kind === 'send') return;
    if (call.kind === 'remove') {
      this.#files.delete(call.file);
      return;
    }
    if (call.kind === 'rename') {
      this.#files.set(call.to, this.#file(call.file));
      this.#files.delete(call.file);
      return;
    }
    const file = this.#file(call.file);
    if (call.kind !== 'sync') {
      file.changes.push(call);
      return;
    }
    file.synced.apply(file.changes);
    file.changes = [];
  }

  /** The files as they are if power fails now. */
  found(unsynced: Unsynced): Map<string, Buffer> {
    return new Map([...this.#files].map(([path, file]) => [path, this.#after(file, unsynced)]));
  }

  #file(path: string): File {
    const known = this.#files.get(path) ?? { synced: new Content(Buffer.alloc(0)), changes: [] };
    this.#files.set(path, known);
    return known;
  }

  #after({ synced, changes }: File, unsynced: Unsynced): Buffer {
    const found = new Content(synced.bytes);
    if (unsynced === 'kept') found.apply(changes);
    if (unsynced === 'torn') found.apply(changes.flatMap((change) => this.#sectorsOf(change)));
    return found.bytes;
  }

  /** A random choice of the sectors of a write. */
  #sectorsOf(change: Change): Change[] {
    if (change.kind === 'truncate') return this.#random() < 0.5 ? [change] : [];
    const { file, at, bytes } = change;
    const sectors: Change[] = [];
    for (let from = 0; from < bytes.length; ) {
      // Aligned to sectors of the disk, not to the write.
      const to = Math.min(bytes.length, from + SECTOR_BYTES - ((at + from) % SECTOR_BYTES));
      if (this.#random() < 0.5)
        sectors.push({ kind: 'write', file, at: at + from, bytes: bytes.subarray(from, to) });
      from = to;
    }
    return sectors;
  }
}

/**
 * The content of a file, changed in place: a copy at each of thousands of syncs would take most of
 * the time.
 */
class Content {
  #room: Buffer;
  #length: number;

  constructor(bytes: Buffer) {
    this.#room = Buffer.from(bytes);
    this.#length = bytes.length;
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  /** Makes the changes, in their order. */
  apply(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.kind === 'truncate') this.#truncate(change.size);
      else this.#write(change.at, change.bytes);
    }
  }

  #write(at: number, bytes: Buffer): void {
    const end = at + bytes.length;
    this.#grow(end);
    bytes.copy(this.#room, at);
    this.#length = Math.max(this.#length, end);
  }

  #truncate(size: number): void {
    this.#grow(size);
    // Bytes that a file loses are zeros when it grows again.
    if (size < this.#length) this.#room.fill(0, size, this.#length);
    this.#length = size;
  }

  #grow(length: number): void {
    if (length <= this.#room.length) return;
    const larger = Buffer.alloc(length * 2);
    this.#room.copy(larger, 0, 0, this.#length);
    this.#room = larger;
  }
}
