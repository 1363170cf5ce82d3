/**
 * `/v1/integrations/{name}/versions`: list, read and activate versions, and read the script of one
 * with its source map. A rollback is the activation of an earlier version. For the owner; the
 * operator approves and refuses.
 */
import { basename } from 'node:path';
import Type from 'typebox';
import { REVIEW_STATES, type Review } from '../../../../model/review.ts';
import { scriptKey } from '../../../../model/target.ts';
import { unknownVersion } from '../../../../model/unknown-name-errors.ts';
import { scriptUrl } from '../../../../protocol/wire.ts';
import type { Version } from '../../../store/integrations/integration-rows.ts';
import { actorOf, requireAdmin } from '../authenticate.ts';
import { PageOf, PageQuery, pageAnswer, pageRequest } from '../lists.ts';
import { route } from '../route.ts';
import { closed, isoTime, Name, NO_CONTROLS, NoQuery, named, optional, Time } from '../schemas.ts';
import { ownIntegration } from './integrations.ts';
import { MANIFEST_MEMBERS, manifestMembers } from './manifest-view.ts';

const REASON_CHARS_MAX = 1_000;
const Reason = Type.String({ minLength: 1, maxLength: REASON_CHARS_MAX, pattern: NO_CONTROLS });

const ReviewView = named(
  'Review',
  {
    state: Type.Enum([...REVIEW_STATES], {
      description:
        '`unreviewed`: passed over by the approval of a later version, or of the first public one.',
    }),
    at: Time,
    reason: optional(Type.String(), "The operator's, of a refusal."),
  },
  { description: 'What the operator said; absent of a version that never had to be reviewed.' },
);

const VersionView = named('Version', {
  ...{ version: Type.Integer(), active: Type.Boolean(), createdAt: Time },
  review: Type.Optional(ReviewView),
});

const VersionDetail = named('WholeVersion', {
  ...VersionView.properties,
  title: Type.String(),
  description: Type.String(),
  visibility: Type.String(),
  ...MANIFEST_MEMBERS,
  script: Type.Optional(Type.String()),
  configurations: Type.Record(Type.String(), Type.Unknown()),
  contentSecurityPolicy: Type.Optional(Type.Unknown()),
});

const VERSION_PARAMS = { name: Name, version: Type.Integer({ minimum: 1, maximum: 999_999_999 }) };

const SourceMapView = named('SourceMap', {
  version: Type.Literal(3),
  file: Type.String({ description: 'URL of the script in stacks.' }),
  sources: Type.Array(Type.String({ description: 'Path in the upload.' })),
  names: Type.Array(Type.String()),
  mappings: Type.String(),
});
/** Sent as it is stored: a map of megabytes is not parsed in the host. */
const SourceMapText = Type.Unsafe<string>({
  description: 'The source map (ECMA-426).',
  content: { 'application/json': { schema: SourceMapView } },
});
const ScriptText = Type.Unsafe<string>({
  description: 'The script.',
  content: { 'text/javascript': { schema: { type: 'string' } } },
});

/** Key of a page: the version's number. */
const PAGE_KEY = /^\d{1,9}$/;

const ownRoutes = [
  route({
    name: 'versions.list',
    at: 'GET /integrations/:name/versions',
    summary: 'List versions, newest first',
    params: { name: Name },
    query: PageQuery,
    answer: PageOf(VersionView),
    async handle(request, control) {
      const { name, activeVersion } = await ownIntegration(control, request);
      const asked = { ...pageRequest(request.query, PAGE_KEY), integration: name };
      return pageAnswer(await control.registry.versions(asked), ({ number, createdAt, review }) => ({
        ...{ version: number, active: number === activeVersion, createdAt: isoTime(createdAt) },
        review: reviewView(review),
      }));
    },
  }),
  route({
    name: 'versions.get',
    at: 'GET /integrations/:name/versions/:version',
    summary: 'Read a version with the members of its manifest',
    description: 'Images are paths as in the manifest.',
    params: VERSION_PARAMS,
    query: NoQuery,
    answer: VersionDetail,
    async handle(request, control) {
      const { name, activeVersion } = await ownIntegration(control, request);
      const version = await control.registry.version(name, request.params.version);
      if (version === undefined) throw unknownVersion(name, request.params.version);
      return versionView(version, activeVersion);
    },
  }),
  route({
    name: 'versions.activate',
    at: 'POST /integrations/:name/versions/:version/activate',
    right: 'publish',
    summary: 'Activate a version',
    description:
      'Calls that start after the answer run this version. Secrets keep their values. Installations keep their ' +
      'status until they are edited, even if the version declares other properties. Of an integration that is ' +
      'reviewed, only an approved version is activated.',
    params: VERSION_PARAMS,
    answer: Type.Object({ integration: Type.String(), version: Type.Integer() }),
    async handle(request, control) {
      const { name } = await ownIntegration(control, request);
      const { version } = request.params;
      await control.registry.activate(name, version, actorOf(request));
      return { integration: name, version };
    },
  }),
];

