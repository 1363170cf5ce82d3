/**
 * Finds the installation that the words of a command name: by its id, as
 * `integration@organization`, or by its integration where that is installed once.
 */
import type { Annex, Installation } from '../../../packages/client/src/index.ts';
import { AnnexError } from '../../../packages/client/src/index.ts';
import { Failure, UsageError } from '../terminal/failure.ts';

/** The help of an argument of this form. */
export const INSTALLATION_HELP =
  'id of an installation, integration@organization, or an integration that is installed once';

const ID = /^ins_[a-z0-9]+$/;
const NAME = /^[A-Za-z0-9-]+(@[A-Za-z0-9][A-Za-z0-9._-]*)?$/;
/** Installations that a message lists. */
const LISTED_MAX = 5;
/** Integrations that are asked for an id at once. */
const ASKED_AT_ONCE = 8;

/** @throws UsageError with a sentence about the word */
export function installationWord(text: string): string {
  if (ID.test(text) || NAME.test(text)) return text;
  throw new UsageError(`"${text}" is not ${INSTALLATION_HELP}.`);
}

/** @throws Failure if no installation, or more than one, is meant */
export async function findInstallation(client: Annex, word: string): Promise<Installation> {
  if (ID.test(word)) return byId(client, word);
  const [integration = '', organization] = word.split('@');
  const found: Installation[] = [];
  for await (const one of client.installations.all(integration)) {
    if (organization === undefined || one.organization === organization) found.push(one);
    if (found.length > LISTED_MAX || (organization !== undefined && found.length > 0)) break;
  }
  const [only, ...others] = found;
  if (only === undefined) throw notInstalled(integration, organization);
  if (others.length > 0) throw ambiguous(integration, found);
  return only;
}

/** A name for messages. */
export const nameOf = ({ integration, organization }: Installation): string =>
  `${integration}@${organization}`;

/** Path of its routes, from `/v1` on; of a space or site of it, if one is named. */
export function targetPath(
  { integration, id }: Pick<Installation, 'integration' | 'id'>,
  { space, site }: { readonly space?: string | undefined; readonly site?: string | undefined } = {},
): string {
  if (space !== undefined && site !== undefined)
    throw new UsageError('--space and --site exclude each other: leave one out.');
  const path = `/v1/integrations/${encodeURIComponent(integration)}/installations/${id}`;
  if (space !== undefined) return `${path}/spaces/${encodeURIComponent(space)}`;
  return site === undefined ? path : `${path}/sites/${encodeURIComponent(site)}`;
}

/** A route of installations needs the name of the integration, too. */
async function byId(client: Annex, id: string): Promise<Installation> {
  let names: string[] = [];
  const ask = async () => {
    const answers = await Promise.all(names.map((name) => installationOf(client, name, id)));
    names = [];
    return answers.find((one) => one !== undefined);
  };
  for await (const { name } of client.integrations.all()) {
    if (names.push(name) < ASKED_AT_ONCE) continue;
    const found = await ask();
    if (found !== undefined) return found;
  }
  const found = await ask();
  if (found !== undefined) return found;
  throw new Failure(`There is no installation "${id}", or this token may not see it.`, {
    code: 'INSTALLATION_UNKNOWN',
    hint: '`annex installations` lists those that it sees.',
  });
}

async function installationOf(client: Annex, name: string, id: string): Promise<Installation | undefined> {
  try {
    return await client.installations.get(name, id);
  } catch (error) {
    if (error instanceof AnnexError && error.status === 404) return undefined;
    throw error;
  }
}

function notInstalled(integration: string, organization: string | undefined): Failure {
  const where = organization === undefined ? 'anywhere that this token sees' : `for "${organization}"`;
  const hint =
    organization === undefined
      ? `Install it: annex install ${integration} --organization <organization>`
      : `Install it: annex install ${integration} --organization ${organization}`;
  return new Failure(`"${integration}" is not installed ${where}.`, { code: 'INSTALLATION_UNKNOWN', hint });
}

function ambiguous(integration: string, found: readonly Installation[]): Failure {
  const named = found.slice(0, LISTED_MAX).map(nameOf).join(', ');
  const more = found.length > LISTED_MAX ? ' and others' : '';
  return new Failure(`"${integration}" is installed more than once: ${named}${more}.`, {
    code: 'INSTALLATION_AMBIGUOUS',
    hint: `Name one: ${nameOf(found[0] as Installation)}`,
  });
}
