/**
 * Who may do what to an installation, at the doors: finds the one that a path names, and refuses what the token may not.
 *
 * The rules are in `model/principal.ts`. What the caller must not know of is answered as if it were not there; a field that
 * code of an integration may not change is refused by name, whatever it is asked of, so that a refusal tells nothing about
 * what exists.
 */
import type { FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import type { TargetName } from '../../../model/installation.ts';
import { mayEdit, mayReadInstallation } from '../../../model/principal.ts';
import { unknownTarget } from '../../../model/unknown.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { principalOf } from '../authenticate.ts';

/** The target of this name, of this integration. @throws `INSTALLATION_UNKNOWN` where there is none that the caller may see */
export async function visibleTarget(
  installations: Pick<Installations, 'read'>,
  request: FastifyRequest,
  integration: string,
  name: TargetName,
): Promise<Installation> {
  const found = await installations.read(name);
  const mine = found?.integration === integration && mayReadInstallation(principalOf(request), found);
  if (found !== undefined && mine) return found;
  throw unknownTarget(name);
}

/** @throws `TOKEN_FORBIDDEN` that names every field of an edit that the token may not change */
export function requireEditable(request: FastifyRequest, edit: object): void {
  const principal = principalOf(request);
  const refused = Object.keys(edit).filter((field) => !mayEdit(principal, field));
  if (refused.length === 0) return;
  const fields = refused.map((field) => `"${field}"`).join(', ');
  throw new AnnexError('TOKEN_FORBIDDEN', `A token of kind ${principal.kind} may not change ${fields}.`);
}