const Reviewed = named('ReviewedVersion', {
  integration: Type.String(),
  version: Type.Integer(),
  review: Type.Optional(ReviewView),
});

const reviewRoutes = [
  route({
    name: 'versions.approve',
    at: 'POST /integrations/:name/versions/:version/approve',
    right: 'operate',
    summary: 'Approve a version',
    description:
      'It becomes the active one, with the visibility of its manifest. Does nothing if it is approved already.',
    rights: requireAdmin,
    params: VERSION_PARAMS,
    answer: Reviewed,
    async handle(request, { registry }) {
      const { name: integration, version } = request.params;
      const { review } = await registry.approve(integration, version, actorOf(request));
      return { integration, version, review: reviewView(review) };
    },
  }),
  route({
    name: 'versions.refuse',
    at: 'POST /integrations/:name/versions/:version/refuse',
    right: 'operate',
    summary: 'Refuse a version',
    description: 'Its owner reads the reason. A version that was approved before is not activated again.',
    rights: requireAdmin,
    params: VERSION_PARAMS,
    body: closed('Refusal', { reason: Type.With(Reason, { description: 'For the owner.' }) }),
    answer: Reviewed,
    async handle(request, { registry }) {
      const { name: integration, version } = request.params;
      const { reason } = request.body;
      const { review } = await registry.refuse(integration, version, reason, actorOf(request));
      return { integration, version, review: reviewView(review) };
    },
  }),
];

/** What a tracker of errors needs of a version. */
const codeRoutes = [
  route({
    name: 'versions.getSourceMap',
    at: 'GET /integrations/:name/versions/:version/source-map',
    summary: 'Read the source map of a version',
    description:
      "For a tracker of errors: from positions of the script, which are those of an error's `stack`, to the files of " +
      'the upload. It has no text of these files.',
    params: VERSION_PARAMS,
    query: NoQuery,
    answer: SourceMapText,
    async handle(request, control, reply) {
      const { name } = await ownIntegration(control, request);
      const { version } = request.params;
      const key = scriptKey(name, version);
      const map = await control.registry.sourceMap(key);
      if (map === undefined) throw unknownVersion(name, version);
      return reply.type('application/json').send(`{"file":${JSON.stringify(scriptUrl(key))},${map.slice(1)}`);
    },
  }),
  route({
    name: 'versions.getScript',
    at: 'GET /integrations/:name/versions/:version/script',
    summary: 'Read the script of a version',
    description: 'As it runs in an isolate: the bundle of the upload. Its last line names its source map.',
    params: VERSION_PARAMS,
    query: NoQuery,
    answer: ScriptText,
    async handle(request, control, reply) {
      const { name } = await ownIntegration(control, request);
      const { version } = request.params;
      const key = scriptKey(name, version);
      const script = await control.registry.script(key);
      if (script === undefined) throw unknownVersion(name, version);
      const end = `//# sourceMappingURL=${basename(scriptUrl(key))}.map\n`;
      return reply.type('text/javascript').send(`${script}\n${end}`);
    },
  }),
];

export const VERSION_ROUTES = [...ownRoutes, ...reviewRoutes, ...codeRoutes];

const reviewView = (review: Review | undefined) => review && { ...review, at: isoTime(review.at) };

function versionView({ number, manifest, createdAt, review }: Version, activeVersion: number) {
  const { title, description, visibility, script, configurations, contentSecurityPolicy } = manifest;
  return {
    ...{ version: number, active: number === activeVersion, createdAt: isoTime(createdAt) },
    ...{ review: reviewView(review), title, description, visibility, script, contentSecurityPolicy },
    ...manifestMembers(manifest, (path) => path),
    configurations: { ...configurations },
  };
}
