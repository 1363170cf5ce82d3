/**
 * `POST /v1/integrations`: publish, and `POST /v1/integrations/check`: find out whether a publish
 * would succeed (docs/contract/api.md#publishing).
 *
 * A plugin of its own: only these routes read multipart, as streams, with the limit for uploads
 * instead of that for JSON bodies.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { UploadForm } from '../../../bundle/upload-form.ts';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import { isError, type Problem } from '../../../model/problem.ts';
import { type Publisher, publisherOf, type Refused } from '../../../publish/publish.ts';
import { receiveUpload } from '../../../publish/receive-upload.ts';
import { UploadBudget } from '../../../publish/upload-budget.ts';
import { actorOf, principalOf } from '../authenticate.ts';
import { ERRORS_VIEW, ProblemView } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';

const PublishedView = Type.Object(
  {
    integration: Type.String(),
    version: Type.Integer(),
    warnings: Type.Array(ProblemView),
  },
  { title: 'Published' },
);
const CheckedView = Type.Object(
  {
    integration: Type.String(),
    scriptBytes: Type.Integer({ description: 'Size of the script that would be stored.' }),
    warnings: Type.Array(ProblemView),
  },
  { title: 'Checked' },
);

export interface PublishRouteParts {
  readonly publisher: Pick<Publisher, 'publish' | 'check'>;
  readonly limits: Limits;
  limitMet(limit: LimitName): void;
}

export function publishRoutes(parent: TypedApp, parts: PublishRouteParts): void {
  const { publisher, limits } = parts;
  const received = uploadReceiver(parts);
  const { uploadFiles, uploadBytes } = limits;
  const upload = {
    consumes: ['multipart/form-data'],
    // For clients, which can say what is too large before they send it.
    'x-limits': { uploadFiles, uploadBytes },
  };
  parent.register(async (scope: TypedApp) => {
    // Leaves the body in its stream, unread.
    scope.addContentTypeParser('multipart/form-data', (_request, _body, done) => done(null));
    scope.post(
      '/integrations',
      {
        schema: {
          summary: 'Publish a version and activate it',
          description:
            'Parts: `manifest` (YAML), `secrets` (JSON object of values for secrets that have none yet; with ' +
            '`overwriteSecrets` `true` they replace stored ones), `env` (name of an environment), and `files` (relative ' +
            'paths as filenames), one `archive` (.tar, .tar.gz), or one ready `script` (ES module). 422 lists every ' +
            'problem at once.',
          ...upload,
          response: { 201: PublishedView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const published = await received(request, reply, (form, gone) =>
          publisher.publish(form, actorOf(request), gone),
        );
        const { integration, version, warnings } = published;
        return reply.code(201).send({ integration, version, warnings: [...warnings] });
      },
    );
    scope.post(
      '/integrations/check',
      {
        schema: {
          summary: 'Check an upload as a publish does, and store nothing',
          description: 'The parts of a publish. 422 lists every problem at once.',
          ...upload,
          response: { 200: CheckedView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const { integration, scriptBytes, warnings } = await received(request, reply, (form, gone) =>
          publisher.check(form, principalOf(request), gone),
        );
        return { integration, scriptBytes, warnings: [...warnings] };
      },
    );
  });
}

/** Receives uploads within their memory budget, and hands each to the publisher. */
function uploadReceiver({ limits, limitMet }: Pick<PublishRouteParts, 'limits' | 'limitMet'>) {
  const uploads = new UploadBudget({ name: 'bufferedUploadBytes', max: limits.bufferedUploadBytes });
  /** @throws AnnexError where the upload is refused, `PUBLISH_INVALID` with its problems */
  return async <Result extends { readonly ok: true }>(
    request: FastifyRequest,
    reply: FastifyReply,
    use: (form: UploadForm, gone: AbortSignal) => Promise<Result | Refused>,
  ): Promise<Result> => {
    const principal = principalOf(request);
    const { kind } = principal;
    if (kind !== 'admin' && kind !== 'organization') {
      throw new AnnexError(
        'TOKEN_FORBIDDEN',
        `Publishing needs an admin or organization token; the request came with one of kind ${kind}.`,
      );
    }
    const disconnected = disconnectSignal(reply.raw);
    const share = uploads.open(publisherOf(principal));
    const receiving = receiveUpload(request.raw, request.headers['content-type'], limits, share);
    const result = await receiving
      .catch((cause) => {
        if (cause instanceof AnnexError && cause.limit) limitMet(cause.limit.name);
        throw cause;
      })
      .then((form) => use(form, disconnected))
      .finally(() => share.giveBack());
    if (result.ok) return result;
    for (const name of limitsOf(result.problems)) limitMet(name);
    throw refusal(result.problems);
  };
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

/** The limits that an upload met, each once. */
const limitsOf = (problems: readonly Problem[]): ReadonlySet<LimitName> =>
  new Set(problems.flatMap(({ limit }) => (limit ? [limit.name] : [])));
