/**
 * The content last published of each built-in integration. The version number is no substitute: the
 * operator may roll back a built-in integration or delete it.
 */
import type { Database } from '../../database/tables.ts';

export class BuiltIns {
  readonly #database: Database;

  constructor({ database }: { readonly database: Database }) {
    this.#database = database;
  }

  /** Hash of the content last published under this name; undefined if none was. */
  async contentOf(name: string): Promise<string | undefined> {
    const row = await this.#database
      .selectFrom('built_ins')
      .select('content_hash')
      .where('name', '=', name)
      .executeTakeFirst();
    return row?.content_hash;
  }

  /** Records that this content is published. */
  async published(name: string, contentHash: string): Promise<void> {
    await this.#database
      .insertInto('built_ins')
      .values({ name, content_hash: contentHash })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ content_hash: contentHash }))
      .execute();
  }
}
