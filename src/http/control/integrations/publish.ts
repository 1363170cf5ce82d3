/**
 * `POST /v1/integrations`: publish (docs/contract/api.md#publishing).
 *
 * A plugin of its own: only this route reads multipart, as a stream, with the limit for uploads
 * instead of that for JSON bodies.
 */
import type { ServerResponse } from 'node:http';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import { isError, type Problem } from '../../../model/problem.ts';
import { type Publisher, publisherOf } from '../../../publish/publish.ts';
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

export interface PublishRouteParts {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly limits: Limits;
  limitMet(limit: LimitName): void;
}

export function publishRoutes(parent: TypedApp, parts: PublishRouteParts): void {
  const { publisher, limits } = parts;
  const uploads = new UploadBudget({ name: 'bufferedUploadBytes', max: limits.bufferedUploadBytes });
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
          consumes: ['multipart/form-data'],
          response: { 201: PublishedView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
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
        const published = await receiving
          .catch((cause) => {
            if (cause instanceof AnnexError && cause.limit) parts.limitMet(cause.limit.name);
            throw cause;
          })
          .then((form) => publisher.publish(form, actorOf(request), disconnected))
          .finally(() => share.giveBack());
        if (!published.ok) {
          for (const name of limitsOf(published.problems)) parts.limitMet(name);
          throw refusal(published.problems);
        }
        const { integration, version, warnings } = published;
        return reply.code(201).send({ integration, version, warnings: [...warnings] });
      },
    );
  });
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
