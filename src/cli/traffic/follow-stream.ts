/** Follows a stream of the API, and says on standard error what becomes of its connection. */
import { AnnexError } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../command.ts';
import { Failure } from '../terminal/failure.ts';

/** What a stream is of. */
export interface Followed {
  /** From `/v1` on. */
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
  /** Said at the first connection. */
  readonly begins: string;
  /** What may be missing after a gap, as `lines`. */
  readonly items: string;
}

/**
 * The items of a stream until the command is interrupted. It connects again by itself.
 *
 * @throws AnnexError, Failure if the service ended it for good
 */
export async function* follow<Item>(
  { client, output, signal }: Pick<CommandContext, 'client' | 'output' | 'signal'>,
  { path, query, begins, items }: Followed,
): AsyncGenerator<Item, void, undefined> {
  let connections = 0;
  const stream = (await client()).follow<Item>(
    path,
    { query: { ...query, follow: true } },
    {
      signal,
      onOpen() {
        connections += 1;
        output.talk(connections === 1 ? begins : 'Connected again, behind the last one that was shown.');
      },
      onGap: () => output.talk(`Some ${items} are missing here: they are not kept any more.`),
    },
  );
  try {
    yield* stream;
  } catch (error) {
    if (signal.aborted) return;
    throw ended(error);
  }
}

const WHY: Readonly<Record<string, string>> = {
  revoked: 'the token was revoked',
  removed: 'what it followed was removed',
};

function ended(error: unknown): unknown {
  if (!(error instanceof AnnexError) || error.code !== 'STREAM_ENDED') return error;
  const reason = String(error.details['reason']);
  return new Failure(`The service ended the stream: ${WHY[reason] ?? reason}.`, { code: 'STREAM_ENDED' });
}

/** The first items of a list, up to this number, and before the first that is not wanted. */
export async function firstOf<Item>(
  items: AsyncIterable<Item>,
  max: number,
  isWanted: (item: Item) => boolean = () => true,
): Promise<Item[]> {
  const found: Item[] = [];
  if (max === 0) return found;
  for await (const item of items) if (!isWanted(item) || found.push(item) >= max) break;
  return found;
}
