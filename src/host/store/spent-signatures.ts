/**
 * Signatures of envelopes that were used, so that each is accepted once by all nodes together.
 *
 * Only for engines that are shared. A node alone remembers them in memory, which costs no commit;
 * with several, a recorded envelope could be replayed once at each of the other nodes. So the node
 * that receives an envelope writes the digest of its signature first. A node that finds the digest
 * already written refuses the envelope. Signatures that arrive together share a statement and a
 * commit. A digest is kept for as long as its signature could be accepted.
 */
import { type GoesOn, inBatches, ROWS_PER_BATCH } from '../database/batches.ts';
import { bulk, runForEach, TEXT, WHOLE } from '../database/bulk.ts';
import { Gathered, type GroupCommit } from '../database/group-commit.ts';
import type { Database } from '../database/tables.ts';

/** Signatures of one statement. */
const GATHERED = 200;
/** Enough to distinguish digests, as base64url. */
const DIGEST_BYTES = 18;

const INSERT = bulk`
  insert into spent_signatures (endpoint_key, digest, expires_at) values (${TEXT}, ${TEXT}, ${WHOLE})
  on conflict (endpoint_key, digest) do nothing returning endpoint_key, digest`;

export interface SpentSignature {
  readonly endpointKey: string;
  /** One for each secret that has signed. */
  readonly digests: readonly Buffer[];
  /** When it is too old to be accepted, in milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface SpentSignaturesDeps {
  readonly database: Database;
  readonly commits: GroupCommit;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

type Key = readonly [endpointKey: string, digest: string];

export class SpentSignatures {
  readonly #deps: SpentSignaturesDeps;
  readonly #gathered: Gathered<SpentSignature, boolean>;

  constructor(deps: SpentSignaturesDeps) {
    this.#deps = deps;
    this.#gathered = new Gathered(deps.commits, GATHERED, write);
  }

  /**
   * Uses a signature up. The caller has not used it up before: a node asks once.
   *
   * @returns whether no node had
   * @throws if the store cannot be written; the signature may be used up then
   */
  spend(signature: SpentSignature): Promise<boolean> {
    return this.#gathered.add(signature);
  }

  /** Removes those that are too old to be accepted. */
  async prune(goesOn?: GoesOn): Promise<void> {
    const { database, wallNow } = this.#deps;
    const now = wallNow();
    await inBatches(async () => {
      const over = await database
        .selectFrom('spent_signatures')
        .select('expires_at')
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(ROWS_PER_BATCH)
        .execute();
      const last = over.at(-1)?.expires_at;
      if (last !== undefined)
        await database.deleteFrom('spent_signatures').where('expires_at', '<=', last).execute();
      return over.length;
    }, goesOn);
  }
}

async function write(
  transaction: Database,
  signatures: readonly SpentSignature[],
): Promise<readonly boolean[]> {
  const rows = signatures.flatMap((signature) =>
    keysOf(signature).map((key) => [...key, signature.expiresAt] as const),
  );
  const written = await runForEach<{ endpoint_key: string; digest: string }>(transaction, INSERT, rows);
  const fresh = new Set(written.map(({ endpoint_key: key, digest }) => `${key} ${digest}`));
  return signatures.map((signature) => keysOf(signature).every((key) => fresh.has(key.join(' '))));
}

const keysOf = ({ endpointKey, digests }: SpentSignature): Key[] =>
  digests.map((digest) => [endpointKey, digest.subarray(0, DIGEST_BYTES).toString('base64url')]);
