/**
 * Completes the OpenAPI description of each route: a name for generated clients, a tag, whether
 * runtime tokens are accepted, whether the body is optional, and the parts of an upload, which no
 * schema validates.
 */
import type { FastifySchema } from 'fastify';
import Type, { type TSchema } from 'typebox';
import { camelCase, capitalized, operationName } from './operation-name.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** Of an event, where the route also answers with server-sent events. */
    streamed?: TSchema;
    /** Where in the body the id is by which a repetition is recognized; the first that fits. */
    'x-idempotent-by'?: readonly string[];
  }
}

/** A route as the plugin for the description passes it. */
interface Described {
  readonly schema: FastifySchema;
  readonly url: string;
  readonly route: {
    readonly method: string | readonly string[];
    readonly config?: { readonly runtime?: boolean };
  };
}

/** Marks an operation until all are described: the plugin makes every body required. */
const BODY_OPTIONAL = 'x-body-optional';

/** The members of an operation that are read and changed. */
interface Operation {
  [BODY_OPTIONAL]?: true;
  requestBody?: { required?: boolean };
}

const bytes = (description: string) =>
  Type.Optional(Type.Unsafe<string>({ type: 'string', format: 'binary', description }));

/** The parts that `publish/receive-upload.ts` reads. */
const UPLOAD = Type.Object(
  {
    manifest: Type.Optional(
      Type.String({
        description:
          'YAML, or the path of an uploaded file; where it is absent, the one `…-manifest.yaml` among the files.',
      }),
    ),
    secrets: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'JSON: name of a secret → its value.' }),
    ),
    files: Type.Optional(
      Type.Array(Type.Unsafe<string>({ type: 'string', format: 'binary' }), {
        description: 'Any number; the file name of each is its path relative to the manifest.',
      }),
    ),
    archive: bytes('The same as one .tar or .tar.gz, instead of `files`.'),
    script: bytes('One ready ES module; files beside it are its manifest and its images.'),
    overwriteSecrets: Type.Optional(
      Type.Boolean({ description: 'Whether the values in `secrets` replace stored ones; else they do not.' }),
    ),
    env: Type.Optional(
      Type.String({ description: 'Name of the environment in `envs` of the manifest; else `default`.' }),
    ),
  },
  { title: 'Upload' },
);

/** The schema of a route as the description shows it. */
export function described({ schema: own, url, route }: Described): { schema: FastifySchema; url: string } {
  if (own?.hide === true) return { schema: own, url };
  const { streamed, ...schema } = own;
  const method = typeof route.method === 'string' ? route.method : (route.method[0] ?? 'GET');
  const { noun, verb } = operationName(method.toUpperCase(), url);
  const isUpload = schema?.consumes?.includes('multipart/form-data') === true;
  return {
    url,
    schema: {
      ...schema,
      operationId: `${camelCase(noun)}${capitalized(verb)}`,
      tags: [noun],
      ...(isUpload && { body: UPLOAD }),
      ...(streamed && { response: withStream(schema.response as Responses, streamed) }),
      // The types of the SDK's client are generated from these operations.
      ...(route.config?.runtime === true && { 'x-runtime': true }),
      ...(schema.body !== undefined && Type.IsOptional(schema.body) && { [BODY_OPTIONAL]: true }),
    } as FastifySchema,
  };
}

type Responses = Readonly<Record<string, TSchema>>;

/** The success of a route in both of its forms. */
const withStream = (responses: Responses, event: TSchema): object => ({
  ...responses,
  200: {
    description: 'A page of the list, or the events of a stream.',
    content: { 'application/json': { schema: responses['200'] }, 'text/event-stream': { schema: event } },
  },
});

/** Marks optional bodies as such. @param paths of the whole description, which are changed */
export function withOptionalBodies(paths: object): void {
  for (const operations of Object.values(paths)) {
    for (const operation of Object.values<Operation>(operations)) {
      if (operation[BODY_OPTIONAL] !== true) continue;
      delete operation[BODY_OPTIONAL];
      if (operation.requestBody) operation.requestBody.required = false;
    }
  }
}
