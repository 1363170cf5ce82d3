/**
 * Authorization for installations: finds the target of a path, and refuses what the token may not
 * do.
 *
 * The rules are in `model/principal.ts`. A target that the caller may not see is answered as
 * unknown. A field that code may not change is refused by name for any target, so that a refusal
 * does not reveal which targets exist.
 */
import type { FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import type { TargetName } from '../../../model/installation.ts';
import { mayEdit, mayReadInstallation } from '../../../model/principal.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { principalOf } from '../authenticate.ts';

/**
 * The target of this name and integration. @throws AnnexError INSTALLATION_UNKNOWN if the caller
 * may see none
 */
export async function visibleTarget(
  installations: Pick<Installations, 'read'>,
  request: FastifyRequest,
  integration: string,
  name: TargetName,
): Promise<Installation> {
  const found = await installations.read(name);
  const isVisible = found?.integration === integration && mayReadInstallation(principalOf(request), found);
  if (found !== undefined && isVisible) return found;
  throw unknownTarget(name);
}

/** @throws AnnexError TOKEN_FORBIDDEN, naming every field that the token may not change */
export function requireEditable(request: FastifyRequest, edit: object): void {
  const principal = principalOf(request);
  const refused = Object.keys(edit).filter((field) => !mayEdit(principal, field));
  if (refused.length === 0) return;
  const fields = refused.map((field) => `"${field}"`).join(', ');
  throw new AnnexError('TOKEN_FORBIDDEN', `A token of kind ${principal.kind} may not change ${fields}.`);
}
