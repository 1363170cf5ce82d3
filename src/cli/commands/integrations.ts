/**
 * `annex integrations`, `versions`, `rollback` and `review`: what is published on a service, which
 * version of it runs, and which waits for the operator's approval.
 */
import Type from 'typebox';
import type { Annex } from '../../../packages/client/src/index.ts';
import { VISIBILITIES } from '../../model/manifest/visibility.ts';
import { isApproved, REVIEW_STATES } from '../../model/review.ts';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { Failure, UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';

const INTEGRATION = {
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  organization: Type.String(),
  visibility: Type.Enum([...VISIBILITIES]),
  version: Type.Integer({ description: 'The active version.' }),
  waitingVersion: Type.Optional(Type.Integer()),
  createdAt: Type.String(),
  updatedAt: Type.String(),
};
const NAME = { help: 'name of the integration' } as const;

const list: Command = defineCommand({
  name: 'list',
  summary: 'list the integrations',
  examples: [{ line: 'annex integrations list', does: 'see what is published' }],
  json: Type.Object({ items: Type.Array(Type.Object(INTEGRATION)) }),
  async run({ output, client, signal }) {
    const items = await Array.fromAsync((await client()).integrations.all({}, { signal }));
    output.list(
      { items },
      ['INTEGRATION', 'VERSION', 'ORGANIZATION', 'VISIBILITY', 'TITLE'],
      ({ name, version, organization, visibility, title }) => [
        paint('bold', name),
        version,
        organization,
        visibility,
        title,
      ],
      'There is none yet: `annex publish` makes one.',
    );
  },
});

const show: Command = defineCommand({
  name: 'show',
  summary: 'show one integration',
  arguments: { integration: NAME },
  examples: [{ line: 'annex integrations show hello', does: 'see its version, scopes and blocks' }],
  json: Type.Object({ ...INTEGRATION, target: Type.String(), scopes: Type.Array(Type.String()) }),
  async run({ output, client, signal }, { integration: name }) {
    const whole = await (await client()).integrations.get(name, { signal });
    output.result(whole, () => {
      const rows: [string, string | number][] = [
        ['title', whole.title],
        ['description', whole.description],
        ['organization', whole.organization],
        ['visibility', whole.visibility],
        ['version', whole.version],
        ['installs at', whole.target],
        ['scopes', whole.scopes.join(', ') || 'none'],
        ['updated', whole.updatedAt],
      ];
      output.table(
        ['', whole.name],
        rows.map(([title, value]) => [paint('dim', title), value]),
      );
    });
  },
});

const remove: Command = defineCommand({
  name: 'delete',
  summary: 'delete an integration with all its versions',
  description: [
    'Deletes an integration with its versions, images and secrets. It must not be installed, unless --cascade also removes its installations. Nothing of it can be restored.',
  ],
  arguments: { integration: NAME },
  options: { cascade: { help: 'remove its installations and their data as well' } },
  examples: [
    { line: 'annex integrations delete hello', does: 'delete an integration without installations' },
  ],
  json: Type.Object({ name: Type.String(), deleted: Type.Literal(true) }),
  async run({ output, client, signal }, { integration: name, cascade }) {
    await (await client()).integrations.delete(name, cascade ? { cascade } : {}, { signal });
    output.result({ name, deleted: true }, () => output.line(`${name} is deleted.`));
  },
});

export const integrations: CommandGroup = {
  name: 'integrations',
  summary: 'list, show and delete integrations',
  examples: [{ line: 'annex integrations list', does: 'see what is published' }],
  commands: [list, show, remove],
};

const REVIEW = Type.Object({
  state: Type.Enum([...REVIEW_STATES]),
  at: Type.String(),
  reason: Type.Optional(Type.String()),
});
const VERSION = Type.Object({
  version: Type.Integer(),
  active: Type.Boolean(),
  createdAt: Type.String(),
  review: Type.Optional(REVIEW),
});

/** The argument that names a version. */
export function versionNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`a version is a whole number from 1 on; it is "${text}".`);
}

export const versions: Command = defineCommand({
  name: 'versions',
  summary: 'list the versions of an integration, newest first',
  arguments: { integration: { help: 'name of the integration' } },
  examples: [{ line: 'annex versions hello', does: 'see which version runs' }],
  json: Type.Object({ integration: Type.String(), items: Type.Array(VERSION) }),
  async run({ output, client, signal }, { integration }) {
    const items = await Array.fromAsync((await client()).versions.all(integration, {}, { signal }));
    output.list(
      { integration, items },
      ['VERSION', 'ACTIVE', 'PUBLISHED'],
      ({ version, active, createdAt, review }) => [
        version,
        active ? paint('green', 'active') : isApproved(review) ? '' : (review?.state ?? ''),
        paint('dim', createdAt),
      ],
    );
    for (const { version, review } of items)
      if (review?.reason !== undefined) output.talk(`Version ${version} is refused: ${review.reason}`);
  },
});

