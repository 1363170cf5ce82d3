/**
 * An installation, or the part of it in a space or a site: found by the words of a command, made
 * unless it is there, and shown. The words are its id, `integration@organization`, or its
 * integration where that is installed once.
 */

import Type from 'typebox';
import { type Annex, AnnexError, type Installation } from '../../../packages/client/src/index.ts';
import { Failure, UsageError } from '../terminal/failure.ts';
import { type Output, paint } from '../terminal/output.ts';

/** The help of an argument of this form. */
export const INSTALLATION_HELP =
  'id of an installation, integration@organization, or an integration that is installed once';

/** An argument that names one. */
export const INSTALLATION = { help: INSTALLATION_HELP, parse: installationWord } as const;

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

export interface InstalledOnce {
  readonly id: string;
  readonly organization: string;
  readonly publicEndpoint: string;
  readonly isNew: boolean;
  readonly status: 'active' | 'pending' | 'paused';
}

export async function installOnce(
  annex: Annex,
  integration: string,
  organization: string,
  signal: AbortSignal,
): Promise<InstalledOnce> {
  try {
    const { id, urls, status } = await annex.installations.create(integration, { organization }, { signal });
    return { id, organization, publicEndpoint: urls.publicEndpoint, isNew: true, status };
  } catch (error) {
    if (!(error instanceof AnnexError) || error.code !== 'INSTALLATION_EXISTS') throw error;
    const id = String(error.details['installation']);
    const { urls, status } = await annex.installations.get(integration, id, { signal });
    return { id, organization, publicEndpoint: urls.publicEndpoint, isNew: false, status };
  }
}

export const TARGET = Type.Object({
  id: Type.Optional(Type.String({ description: 'Absent in a space or a site.' })),
  installation: Type.Optional(Type.String({ description: 'In a space or a site: id of the installation.' })),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  integration: Type.String(),
  organization: Type.String(),
  status: Type.Enum(['active', 'pending', 'paused']),
  configuration: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  urls: Type.Object({ publicEndpoint: Type.String() }),
  problems: Type.Optional(
    Type.Array(
      Type.Object({
        property: Type.String(),
        message: Type.String(),
        hint: Type.Optional(Type.String()),
      }),
    ),
  ),
});

export interface TargetView {
  readonly id?: string;
  readonly installation?: string;
  readonly space?: string;
  readonly site?: string;
  readonly integration: string;
  readonly organization: string;
  readonly status: 'active' | 'pending' | 'paused';
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  readonly urls: { readonly publicEndpoint: string };
  readonly problems?:
    | readonly { readonly property: string; readonly message: string; readonly hint?: string | undefined }[]
    | undefined;
}

/** Options that select the part of an installation in a space or in a site. */
export const PLACE = {
  space: { value: 'space', help: 'the part of the installation in this space' },
  site: { value: 'site', help: 'the part of the installation in this site' },
} as const;

interface At {
  readonly space?: string | undefined;
  readonly site?: string | undefined;
}

/** What is shown with the product's words for spaces and sites, where it has them. */
export interface Words {
  /** Empty for the installation itself. */
  place(at: At): string;
  /** Of an installation or its part: `hello@acme in Project garden`. */
  target(of: At & Pick<TargetView, 'integration' | 'organization'>): string;
  level(level: string): string;
}

export async function wordsOf(annex: Annex, signal?: AbortSignal): Promise<Words> {
  const names = await annex.levelNames.get(signal && { signal });
  const named = (name: string | undefined, id: string) => (name === undefined ? id : `${name} ${id}`);
  const place = ({ space, site }: At) =>
    space !== undefined ? named(names.space, space) : site === undefined ? '' : named(names.site, site);
  return {
    place,
    target: ({ integration, organization, ...at }) =>
      `${integration}@${organization}${place(at) && ` in ${place(at)}`}`,
    level: (level) => (level === 'space' || level === 'site' ? names[level] : undefined) ?? level,
  };
}

const STYLES = { active: 'green', pending: 'yellow', paused: 'dim' } as const;

export const statusOf = ({ status }: Pick<TargetView, 'status'>) => paint(STYLES[status], status);

export const idOf = ({ id, installation, space, site }: TargetView): string =>
  id ?? [installation, space ?? site].join('/');

/** What a pending installation, or its part in a space or a site, waits for. */
export function pendingText({
  integration,
  organization,
  space,
  site,
}: Pick<TargetView, 'integration' | 'organization' | 'space' | 'site'>): string {
  const where = space !== undefined ? ` --space ${space}` : site !== undefined ? ` --site ${site}` : '';
  return `It is pending until its configuration is valid: annex configure ${integration}@${organization}${where}`;
}

export function showTarget(output: Output, target: TargetView): void {
  const { integration, organization, urls, problems = [], configuration = {} } = target;
  output.line(paint('bold', `${integration}@${organization}`), ' is ', statusOf(target), `: ${idOf(target)}`);
  output.line(`  endpoint  ${urls.publicEndpoint}`);
  for (const [name, value] of Object.entries(configuration))
    output.line(`  ${name} = ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  for (const { property, message, hint } of problems)
    output.talk(paint('yellow', `${property}: `), message, hint === undefined ? '' : ` ${hint}`);
  if (target.status === 'pending') output.talk(pendingText(target));
}
