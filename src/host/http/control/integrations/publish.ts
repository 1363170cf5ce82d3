/**
 * `POST /v1/integrations`: publish, and `POST /v1/integrations/check`: find out whether a publish
 * would succeed (docs/contract/api.md#publishing).
 *
 * Only these routes read multipart, as streams, with the limit for uploads instead of that for JSON
 * bodies.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import { isError, type Problem } from '../../../../model/problem.ts';
import type { UploadForm } from '../../../bundle/upload-form.ts';
import { publisherOf, type Refused } from '../../../publish/publish.ts';
import { receiveUpload } from '../../../publish/receive-upload.ts';
import { actorOf, holderOf, principalOf, requires } from '../authenticate.ts';
import type { Control } from '../control.ts';
import { type Route, route } from '../route.ts';
import { named, optional, ProblemView } from '../schemas.ts';

const PublishedView = named('Published', {
  integration: Type.String(),
  version: Type.Integer(),
  waits: optional(
    Type.Object({ activeVersion: Type.Integer({ description: 'The version that runs meanwhile.' }) }),
    "The version waits for the operator's approval.",
  ),
  warnings: Type.Array(ProblemView),
});
const CheckedView = named('Checked', {
  integration: Type.String(),
  scriptBytes: Type.Integer({ description: 'Size of the script that would be stored.' }),
  warnings: Type.Array(ProblemView),
});

const bytes = (description: string) =>
  Type.Optional(Type.Unsafe<string>({ type: 'string', format: 'binary', description }));

/** The parts that `publish/receive-upload.ts` reads. */
const UPLOAD = named('Upload', {
  manifest: optional(
    Type.String(),
    'YAML, or the path of an uploaded file; where it is absent, the one `…-manifest.yaml` among the files.',
  ),
  secrets: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: 'JSON: name of a secret → its value.' }),
  ),
  files: optional(
    Type.Array(Type.Unsafe<string>({ type: 'string', format: 'binary' })),
    'Any number; the file name of each is its path relative to the manifest.',
  ),
  archive: bytes('The same as one .tar or .tar.gz, instead of `files`.'),
  script: bytes('One ready ES module; files beside it are its manifest and its images.'),
  overwriteSecrets: optional(
    Type.Boolean(),
    'Whether the values in `secrets` replace stored ones; else they do not.',
  ),
  env: optional(Type.String(), 'Name of the environment in `envs` of the manifest; else `default`.'),
});

/** What both routes share. */
const UPLOADED = {
  rights: requires(
    ({ kind }) => kind === 'admin' || kind === 'organization',
    'Publishing needs an admin or organization token',
  ),
  consumes: 'multipart/form-data',
  schema: ({ uploadFiles, uploadBytes }) => ({ 'x-limits': { uploadFiles, uploadBytes } }),
  described: { body: UPLOAD },
} satisfies Partial<Route>;

export const PUBLISH_ROUTES = [
  route({
    ...UPLOADED,
    name: 'integrations.publish',
    at: 'POST /integrations',
    right: 'publish',
    summary: 'Publish a version and activate it',
    description:
      'Parts: `manifest` (YAML), `secrets` (JSON object of values for secrets that have none yet; with ' +
      '`overwriteSecrets` `true` they replace stored ones), `env` (name of an environment), and `files` (relative ' +
      'paths as filenames), one `archive` (.tar, .tar.gz), or one ready `script` (ES module). 422 lists every ' +
      'problem at once. Where public integrations are reviewed, a version may wait.',
    answer: PublishedView,
    status: 201,
    handle: (request, control, reply) =>
      received(control, reply, (form, gone) => control.publisher.publish(form, actorOf(request), gone)),
  }),
  route({
    ...UPLOADED,
    name: 'integrations.check',
    at: 'POST /integrations/check',
    right: 'publish',
    summary: 'Check an upload as a publish does, and store nothing',
    description: 'The parts of a publish. 422 lists every problem at once.',
    answer: CheckedView,
    handle: (request, control, reply) =>
      received(control, reply, (form, gone) => control.publisher.check(form, principalOf(request), gone)),
  }),
];

/**
 * Receives an upload within the memory budget of all, and hands it to the publisher.
 *
 * @throws AnnexError where the upload is refused, `PUBLISH_INVALID` with its problems
 */
async function received<Result extends { readonly ok: true }>(
  { uploads, limits }: Control,
  reply: FastifyReply,
  use: (form: UploadForm, gone: AbortSignal) => Promise<Result | Refused>,
): Promise<Result> {
  const { request } = reply;
  const disconnected = disconnectSignal(reply.raw);
  const share = uploads.open(publisherOf(holderOf(request)));
  try {
    const form = await receiveUpload(request.raw, request.headers['content-type'], limits, share);
    const result = await use(form, disconnected);
    if (result.ok) return result;
    throw refusal(result.problems);
  } finally {
    share.giveBack();
  }
}

/**
 * Aborts when the connection closes before the answer. Attack: costly uploads whose publisher
 * disconnects at once, which would occupy the few places for builds at no cost to the publisher.
 */
function disconnectSignal(response: ServerResponse): AbortSignal {
  const disconnected = new AbortController();
  response.once('close', () => {
    if (response.writableEnded) return;
    disconnected.abort(new AnnexError('CALL_CANCELED', 'The publisher disconnected before the answer.'));
  });
  return disconnected.signal;
}

function refusal(problems: readonly Problem[]): AnnexError {
  const errors = problems.filter(isError);
  const more = errors.length - 1;
  const others = more > 0 ? ` (and ${more} more ${more === 1 ? 'problem' : 'problems'})` : '';
  const message = `The upload cannot be published: ${errors[0]?.message ?? 'it has problems.'}${others}`;
  const limit = problems.find((found) => found.limit)?.limit;
  return new AnnexError('PUBLISH_INVALID', message, { extra: { problems }, ...(limit && { limit }) });
}
