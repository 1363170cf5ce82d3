/**
 * `POST /v1/integrations`: publish (REFERENCE D10).
 *
 * In a plugin of its own, because it alone reads multipart, and reads it as a stream: the limit for uploads applies, not
 * that for JSON bodies.
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

const PublishedView = Type.Object({
  integration: Type.String(),
  version: Type.Integer(),
  warnings: Type.Array(ProblemView),
});

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
          summary: 'Publish a version and make it the active one',
          description:
            'Parts: `manifest` (YAML), `secrets` (JSON object), and either `files` (relative paths as filenames), ' +
            'one `archive` (.tar, .tar.gz), or one ready `script` (ES module). 422 lists every problem at once.',
          consumes: ['multipart/form-data'],
          response: { 201: PublishedView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const principal = principalOf(request);
        const { kind } = principal;
        if (kind !== 'admin' && kind !== 'organization') {
          throw new AnnexError('TOKEN_FORBIDDEN', `A token of kind ${kind} does not publish.`);
        }
        const gone = goneSignal(reply.raw);
        const share = uploads.open(publisherOf(principal));
        const receiving = receiveUpload(request.raw, request.headers['content-type'], limits, share);
        const published = await receiving
          .catch((cause) => {
            if (cause instanceof AnnexError && cause.limit) parts.limitMet(cause.limit.name);
            throw cause;
          })
          .then((form) => publisher.publish(form, actorOf(request), gone))
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
 * Aborts when the connection closes before the answer: a publisher who sends costly uploads and hangs up would otherwise
 * keep the few places for builds occupied, at no cost of its own.
 */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (response.writableEnded) return;
    gone.abort(new AnnexError('CALL_CANCELED', 'The publisher went away before the answer.'));
  });
  return gone.signal;
}

function refusal(problems: readonly Problem[]): AnnexError {
  const errors = problems.filter(isError);
  const more = errors.length - 1;
  const others = more > 0 ? ` (and ${more} more ${more === 1 ? 'problem' : 'problems'})` : '';
  const message = `The upload cannot be published: ${errors[0]?.message ?? 'it has problems.'}${others}`;
  const limit = problems.find((found) => found.limit)?.limit;
  return new AnnexError('PUBLISH_INVALID', message, { extra: { problems }, ...(limit && { limit }) });
}

/** Limits that an upload has met, each once. */
const limitsOf = (problems: readonly Problem[]): ReadonlySet<LimitName> =>
  new Set(problems.flatMap(({ limit }) => (limit ? [limit.name] : [])));
