/**
 * `/v1/integrations/{name}/versions`: list, read and activate versions, and read the script of one
 * with its source map. A rollback is the activation of an earlier version. For the owner.
 */
import { basename } from 'node:path';
import Type from 'typebox';
import { scriptKey } from '../../../model/target.ts';
import { unknownVersion } from '../../../model/unknown-name-errors.ts';
import { scriptUrl } from '../../../protocol/wire.ts';
import type { Version } from '../../../store/integrations/integration-rows.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { actorOf } from '../authenticate.ts';
import {
  ERRORS_VIEW,
  isoTime,
  Name,
  NoQuery,
  PageOf,
  PageQuery,
  pageAnswer,
  pageRequest,
  Time,
} from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { ownIntegration } from './integrations.ts';
import { MANIFEST_MEMBERS, manifestMembers } from './manifest-view.ts';

const VersionView = Type.Object(
  { version: Type.Integer(), active: Type.Boolean(), createdAt: Time },
  { title: 'Version' },
);

const VersionDetail = Type.Object(
  {
    ...VersionView.properties,
    title: Type.String(),
    description: Type.String(),
    visibility: Type.String(),
    ...MANIFEST_MEMBERS,
    script: Type.Optional(Type.String()),
    configurations: Type.Record(Type.String(), Type.Unknown()),
    contentSecurityPolicy: Type.Optional(Type.Unknown()),
  },
  { title: 'WholeVersion' },
);

const VERSION_PARAMS = Type.Object({
  name: Name,
  version: Type.Integer({ minimum: 1, maximum: 999_999_999 }),
});

const SourceMapView = Type.Object(
  {
    version: Type.Literal(3),
    file: Type.String({ description: 'URL of the script in stacks.' }),
    sources: Type.Array(Type.String({ description: 'Path in the upload.' })),
    names: Type.Array(Type.String()),
    mappings: Type.String(),
  },
  { title: 'SourceMap' },
);
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

export interface VersionsRouteParts {
  readonly registry: Pick<
    Registry,
    'integration' | 'version' | 'versions' | 'activate' | 'script' | 'sourceMap'
  >;
}

export function versionsRoutes(app: TypedApp, { registry }: VersionsRouteParts): void {
  app.get(
    '/integrations/:name/versions',
    {
      schema: {
        summary: 'List versions, newest first',
        params: Type.Object({ name: Name }),
        querystring: PageQuery,
        response: { 200: PageOf(VersionView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { name, activeVersion } = await ownIntegration(registry, request, request.params.name);
      const page = await registry.versions({ ...pageRequest(request.query, PAGE_KEY), integration: name });
      return pageAnswer(page, ({ number, createdAt }) => ({
        version: number,
        active: number === activeVersion,
        createdAt: isoTime(createdAt),
      }));
    },
  );
  app.get(
    '/integrations/:name/versions/:version',
    {
      schema: {
        summary: 'Read a version with the members of its manifest',
        description: 'Images are paths as in the manifest.',
        params: VERSION_PARAMS,
        querystring: NoQuery,
        response: { 200: VersionDetail, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { name, activeVersion } = await ownIntegration(registry, request, request.params.name);
      const version = await registry.version(name, request.params.version);
      if (version === undefined) throw unknownVersion(name, request.params.version);
      return versionView(version, activeVersion);
    },
  );
  codeRoutes(app, registry);
  app.post(
    '/integrations/:name/versions/:version/activate',
    {
      schema: {
        summary: 'Activate a version',
        description:
          'Calls that start after the answer run this version. Secrets keep their values. Installations keep their ' +
          'status until they are edited, even if the version declares other properties.',
        params: VERSION_PARAMS,
        response: {
          200: Type.Object({ integration: Type.String(), version: Type.Integer() }),
          ...ERRORS_VIEW,
        },
      },
    },
    async (request) => {
      const { name } = await ownIntegration(registry, request, request.params.name);
      const { version } = request.params;
      await registry.activate(name, version, actorOf(request));
      return { integration: name, version };
    },
  );
}

/** What a tracker of errors needs of a version. */
function codeRoutes(app: TypedApp, registry: VersionsRouteParts['registry']): void {
  app.get(
    '/integrations/:name/versions/:version/source-map',
    {
      schema: {
        summary: 'Read the source map of a version',
        description:
          "For a tracker of errors: from positions of the script, which are those of an error's `stack`, to the files of " +
          'the upload. It has no text of these files.',
        params: VERSION_PARAMS,
        querystring: NoQuery,
        response: { 200: SourceMapText, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { name } = await ownIntegration(registry, request, request.params.name);
      const { version } = request.params;
      const key = scriptKey(name, version);
      const map = await registry.sourceMap(key);
      if (map === undefined) throw unknownVersion(name, version);
      return reply.type('application/json').send(`{"file":${JSON.stringify(scriptUrl(key))},${map.slice(1)}`);
    },
  );
  app.get(
    '/integrations/:name/versions/:version/script',
    {
      schema: {
        summary: 'Read the script of a version',
        description:
          'As it runs in an isolate: the bundle of the upload. Its last line names its source map.',
        params: VERSION_PARAMS,
        querystring: NoQuery,
        response: { 200: ScriptText, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { name } = await ownIntegration(registry, request, request.params.name);
      const { version } = request.params;
      const key = scriptKey(name, version);
      const script = await registry.script(key);
      if (script === undefined) throw unknownVersion(name, version);
      return reply
        .type('text/javascript')
        .send(`${script}\n//# sourceMappingURL=${basename(scriptUrl(key))}.map\n`);
    },
  );
}

function versionView({ number, manifest, createdAt }: Version, activeVersion: number) {
  const { title, description, visibility, script, configurations, contentSecurityPolicy } = manifest;
  return {
    version: number,
    active: number === activeVersion,
    createdAt: isoTime(createdAt),
    ...{ title, description, visibility },
    ...manifestMembers(manifest, (path) => path),
    ...(script !== undefined && { script }),
    configurations: { ...configurations },
    ...(contentSecurityPolicy !== undefined && { contentSecurityPolicy }),
  };
}
