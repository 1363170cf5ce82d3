/**
 * A disk whose power goes: files as they would be found afterwards, given what was written and what was synced.
 *
 * What was synced is there. Of what was written since, anything may be: nothing, all of it, or some sectors and not others, in
 * whatever order the disk found convenient. That a file is there, or gone, is taken to be known at once, as file systems with a
 * journal have it by the time that anything later is synced.
 */
import type { TracedCall } from './traced-writes.ts';

/** What becomes of what was written and not synced. */
export type Unsynced = 'lost' | 'kept' | 'torn';

const SECTOR_BYTES = 512;

type Change = Extract<TracedCall, { kind: 'write' | 'truncate' }>;

interface File {
  synced: Buffer;
  /** Since then. */
  changes: Change[];
}

export class PowerCut {
  readonly #files = new Map<string, File>();
  readonly #chance: () => number;

  /** @param files as they were before the first call */
  constructor(files: ReadonlyMap<string, Buffer>, chance: () => number) {
    for (const [path, synced] of files) this.#files.set(path, { synced, changes: [] });
    this.#chance = chance;
  }

  /** Takes the next call. */
  take(call: TracedCall): void {
    if (call.kind === 'send') return;
    if (call.kind === 'remove') {
      this.#files.delete(call.file);
      return;
    }
    const file = this.#file(call.file);
    if (call.kind !== 'sync') {
      file.changes.push(call);
      return;
    }
    file.synced = applied(file.synced, file.changes);
    file.changes = [];
  }

  /** The files, were the power to go now. */
  found(unsynced: Unsynced): Map<string, Buffer> {
    return new Map([...this.#files].map(([path, file]) => [path, this.#after(file, unsynced)]));
  }

  #file(path: string): File {
    const known = this.#files.get(path) ?? { synced: Buffer.alloc(0), changes: [] };
    this.#files.set(path, known);
    return known;
  }

  #after({ synced, changes }: File, unsynced: Unsynced): Buffer {
    if (unsynced === 'lost') return synced;
    const reached = unsynced === 'kept' ? changes : changes.flatMap((change) => this.#sectorsOf(change));
    return applied(synced, reached);
  }

  /** Those that have reached the disk, each by chance. */
  #sectorsOf(change: Change): Change[] {
    if (change.kind === 'truncate') return this.#chance() < 0.5 ? [change] : [];
    const { file, at, bytes } = change;
    const sectors: Change[] = [];
    for (let from = 0; from < bytes.length; ) {
      // Sectors of the disk, not of the write.
      const to = Math.min(bytes.length, from + SECTOR_BYTES - ((at + from) % SECTOR_BYTES));
      if (this.#chance() < 0.5)
        sectors.push({ kind: 'write', file, at: at + from, bytes: bytes.subarray(from, to) });
      from = to;
    }
    return sectors;
  }
}

/** The content after the changes, in their order. */
function applied(content: Buffer, changes: readonly Change[]): Buffer {
  if (changes.length === 0) return content;
  const ends = changes.map((change) =>
    change.kind === 'truncate' ? change.size : change.at + change.bytes.length,
  );
  const changed = Buffer.alloc(Math.max(content.length, ...ends));
  content.copy(changed);
  let { length } = content;
  for (const [index, change] of changes.entries()) {
    const end = ends[index] ?? 0;
    if (change.kind === 'write') {
      change.bytes.copy(changed, change.at);
      length = Math.max(length, end);
      continue;
    }
    // What a file loses comes back as zeros where it grows again.
    changed.fill(0, end);
    length = end;
  }
  return changed.subarray(0, length);
}
