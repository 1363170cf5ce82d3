/**
 * The organization that a list is restricted to: the requested one, or else the reader's own. The
 * operator and the host product read those of all organizations unless they name one; a token of an
 * organization reads only that one's.
 */
import { AnnexError } from '../../errors.ts';
import type { HolderPrincipal } from '../../model/principal.ts';

/**
 * @param what noun of the list's items, for the message
 * @returns undefined if the list is of all organizations
 * @throws AnnexError TOKEN_FORBIDDEN
 */
export function organizationRead(
  { organization: own }: HolderPrincipal,
  requested: string | undefined,
  what: string,
): string | undefined {
  if (own === undefined || requested === undefined || requested === own) return requested ?? own;
  const message = `A token of kind organization reads only the ${what} of its own organization.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}
