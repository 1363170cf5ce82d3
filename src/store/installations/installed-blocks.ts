/**
 * The blocks that are in reach of a space: those of every integration that its organization has installed and that is active
 * there (`in-reach.ts`). What the quick insert menu lists, what pasted URLs are held against, what code blocks are read as.
 *
 * Blocks stand in documents of spaces: an integration for sites alone has none to offer.
 */
import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Page, PageRequest } from '../../database/page.ts';
import type { Database } from '../../database/tables.ts';
import type { Block } from '../../model/manifest/manifest-blocks.ts';
import { storedManifest } from '../../model/manifest/stored-manifest.ts';
import { readUnfurlPattern, type UnfurlPattern } from '../../model/manifest/unfurl-pattern.ts';
import { scriptKey } from '../../model/target.ts';
import { inReach } from './in-reach.ts';

/** A version is immutable, so what is remembered of it is true for ever. In characters of JSON. */
const CHARS_REMEMBERED = 16 * 1024 * 1024;
const ENTRY_CHARS = 256;
/** Integrations that are read at once: a manifest may have thousands of patterns. */
const BATCH = 20;
/** Integrations that one request looks at: a list goes on in its next page, and whoever looks for one block has enough. */
export const INTEGRATIONS_LOOKED_AT_MAX = 1_000;
/** Blocks, and patterns of them, that whoever looks for one block looks at: they are as long as an organization makes them. */
export const BLOCKS_LOOKED_AT_MAX = 10_000;

/** Whose blocks. */
export interface MenuQuery {
  readonly organization: string;
  /** Absent for those that speak for every space. */
  readonly space?: string | undefined;
}

/** What draws a block. */
export interface BlockHome {
  readonly integration: string;
  readonly installationId: string;
  /** Where it is what is installed in the space that draws it. */
  readonly space?: string;
}

/** A block as a version has it. */
export interface MenuBlock {
  readonly block: Block;
  /** Those of its patterns that can be read: versions may be older than the rules. */
  readonly patterns: readonly UnfurlPattern[];
}

export interface InstalledBlock extends MenuBlock {
  readonly home: BlockHome;
}

interface HomeRow {
  readonly integration: string;
  readonly installation_id: string;
  readonly number: number;
  readonly space: string | null;
}

export class InstalledBlocks {
  readonly #database: Database;
  readonly #versions = new LRUCache<string, readonly MenuBlock[]>({
    maxSize: CHARS_REMEMBERED,
    sizeCalculation: (blocks) => ENTRY_CHARS + JSON.stringify(blocks).length,
  });

  constructor({ database }: { readonly database: Database }) {
    this.#database = database;
  }

  /** By the name of the integration, then as its manifest has them. A page may be short, and is the last if it has no cursor. */
  async page({ cursor, limit, ...query }: MenuQuery & PageRequest): Promise<Page<InstalledBlock>> {
    const from = cursor === undefined ? undefined : placeOf(cursor);
    const items: InstalledBlock[] = [];
    let next: string | undefined;
    let looked = 0;
    for await (const [home, blocks] of this.#homes(query, from?.integration)) {
      const shown = from?.integration === home.integration ? from.index + 1 : 0;
      for (const [index, block] of blocks.entries()) {
        if (index < shown) continue;
        if (items.length === limit) return next === undefined ? { items } : { items, next };
        items.push({ home, ...block });
        next = `${home.integration}/${index}`;
      }
      looked += 1;
      next = `${home.integration}/${blocks.length}`;
    }
    return looked < INTEGRATIONS_LOOKED_AT_MAX || next === undefined ? { items } : { items, next };
  }

  /**
   * In the same order, of the first `INTEGRATIONS_LOOKED_AT_MAX` integrations, until there are `BLOCKS_LOOKED_AT_MAX` blocks and
   * patterns. The attack: a thousand integrations of a hundred blocks each, all of which each pasted URL would be held against.
   */
  async all(query: MenuQuery): Promise<InstalledBlock[]> {
    const found: InstalledBlock[] = [];
    let lookedAt = 0;
    for await (const [home, blocks] of this.#homes(query, undefined)) {
      for (const block of blocks) {
        lookedAt += 1 + block.patterns.length;
        if (lookedAt > BLOCKS_LOOKED_AT_MAX) return found;
        found.push({ home, ...block });
      }
    }
    return found;
  }

  /** @param from the name to begin with */
  async *#homes(
    query: MenuQuery,
    from: string | undefined,
  ): AsyncGenerator<readonly [BlockHome, readonly MenuBlock[]]> {
    let after: string | undefined;
    for (let looked = 0; looked < INTEGRATIONS_LOOKED_AT_MAX; looked += BATCH) {
      const rows = await this.#rows(query, from, after);
      const known = await this.#blocksOf(rows);
      for (const row of rows) {
        const { integration, installation_id: installationId, number, space } = row;
        const home = { integration, installationId, ...(space !== null && { space }) };
        yield [home, known.get(scriptKey(integration, number)) ?? []];
      }
      after = rows.at(-1)?.integration;
      if (rows.length < BATCH) return;
    }
  }

  #rows(
    { organization, space = '' }: MenuQuery,
    from: string | undefined,
    after: string | undefined,
  ): Promise<HomeRow[]> {
    let select = inReach(this.#database, { organization, level: 'space', place: space }).select(
      'there.place as space',
    );
    if (after !== undefined) select = select.where('whole.integration', '>', after);
    else if (from !== undefined) select = select.where('whole.integration', '>=', from);
    return select.limit(BATCH).execute();
  }

  /** What versions offer, by their key: from memory, or all the others in one statement. */
  async #blocksOf(rows: readonly HomeRow[]): Promise<ReadonlyMap<string, readonly MenuBlock[]>> {
    const known = new Map<string, readonly MenuBlock[]>();
    const missing: HomeRow[] = [];
    for (const row of rows) {
      const blocks = this.#versions.get(scriptKey(row.integration, row.number));
      if (blocks === undefined) missing.push(row);
      else known.set(scriptKey(row.integration, row.number), blocks);
    }
    if (missing.length === 0) return known;
    const read = await this.#database
      .selectFrom('versions')
      .select(['integration', 'number', 'manifest'])
      .where((where) =>
        where.or(
          missing.map(({ integration, number }) =>
            where.and([where('integration', '=', integration), where('number', '=', number)]),
          ),
        ),
      )
      .execute();
    for (const { integration, number, manifest } of read) {
      const blocks = menuBlocks(manifest);
      this.#versions.set(scriptKey(integration, number), blocks);
      known.set(scriptKey(integration, number), blocks);
      // Each may have cost some milliseconds.
      await setImmediate();
    }
    return known;
  }
}

function menuBlocks(json: string): readonly MenuBlock[] {
  const { target, blocks } = storedManifest(json);
  if (target === 'site') return [];
  return blocks.map((block) => ({
    block,
    patterns: (block.urlUnfurl ?? []).flatMap((text) => readUnfurlPattern(text) ?? []),
  }));
}

/** The last block that was shown. A cursor that names none begins where it would be. */
function placeOf(cursor: string): { integration: string; index: number } {
  const at = cursor.lastIndexOf('/');
  const index = Number(cursor.slice(at + 1));
  return { integration: cursor.slice(0, Math.max(at, 0)), index: Number.isSafeInteger(index) ? index : -1 };
}
