/**
 * Which content of each built-in integration was published last. A version number does not tell: the operator may roll back, and
 * may delete what it does not want.
 */
import type { Database } from '../../database/tables.ts';

export class BuiltIns {
  readonly #database: Database;

  constructor({ database }: { readonly database: Database }) {
    this.#database = database;
  }

  /** Hash of what was published last under this name; undefined where nothing was. */
  async contentOf(name: string): Promise<string | undefined> {
    const row = await this.#database
      .selectFrom('built_ins')
      .select('content_hash')
      .where('name', '=', name)
      .executeTakeFirst();
    return row?.content_hash;
  }

  /** Notes that this content is published. */
  async published(name: string, contentHash: string): Promise<void> {
    await this.#database
      .insertInto('built_ins')
      .values({ name, content_hash: contentHash })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ content_hash: contentHash }))
      .execute();
  }
}
