/** Agreement of the versions of client and service. */

/**
 * Whether two versions have the same routes: their major and minor numbers are equal.
 *
 * @example
 * if (annex.serverVersion && !versionsAgree(VERSION, annex.serverVersion)) console.warn('…');
 */
export function versionsAgree(one: string, other: string): boolean {
  const [first, second] = [one, other].map((version) => version.split('.').slice(0, 2).join('.'));
  return first === second;
}
