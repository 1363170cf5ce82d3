/** Answers a misspelt name of an integration with the nearest one that the token sees. */
import { type Annex, AnnexError } from '../../../packages/client/src/index.ts';
import { nearest } from '../../model/spelling-hint.ts';
import { Failure } from '../terminal/failure.ts';

/** Names that a wrong one is compared with. */
const COMPARED_MAX = 1_000;

/** @returns the error itself where it is of another kind */
export async function withNearestIntegration(client: Annex, wrong: string, error: unknown): Promise<unknown> {
  if (!(error instanceof AnnexError) || error.code !== 'INTEGRATION_UNKNOWN') return error;
  const names: string[] = [];
  for await (const { name } of client.integrations.all()) if (names.push(name) >= COMPARED_MAX) break;
  const near = nearest(wrong, names);
  const { code, status, message } = error;
  const hint =
    near === undefined ? '`annex integrations list` shows those that it sees.' : `Did you mean ${near}?`;
  return new Failure(message, { code, status, hint, cause: error });
}
