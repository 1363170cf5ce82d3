/**
 * Turns what a command threw into a `Failure`: a sentence that says what happened, and what to do.
 *
 * Nothing here is a rule of the API. Where the service has answered with a sentence of its own,
 * that sentence is the message.
 */
import { AnnexError } from '../../../packages/client/src/index.ts';
import { Failure, type FailureDetails, UsageError } from './failure.ts';
import { type Destination, unreachable } from './unreachable.ts';

/** The service that a failure is about. */
export interface Asked extends Destination {
  /** Where the token is from; undefined if there was none. */
  readonly tokenFrom: string | undefined;
  /** Versions of this program and of the service, if that has sent its own. */
  readonly versions: readonly [string, string | undefined];
}

export function explain(cause: unknown, asked?: Asked): Failure {
  if (cause instanceof Failure) return cause;
  if (cause instanceof AnnexError && asked !== undefined) return ofService(cause, asked);
  if (!(cause instanceof Error)) return new Failure(String(cause));
  // Of src/config.ts, which is loaded only by the commands that read settings.
  if (cause.name === 'ConfigError') return new UsageError(cause.message, { cause });
  return new Failure(cause.message, { cause });
}

function ofService(error: AnnexError, asked: Asked): Failure {
  const { code, status, problems, message } = error;
  const details = (hint?: string): FailureDetails => ({
    code,
    cause: error,
    ...(status !== 0 && { status }),
    ...(problems.length > 0 && { problems }),
    ...(hint !== undefined && { hint }),
  });
  if (code === 'NETWORK_FAILED') {
    const [sentence, hint] = unreachable(error, asked);
    return new Failure(sentence, details(hint));
  }
  if (code === 'REQUEST_TIMED_OUT')
    return new Failure(
      `${asked.url} did not answer in time.`,
      details('`annex doctor` looks for the reason.'),
    );
  if (code === 'ANSWER_INVALID') {
    const hint = 'Is it the control listener of a service? `annex profile show` says where the URL is from.';
    return new Failure(
      `${asked.url} answers${status ? ` ${status}` : ''}, but not as Annex does.`,
      details(hint),
    );
  }
  if (status === 401) return new Failure(...unauthorized(asked, details));
  if (status === 403)
    return new Failure(
      message,
      details(
        asked.tokenFrom === undefined ? 'The request had no token.' : `The token is from ${asked.tokenFrom}.`,
      ),
    );
  if (code === 'ROUTE_UNKNOWN') return new Failure(...unknownRoute(error, asked, details));
  if (code === 'ENDPOINT_UNKNOWN')
    return new Failure(
      `${asked.url} is a public listener, which serves endpoints of installations.`,
      details('The API is on the control listener, on port 7700 unless the service has other settings.'),
    );
  if (code === 'HOST_UNKNOWN')
    return new Failure(message, details('The operator names it: annex serve --control-names <host>.'));
  return new Failure(message, details());
}

type Parts = [message: string, details: FailureDetails];
type Details = (hint?: string) => FailureDetails;

function unauthorized({ url, tokenFrom }: Asked, details: Details): Parts {
  const hint = `Log in with another token: annex login ${url}`;
  if (tokenFrom === undefined) return [`There is no token for ${url}.`, details(hint)];
  return [
    `${url} does not accept the token from ${tokenFrom}: it is unknown, or was revoked.`,
    details(hint),
  ];
}

function unknownRoute({ message }: AnnexError, { url, versions }: Asked, details: Details): Parts {
  const [own, its] = versions;
  if (its === undefined)
    return [`${url} is not the base of an Annex API: ${message}`, details('It ends before /v1.')];
  if (own === its) return [message, details('`annex api GET /v1/openapi.json` lists the routes.')];
  return [
    `The service is Annex ${its} and does not have this route; this command line is ${own}.`,
    details(`Use a command line of its version: npm install ${url}/v1/packages/annex-${its}.tgz`),
  ];
}
