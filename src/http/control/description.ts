/**
 * What the OpenAPI description says of each route beside its schemas: a name for generated clients, a noun to find it by,
 * whether code of integrations may ask it, whether its body may be left out, and the parts of an upload, which no schema
 * validates.
 */
import type { FastifySchema } from 'fastify';
import Type from 'typebox';

/** A route as the plugin for the description hands it over. */
interface Described {
  readonly schema: FastifySchema;
  readonly url: string;
  readonly route: {
    readonly method: string | readonly string[];
    readonly config?: { readonly runtime?: boolean };
  };
}

/** Marks an operation until all of them are described: the plugin has every body required. */
const BODY_OPTIONAL = 'x-body-optional';

/** What is read and changed of an operation. */
interface Operation {
  [BODY_OPTIONAL]?: true;
  requestBody?: { required?: boolean };
}

const bytes = (description: string) =>
  Type.Optional(Type.Unsafe<string>({ type: 'string', format: 'binary', description }));

/** As `publish/receive-upload.ts` reads it. */
const UPLOAD = Type.Object({
  manifest: Type.Optional(
    Type.String({ description: 'YAML; where it is absent, `platform-manifest.yaml` among the files.' }),
  ),
  secrets: Type.Optional(Type.String({ description: 'JSON object: name of a secret → its value.' })),
  files: Type.Optional(
    Type.Array(Type.Unsafe<string>({ type: 'string', format: 'binary' }), {
      description: 'Any number; the file name of each is its path relative to the manifest.',
    }),
  ),
  archive: bytes('The same as one .tar or .tar.gz, instead of `files`.'),
  script: bytes('One ready ES module, instead of `files`.'),
});

/** The schema of a route as it is described. */
export function described({ schema, url, route }: Described): { schema: FastifySchema; url: string } {
  if (schema?.hide === true) return { schema, url };
  const segments = url.split('/').filter((segment) => segment !== '' && segment !== 'v1');
  const method = typeof route.method === 'string' ? route.method : (route.method[0] ?? 'get');
  const isUpload = schema?.consumes?.includes('multipart/form-data') === true;
  return {
    url,
    schema: {
      ...schema,
      operationId: [method.toLowerCase(), ...segments.map(wordOf)].join(''),
      tags: [nounOf(segments)],
      ...(isUpload && { body: UPLOAD }),
      // The types of the SDK's client are made of what code of an integration may ask.
      ...(route.config?.runtime === true && { 'x-runtime': true }),
      ...(schema.body !== undefined && Type.IsOptional(schema.body) && { [BODY_OPTIONAL]: true }),
    } as FastifySchema,
  };
}

/** Says of bodies that may be left out that they may. @param paths of the whole description, which are changed */
export function withOptionalBodies(paths: object): void {
  for (const operations of Object.values(paths)) {
    for (const operation of Object.values<Operation>(operations)) {
      if (operation[BODY_OPTIONAL] !== true) continue;
      delete operation[BODY_OPTIONAL];
      if (operation.requestBody) operation.requestBody.required = false;
    }
  }
}

/** `install-links` → `InstallLinks`, `:name` → `ByName`. */
function wordOf(segment: string): string {
  const words = segment.startsWith(':') ? ['by', segment.slice(1)] : segment.split(/[^A-Za-z0-9]+/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** What belongs to an integration is found under its own noun. */
function nounOf(segments: readonly string[]): string {
  const [first = '', ...others] = segments.filter((segment) => !/[:*]/.test(segment));
  return (first === 'integrations' ? others[0] : undefined) ?? first;
}
