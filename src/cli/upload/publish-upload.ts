/**
 * Has a service check or publish an upload. A refusal is a list of problems, joined with those that
 * were found in the folder; every other failure is thrown.
 */
import { type Annex, AnnexError, type Checked } from '../../../packages/client/src/index.ts';
import { isError, type Problem } from '../../model/problem.ts';
import { joinProblems, ownProblems, type PreparedUpload } from './prepared-upload.ts';
import type { SecretValues } from './secret-values.ts';
import { UPLOAD_MS, uploadForm } from './upload-form.ts';

export interface Asked {
  readonly checked?: Checked;
  readonly problems: readonly Problem[];
}

/** Has a service check an upload. */
export async function askService(annex: Annex, form: FormData, signal: AbortSignal): Promise<Asked> {
  try {
    const checked = await annex.integrations.check(form, { signal, timeoutMs: UPLOAD_MS, retries: 0 });
    return { checked, problems: checked.warnings as readonly Problem[] };
  } catch (error) {
    return { problems: refusalOf(error) };
  }
}

export interface PublishRequest {
  readonly secrets: SecretValues;
  readonly overwriteSecrets: boolean;
  readonly signal: AbortSignal;
  /** Called with the number of bytes of each piece, as it is sent. */
  readonly sent?: ((bytes: number) => void) | undefined;
}

/** What became of a publish: a version with its warnings, or the problems that refused it. */
export type PublishOutcome =
  | {
      readonly ok: true;
      readonly integration: string;
      readonly version: number;
      readonly problems: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export async function publishUpload(
  annex: Annex,
  prepared: PreparedUpload,
  { secrets, overwriteSecrets, signal, sent }: PublishRequest,
): Promise<PublishOutcome> {
  const { problems: own, isSent } = await ownProblems(prepared, annex);
  const form = () => uploadForm(prepared.upload, { secrets: secrets.values, overwriteSecrets, sent });
  const refused = (its: readonly Problem[]) =>
    ({ ok: false, problems: joinProblems(own, its, secrets.open) }) as const;
  // Nothing is published, and the author sees the problems that the service has with the rest.
  if (own.some(isError)) return refused(isSent ? (await askService(annex, form(), signal)).problems : []);
  try {
    const { integration, version, warnings } = await annex.integrations.publish(form(), {
      signal,
      timeoutMs: UPLOAD_MS,
      retries: 0,
    });
    const problems = joinProblems(own, warnings as readonly Problem[], NONE_OPEN);
    return { ok: true, integration, version, problems };
  } catch (error) {
    return refused(refusalOf(error));
  }
}

const NONE_OPEN: SecretValues['open'] = new Map();

/** @throws what is no refusal of an upload */
function refusalOf(error: unknown): readonly Problem[] {
  if (error instanceof AnnexError && error.code === 'PUBLISH_INVALID')
    return error.problems as readonly Problem[];
  throw error;
}
