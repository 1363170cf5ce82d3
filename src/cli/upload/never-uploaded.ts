/**
 * Files that an upload leaves out even if the code imports them: credentials by their usual names,
 * and what `.annexignore` of the folder excludes.
 *
 * The names are a guard against an accident, not a search for secrets: a key in a file of another
 * name is not found. `.annexignore` has the syntax of `.gitignore`, and is about the author's own
 * files: packages in `node_modules` are uploaded by what the code imports.
 */
import ignore from 'ignore';

export const IGNORE_FILE = '.annexignore';

/** Why a file is left out. */
export type Exclusion = 'secret' | 'ignored';

/** Names of files that usually hold credentials. */
const SECRET_NAMES: readonly RegExp[] = [
  // Variables, often secrets: `.env`, `.env.local`.
  /^\.env(?:\..*)?$/i,
  // Secrets for the development of Workers.
  /^\.dev\.vars(?:\..*)?$/i,
  // Settings of npm, of curl and of Git, with tokens.
  /^\.(?:npmrc|yarnrc|yarnrc\.yml|netrc|git-credentials|pypirc|pgpass)$/i,
  /^_netrc$/i,
  // Private keys and key stores.
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc)$/i,
  // Keys of SSH are named by their algorithm, without an extension: `id_ed25519`.
  /^id_[a-z0-9-]+$/i,
  // Keys of service accounts.
  /^service[-_]?account(?:[-_]?key)?\.json$/i,
];
/** Folders of which nothing is uploaded. */
const SECRET_FOLDERS: ReadonlySet<string> = new Set([
  '.git',
  '.hg',
  '.svn',
  '.ssh',
  '.aws',
  '.gnupg',
  '.annex',
]);

/** Whether the name of a file says that it holds credentials. @param path relative, with slashes */
export function isSecretFile(path: string): boolean {
  const parts = path.split('/');
  const name = parts.at(-1) ?? '';
  return (
    parts.some((part) => SECRET_FOLDERS.has(part.toLowerCase())) ||
    SECRET_NAMES.some((known) => known.test(name))
  );
}

/** Decides by the text of `.annexignore` what is left out. */
export function exclusionBy(ignoreText: string): (path: string) => Exclusion | undefined {
  const ignored = ignore().add(ignoreText);
  return (path) => {
    if (isSecretFile(path)) return 'secret';
    return ignored.ignores(path) ? 'ignored' : undefined;
  };
}
