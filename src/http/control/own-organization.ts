/**
 * Which organization a list is about: the one that is asked for, or else the reader's own. The operator and the host product read
 * of all of them unless they name one; whoever has a token of an organization reads of that alone, and is told so.
 */
import { AnnexError } from '../../errors.ts';
import type { HolderPrincipal } from '../../model/principal.ts';

/**
 * @param what the list is of, for the message
 * @returns undefined where it is about all organizations
 * @throws `TOKEN_FORBIDDEN`
 */
export function organizationRead(
  { organization: own }: HolderPrincipal,
  asked: string | undefined,
  what: string,
): string | undefined {
  if (own === undefined || asked === undefined || asked === own) return asked ?? own;
  const message = `A token of kind organization reads the ${what} of its own organization alone.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}
