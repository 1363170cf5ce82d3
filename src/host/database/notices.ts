/**
 * Notices of changes to other nodes, which drop what they cached. A notice is sent in the
 * transaction of its change: other nodes get it when that commits, and never if it does not.
 *
 * On an engine of one node nothing is sent. A notice that is lost with a connection is made up for
 * when the connection is back: the node drops everything (`Engine.listen`).
 */
import { CompiledQuery } from 'kysely';
import { COMMAND_SQL, EngineCommand } from './command.ts';
import type { Database } from './tables.ts';

/** A change, as `StoreChanges` names it, and what was changed. */
export interface Notice {
  readonly change: string;
  /** Names and ids, a few hundred characters at most. */
  readonly about: readonly string[];
}

/** Characters of one notice. */
const NOTICE_CHARS = 6_000;

export class SendNotice extends EngineCommand {
  readonly notice: Notice;

  constructor(notice: Notice) {
    super();
    this.notice = notice;
  }
}

/** Sends a notice to the other nodes when the transaction commits. */
export async function announce(
  transaction: Database,
  change: string,
  ...about: readonly string[]
): Promise<void> {
  await transaction.executeQuery(CompiledQuery.raw(COMMAND_SQL, [new SendNotice({ change, about })]));
}

/** Shares names and ids out among notices. */
export function inNotices(texts: readonly string[]): readonly (readonly string[])[] {
  const notices: string[][] = [];
  let chars = NOTICE_CHARS;
  for (const text of texts) {
    chars += text.length + 3;
    if (chars > NOTICE_CHARS) {
      notices.push([]);
      chars = text.length;
    }
    notices.at(-1)?.push(text);
  }
  return notices;
}
