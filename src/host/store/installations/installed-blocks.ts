/**
 * Blocks in reach of a space: those of all integrations installed and active there
 * (`reach-rule.ts`). The insert menu lists them, pasted URLs are matched against their patterns,
 * and code blocks against their languages (docs/contract/manifest.md#blocks).
 *
 * Blocks appear in documents of spaces, so an integration whose `target` is `site` has none to
 * offer.
 */
import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Block } from '../../../model/manifest/manifest-blocks.ts';
import { storedManifest } from '../../../model/manifest/stored-manifest.ts';
import { readUnfurlPattern, type UnfurlPattern } from '../../../model/manifest/unfurl-pattern.ts';
import { scriptKey } from '../../../model/target.ts';
import type { Page, PageRequest } from '../../database/page.ts';
import type { Database } from '../../database/tables.ts';
import { inReach } from './reach-rule.ts';

/** Size of the cache in characters of JSON. Versions never change, so entries stay valid. */
const CHARS_CACHED = 16 * 1024 * 1024;
const ENTRY_CHARS = 256;
/** Integrations read at once: a manifest may have thousands of patterns. */
const BATCH = 20;
/**
 * Integrations that one request reads: a list continues on its next page, and a search for one
 * block ends.
 */
export const INTEGRATIONS_READ_MAX = 1_000;
/**
 * Blocks and patterns that a search for one block checks: an organization can publish as many as it
 * likes.
 */
export const BLOCKS_CHECKED_MAX = 10_000;

/** Selects the blocks of one space. */
export interface MenuQuery {
  readonly organization: string;
  /** Absent: only blocks of installations that cover all spaces. */
  readonly space?: string | undefined;
}

/** The target that renders a block. */
export interface BlockHome {
  readonly integration: string;
  /** Key of the integration's own endpoint. */
  readonly integrationKey: string;
  readonly installationId: string;
  /** Set if the installation's target in this space renders it. */
  readonly space?: string;
}

/** A block of a version. */
export interface MenuBlock {
  readonly block: Block;
  /** Its patterns that can be parsed: a version may be older than the rules for patterns. */
  readonly patterns: readonly UnfurlPattern[];
}

export interface InstalledBlock extends MenuBlock {
  readonly home: BlockHome;
}

interface HomeRow {
  readonly integration: string;
  readonly integration_key: string;
  readonly installation_id: string;
  readonly number: number;
  readonly space: string | null;
}

export class InstalledBlocks {
  readonly #database: Database;
  readonly #onError: (error: unknown) => void;
  readonly #versions = new LRUCache<string, readonly MenuBlock[]>({
    maxSize: CHARS_CACHED,
    sizeCalculation: (blocks) => ENTRY_CHARS + JSON.stringify(blocks).length,
  });

  /** @param onError receives the errors of damaged rows, which are left out */
  constructor({ database, onError }: { database: Database; onError: (error: unknown) => void }) {
    this.#database = database;
    this.#onError = onError;
  }

  /**
   * Sorted by integration name, then as in the manifest. A page may be short; only one without a
   * cursor is the last.
   */
  async page({ cursor, limit, ...query }: MenuQuery & PageRequest): Promise<Page<InstalledBlock>> {
    const from = cursor === undefined ? undefined : placeOf(cursor);
    const items: InstalledBlock[] = [];
    let next: string | undefined;
    let read = 0;
    for await (const [home, blocks] of this.#homes(query, from?.integration)) {
      const shown = from?.integration === home.integration ? from.index + 1 : 0;
      for (const [index, block] of blocks.entries()) {
        if (index < shown) continue;
        if (items.length === limit) return next === undefined ? { items } : { items, next };
        items.push({ home, ...block });
        next = `${home.integration}/${index}`;
      }
      read += 1;
      next = `${home.integration}/${blocks.length}`;
    }
    return read < INTEGRATIONS_READ_MAX || next === undefined ? { items } : { items, next };
  }

  /**
   * In the same order, from the first `INTEGRATIONS_READ_MAX` integrations, at most
   * `BLOCKS_CHECKED_MAX` blocks and patterns. Attack: a thousand integrations of a hundred blocks
   * each, against all of which each pasted URL would be matched.
   */
  async all(query: MenuQuery): Promise<InstalledBlock[]> {
    const found: InstalledBlock[] = [];
    let checked = 0;
    for await (const [home, blocks] of this.#homes(query, undefined)) {
      for (const block of blocks) {
        checked += 1 + block.patterns.length;
        if (checked > BLOCKS_CHECKED_MAX) return found;
        found.push({ home, ...block });
      }
    }
    return found;
  }

  /** @param from name of the first integration */
  async *#homes(
    query: MenuQuery,
    from: string | undefined,
  ): AsyncGenerator<readonly [BlockHome, readonly MenuBlock[]]> {
    let after: string | undefined;
    for (let read = 0; read < INTEGRATIONS_READ_MAX; read += BATCH) {
      const rows = await this.#rows(query, from, after);
      const known = await this.#blocksOf(rows);
      for (const row of rows) {
        const { integration, integration_key: integrationKey, installation_id: installationId, number } = row;
        const { space } = row;
        const home = { integration, integrationKey, installationId, ...(space !== null && { space }) };
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
    let select = inReach(this.#database, { organization, level: 'space', place: space }).select([
      'there.place as space',
      'integrations.endpoint_key as integration_key',
    ]);
    if (after !== undefined) select = select.where('whole.integration', '>', after);
    else if (from !== undefined) select = select.where('whole.integration', '>=', from);
    return select.limit(BATCH).execute();
  }

  /** Blocks of versions, by script key: cached, or read in one statement. */
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
      const blocks = this.#readable(integration, number, manifest);
      this.#versions.set(scriptKey(integration, number), blocks);
      known.set(scriptKey(integration, number), blocks);
      // Parsing one may have taken some milliseconds.
      await setImmediate();
    }
    return known;
  }

  /** The blocks of a manifest; none if its row is damaged, so that the others are shown. */
  #readable(integration: string, number: number, manifest: string): readonly MenuBlock[] {
    try {
      return menuBlocks(manifest);
    } catch {
      // The error of the parser quotes the manifest.
      this.#onError(new Error(`The manifest of version ${number} of "${integration}" is damaged.`));
      return [];
    }
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

/**
 * Position of the last block of the previous page. An unknown position continues where it would be.
 */
function placeOf(cursor: string): { integration: string; index: number } {
  const at = cursor.lastIndexOf('/');
  const index = Number(cursor.slice(at + 1));
  return { integration: cursor.slice(0, Math.max(at, 0)), index: Number.isSafeInteger(index) ? index : -1 };
}