export const rollback: Command = defineCommand({
  name: 'rollback',
  summary: 'activate an earlier version of an integration',
  description: [
    'Activates a version of an integration: the one before the active one, or the one that is named. Requests that arrive after the answer run it. Nothing is deleted, so a later version can be activated the same way.',
  ],
  arguments: {
    integration: { help: 'name of the integration' },
    version: {
      help: 'number of the version; default: the one before the active one',
      optional: true,
      parse: versionNumber,
    },
  },
  examples: [
    { line: 'annex rollback hello', does: 'run the version before the active one again' },
    { line: 'annex rollback hello 3', does: 'run version 3' },
  ],
  json: Type.Object({
    integration: Type.String(),
    version: Type.Integer(),
    previous: Type.Integer({ description: 'The version that was active.' }),
  }),
  async run({ output, client, signal }, { integration, version: wanted }) {
    const annex = await client();
    const { version: previous, visibility } = await annex.integrations.get(integration, { signal });
    const version = wanted ?? (await versionBefore(annex, integration, previous, visibility === 'public'));
    await annex.versions.activate(integration, version, { signal });
    output.result({ integration, version, previous }, () =>
      output.line(
        version === previous
          ? `${integration} runs version ${version} already.`
          : `${integration} runs version ${version} (before: ${previous}).`,
      ),
    );
  },
});

/** @param isPublic whether those that the operator has not approved are passed over */
async function versionBefore(
  annex: Annex,
  integration: string,
  active: number,
  isPublic: boolean,
): Promise<number> {
  for await (const { version, review } of annex.versions.all(integration)) {
    if (version < active && (isApproved(review) || !isPublic)) return version;
  }
  throw new Failure(`${integration} has no version before ${active}, which is active.`, {
    code: 'VERSION_UNKNOWN',
    hint: `\`annex versions ${integration}\` lists them.`,
  });
}

export const review: Command = defineCommand({
  name: 'review',
  summary: 'approve or refuse a version of a public integration',
  description: [
    'For the operator of a service that runs with --marketplace reviewed. Lists the integrations with a version that waits. With --approve, the version becomes the active one, with the visibility of its manifest. With --refuse, its owner reads the reason, and the version is not activated.',
  ],
  arguments: {
    integration: { help: 'name of the integration', optional: true },
    version: { help: 'number of the version', optional: true, parse: versionNumber },
  },
  options: {
    approve: { help: 'approve the version' },
    refuse: { value: 'reason', help: 'refuse the version, with a reason for its owner' },
  },
  examples: [
    { line: 'annex review', does: 'see which integrations have a version that waits' },
    { line: 'annex review hello 3 --approve', does: 'let all organizations have version 3' },
    {
      line: "annex review hello 3 --refuse 'It fetches more hosts than it needs.'",
      does: 'say why they may not',
    },
  ],
  json: Type.Union([
    Type.Object({ items: Type.Array(Type.Object(INTEGRATION)) }),
    Type.Object({ integration: Type.String(), version: Type.Integer(), review: REVIEW }),
  ]),
  async run({ output, client, signal }, { integration, version, approve, refuse: reason }) {
    const annex = await client();
    if (integration === undefined) {
      const items = await Array.fromAsync(annex.integrations.all({ review: 'waiting' }, { signal }));
      output.list(
        { items },
        ['INTEGRATION', 'WAITS', 'ACTIVE', 'ORGANIZATION', 'TITLE'],
        ({ name, waitingVersion, version: active, organization, title }) => [
          paint('bold', name),
          waitingVersion ?? '',
          active,
          organization,
          title,
        ],
        'No version waits.',
      );
      return;
    }
    if (version === undefined) throw new UsageError('name the version, as `annex review hello 3`.');
    if (approve === (reason !== undefined)) throw new UsageError('say either --approve or --refuse.');
    const done =
      reason === undefined
        ? await annex.versions.approve(integration, version, { signal })
        : await annex.versions.refuse(integration, version, { reason }, { signal });
    output.result(done, () =>
      output.line(`${integration}, version ${version}, is ${approve ? 'approved' : 'refused'}.`),
    );
  },
});
