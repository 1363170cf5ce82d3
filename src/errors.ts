/**
 * Every error that leaves the process: its code, its HTTP status, and the side at fault.
 *
 * A message may be shown to the caller; `detail` and `cause` go to the log only. Expected outcomes
 * (a manifest with problems, a call that ran out of CPU) are values elsewhere; listeners turn them
 * into one of these errors. This file depends on no HTTP framework and formats nothing.
 */

import type { LimitMet } from './limits.ts';

/** The side at fault: decides the log level and which side an operator contacts. */
export type Blame = 'caller' | 'integration' | 'receiver' | 'product' | 'platform';

/** One row of the table. */
export interface ErrorRow {
  /** HTTP status of the answer. */
  readonly status: number;
  readonly blame: Blame;
  /** What it means and what to do about it, for the documentation. */
  readonly meaning: string;
  /** Seconds after which a retry may succeed; sent as `Retry-After`. */
  readonly retryAfterS?: number;
}

const row = (status: number, blame: Blame, meaning: string): ErrorRow => ({ status, blame, meaning });
const passing = (meaning: string): ErrorRow => ({ status: 503, blame: 'platform', meaning, retryAfterS: 1 });

/**
 * All codes, `NOUN_PROBLEM` (`docs/contract/api.md#errors`). docs/api.md lists them; a test keeps
 * the two in step.
 */
export const ERRORS = {
  REQUEST_INVALID: row(
    400,
    'caller',
    'The request does not fit the schema of the route; the message names the field.',
  ),
  REQUEST_TOO_LARGE: row(
    413,
    'caller',
    'The body, or a part of it, is over its limit; the message names the limit.',
  ),
  REQUEST_HEAD_TOO_LARGE: row(
    431,
    'caller',
    'The URL and the headers are over their limit, or there are too many headers.',
  ),
  REQUEST_TOO_SLOW: row(408, 'caller', 'The request was not sent in time, or its body came too slowly.'),
  REQUEST_RATE_EXCEEDED: {
    ...row(429, 'caller', 'Too many requests in a second; the message names the address or the endpoint.'),
    retryAfterS: 1,
  },
  EXPECTATION_UNKNOWN: row(417, 'caller', 'The only accepted `Expect` is `100-continue`.'),
  METHOD_REFUSED: row(405, 'caller', 'The listeners do not accept `TRACE` and `CONNECT`.'),
  HOST_UNKNOWN: row(421, 'caller', 'The listener does not serve the host name in `Host`.'),
  REQUEST_SHED: passing('The memory for bodies is used up; try again after `Retry-After`.'),
  ROUTE_UNKNOWN: row(404, 'caller', 'No such method and path on this listener.'),
  TOKEN_MISSING: row(401, 'caller', 'Send `Authorization: Bearer <token>`.'),
  TOKEN_INVALID: row(401, 'caller', 'The token is unknown, revoked, or has expired.'),
  TOKEN_FORBIDDEN: row(
    403,
    'caller',
    'The token is valid, but its kind, its rights or its organization may not do this.',
  ),
  TOKEN_UNKNOWN: row(404, 'caller', 'No token with this id.'),
  TOKEN_LAST: row(409, 'caller', 'It is the last admin token that can make others; make another one first.'),
  ENDPOINT_UNKNOWN: row(404, 'caller', 'There is no endpoint at this URL.'),
  ENDPOINT_PAUSED: row(503, 'caller', 'The installation is paused; it answers after it is resumed.'),
  ENVELOPE_INVALID: row(
    400,
    'caller',
    'The envelope is not multipart, lacks a part, a part is not JSON, or its event names another target.',
  ),
  ENVELOPE_UNAUTHORIZED: row(
    401,
    'caller',
    'The envelope needs a platform token, or a valid `X-Platform-Signature` that is recent and was not used before.',
  ),
  OAUTH_STATE_INVALID: row(
    400,
    'caller',
    'The `state` at the redirect URL of an integration is forged, expired or used, or names no installation of it. Connect again.',
  ),
  SCOPE_MISSING: row(
    403,
    'integration',
    "The manifest lacks the scope that the call or the operator's mapping needs, or the mapping does not open the path.",
  ),
  PRODUCT_FAILED: row(
    502,
    'product',
    "The product's API could not be reached, or its answer is over a limit or no valid HTTP.",
  ),
  PRODUCT_TIMED_OUT: row(
    504,
    'product',
    "The product's API did not answer in time; the message names the limit.",
  ),
  PRODUCT_BUSY: passing(
    "Too many requests to the product's API are in flight; the message names the limit. Try again after `Retry-After`.",
  ),
  LOG_BUSY: {
    ...passing(
      'Too many clients follow logs or deliveries; the message names the limit. Try again after `Retry-After`.',
    ),
    retryAfterS: 5,
  },
  DATABASE_UNAVAILABLE: passing(
    'The database does not answer, or cannot write now. A change that was interrupted may or may not be stored: try again after `Retry-After`.',
  ),
  INTEGRATION_UNKNOWN: row(404, 'caller', 'No integration of this name that the token may see.'),
  VERSION_UNKNOWN: row(404, 'caller', 'The integration has no version of this number.'),
  VERSION_UNAPPROVED: row(
    409,
    'caller',
    'Public integrations are reviewed, and the operator has not approved this version: activate one that is approved.',
  ),
  VERSION_ACTIVE: row(409, 'caller', 'The version is active: activate another one, and refuse it then.'),
  IMAGE_UNKNOWN: row(404, 'caller', 'The active version has no image of this path.'),
  INSTALLATION_UNKNOWN: row(404, 'caller', 'No installation of this id that the token may see.'),
  INSTALLATION_CHANGED: row(
    412,
    'caller',
    'The target is no longer the one in `If-Match`: read it again and repeat the change.',
  ),
  INSTALLATION_BUSY: {
    ...row(
      503,
      'integration',
      'Too many lifecycle events of earlier changes are not delivered yet; try again after `Retry-After`.',
    ),
    retryAfterS: 5,
  },
  CALL_TOO_DEEP: row(
    508,
    'integration',
    'The request was made within too many nested calls, most likely in a loop.',
  ),
  INSTALLATION_LEVEL: row(
    409,
    'caller',
    'The integration cannot be installed in spaces, or in sites: its manifest has another `target`.',
  ),
  ORGANIZATION_UNKNOWN: row(404, 'caller', 'The organization is not declared.'),
  ORGANIZATION_TAKEN: row(409, 'caller', 'The subdomain, or the id, names another organization.'),
  ORGANIZATION_FULL: row(
    409,
    'caller',
    'The organization has installed as many integrations as it may; the message names the limit.',
  ),
  INSTALLATION_FULL: row(
    409,
    'caller',
    'The installation is in as many spaces, or sites, as it may be; the message names the limit.',
  ),
  PROPERTY_UNKNOWN: row(
    404,
    'caller',
    'The configuration has no property of this name, or not of the required type, or people do not set it.',
  ),
  CHOICES_FAILED: row(
    502,
    'integration',
    'The choices of a `select` could not be read from their URL; the message says why.',
  ),
  COMPLETIONS_INVALID: row(
    502,
    'integration',
    "The integration's `completion_url` did not answer `[{label, value}]`.",
  ),
  COMPONENT_UNKNOWN: row(
    404,
    'caller',
    'The integration has no component of this id; the message lists those it has.',
  ),
  RENDER_INVALID: row(
    422,
    'integration',
    'The drawing is not valid ContentKit; `problems` has each fault with its path in the tree.',
  ),
  RENDER_REFUSED: row(
    400,
    'integration',
    'The component refused with a message for the caller. The status is its own, from 400 to 499.',
  ),
  RENDER_FAILED: row(
    502,
    'integration',
    'The component threw; its log has the reason, the message too if the integration exposes it.',
  ),
  CALL_UNKNOWN: row(
    404,
    'caller',
    'The manifest of the active version has no call of this name; the message lists those it has.',
  ),
  CALL_REFUSED: row(
    400,
    'integration',
    'The code refused a call of the product with a message for it. The status is its own, from 400 to 499.',
  ),
  CALL_FAILED: row(502, 'integration', 'The code failed at a call of the product; its log has the reason.'),
  ANSWER_INVALID: row(
    502,
    'integration',
    'The integration answered with another status, size or type of body than the call needs.',
  ),
  UNFURL_UNMATCHED: row(404, 'caller', 'No installed block unfurls the URL: keep the link.'),
  SECRET_UNKNOWN: row(404, 'caller', 'The integration has no secret of this name.'),
  SECRET_NEEDED: row(
    409,
    'caller',
    'The active version declares the secret: it can be set, not removed. Publish a version without it first.',
  ),
  INSTALL_LINK_UNKNOWN: row(404, 'caller', 'No install link with this token; it may have been replaced.'),
  INTEGRATION_INSTALLED: row(
    409,
    'caller',
    'The integration has installations; `cascade=true` deletes them too.',
  ),
  EVENT_UNKNOWN: row(404, 'caller', 'No event of this id that the token may see.'),
  EVENT_CONFLICT: row(
    409,
    'caller',
    'An event with this `eventId` was accepted before, with another body. Nothing of the request was accepted.',
  ),
  EVENT_DATA_INVALID: row(
    422,
    'caller',
    'The data of an event does not fit the schema of its type; `problems` has a JSON pointer for each fault. Nothing of the request was accepted.',
  ),
  EVENT_TYPE_UNKNOWN: row(404, 'caller', 'No event type of this name is declared.'),
  EVENT_TYPE_INVALID: row(
    422,
    'caller',
    'The declaration of an event type has faults; `problems` lists them, each with a JSON pointer.',
  ),
  EVENT_TYPE_BREAKING: row(
    409,
    'caller',
    'Stored events of the type, or its sample, would not fit the changed schema; `problems` has examples. `force=true` changes it anyway.',
  ),
  EVENT_TYPE_IN_USE: row(
    409,
    'caller',
    'The event type is handled, selected by a webhook, or has pending deliveries; `users` says by whom. `force=true` deletes it anyway.',
  ),
  EVENT_TYPES_FIXED: row(
    409,
    'caller',
    'The event types are those of the file that the service was started with (`--event-types`): change the file.',
  ),
  EVENT_TYPES_FULL: row(409, 'caller', 'The limit of declared event types is reached.'),
  DELIVERY_UNKNOWN: row(404, 'caller', 'No delivery of this id that the token may see.'),
  DELIVERY_PENDING: row(409, 'caller', 'The delivery is in flight or waits for its next attempt.'),
  DELIVERY_OVER: row(
    409,
    'caller',
    'The delivery has ended: it cannot be canceled. A task that has ended cannot be delivered again.',
  ),
  TASKS_FULL: {
    ...row(429, 'caller', 'Too many tasks are pending, of the target or of the integration.'),
    retryAfterS: 10,
  },
  STORED_VALUE_UNKNOWN: row(404, 'caller', 'No value is stored under this key, or it has expired.'),
  STORED_VALUE_CHANGED: row(
    412,
    'caller',
    'The stored value is no longer the one in `If-Match`, or there is one and `If-None-Match` is `*`: read it again and repeat the change.',
  ),
  STORED_VALUE_NOT_WHOLE: row(
    409,
    'caller',
    'Only a whole number can be incremented, and only to one that a number of JavaScript holds exactly.',
  ),
  STORAGE_FULL: row(
    507,
    'integration',
    'The code keeps as many keys, or bytes, as it may; the message names the limit. Delete what is no longer needed.',
  ),
  SCHEDULE_UNKNOWN: row(404, 'caller', 'The active version has no schedule of this id and level.'),
  SCHEDULE_RUNNING: row(409, 'caller', 'A run of the schedule has not ended: runs of one do not overlap.'),
  CHAIN_TOO_LONG: row(
    508,
    'integration',
    'Too many tasks, or test events, were each made by the call of the one before, most likely in a loop: queue a task at least a minute later.',
  ),
  WEBHOOK_UNKNOWN: row(
    404,
    'caller',
    'The integration posts no webhooks there: its manifest has no `webhook`, or not for that level.',
  ),
  LEASE_OVER: row(409, 'caller', 'The call does not hold the lease on the credentials, or not any more.'),
  WEBHOOK_DISABLED: row(
    409,
    'caller',
    'The webhook is disabled: nothing is posted to its receiver until it is enabled.',
  ),
  WEBHOOK_URL_MISSING: row(
    409,
    'caller',
    'The settings of the webhook have no URL yet, and its own headers are for the origin of that URL alone: set it first.',
  ),
  WEBHOOK_ENABLED: row(409, 'caller', 'The webhook is not disabled, so there is nothing to enable.'),
  EVENT_UNSELECTED: row(
    409,
    'caller',
    'The settings of the webhook do not select events of this type; the message names the selected types.',
  ),
  INSTALLATION_INACTIVE: row(
    409,
    'caller',
    'The target gets no events: it is paused, or its configuration is not valid; the message says which.',
  ),
  INSTALLATION_EXISTS: row(409, 'caller', 'The organization has already installed this integration.'),
  INSTALLATION_FORBIDDEN: row(
    403,
    'caller',
    "The integration's visibility does not let this organization install it.",
  ),
  CONFIGURATION_INVALID: row(
    422,
    'caller',
    'The edit would make an active target invalid. Nothing has changed; `problems` has each problem, by property.',
  ),
  PUBLISH_INVALID: row(422, 'integration', 'The upload cannot be published; `problems` lists all problems.'),
  INTEGRATION_EXCEPTION: row(500, 'integration', 'The integration threw; the stack is in its log.'),
  INTEGRATION_RESPONSE_TOO_LARGE: row(
    502,
    'integration',
    "The integration's answer is over the response limit.",
  ),
  ISOLATE_LIMIT_EXCEEDED: row(
    503,
    'integration',
    'The call exceeded its CPU or memory; the message says which.',
  ),
  CALL_TIMED_OUT: row(504, 'integration', 'The call did not finish within its wall time.'),
  CALL_SHED: passing(
    'Too many calls are waiting, or this one has waited too long; the message names the limit. Try again after `Retry-After`.',
  ),
  INSTALLATION_COOLING: row(
    503,
    'integration',
    'The circuit breaker is open: the installation passed its limits repeatedly and is refused until `Retry-After`; its log has the reason.',
  ),
  INSTALLATION_QUARANTINED: row(
    503,
    'integration',
    'The installation keeps crashing its cell and is refused until `Retry-After`; its log has the reason.',
  ),
  PUBLISH_BUSY: passing(
    'Too many uploads are being bundled, or other work of the machine kept one from being published in time; try again after `Retry-After`.',
  ),
  CALL_CANCELED: row(499, 'caller', 'The caller disconnected before the answer.'),
  CELL_CRASHED: passing('The cell that ran the call died; a new one has replaced it.'),
  SERVICE_STOPPING: passing('The service is shutting down.'),
  INTERNAL_ERROR: row(500, 'platform', 'A fault of Annex; the log has the cause under the same request id.'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** Number of nested causes that are logged. */
const CAUSES_MAX = 4;

/**
 * An error as it is logged, with these members only. Errors of Node, drivers and parsers may carry
 * their input, such as the bytes of a request with its cookies and tokens.
 */
export function loggableError(thrown: unknown, depth = 0): unknown {
  if (!(thrown instanceof Error)) return { type: typeof thrown };
  const { name, cause } = thrown;
  const { message, stack } = thrown instanceof SyntaxError ? withoutQuotation(thrown) : thrown;
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
  return {
    type: name,
    message,
    stack,
    ...(code !== undefined && { code }),
    ...(cause !== undefined && depth < CAUSES_MAX && { cause: loggableError(cause, depth + 1) }),
  };
}

/** Parsers of JSON quote what they parse, which may be a tenant's: where it happened remains. */
function withoutQuotation({ message: quoting, stack = '' }: SyntaxError): Pick<Error, 'message' | 'stack'> {
  const message = 'a text could not be parsed';
  const head = `SyntaxError: ${quoting}`;
  return { message, ...(stack.startsWith(head) && { stack: stack.slice(head.length).trimStart() }) };
}

/** An error with a code of the table. Services throw it; listeners turn it into an answer. */
export class AnnexError extends Error {
  override readonly name = 'AnnexError';
  readonly code: ErrorCode;
  /** For the log only: may contain internals. */
  readonly detail: unknown;
  /** Extra members of the answer's `error` object, for instance `problems`. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** The limit that was reached, if any. */
  readonly limit: LimitMet | undefined;
  readonly #retryAfterS: number | undefined;
  readonly #status: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      detail?: unknown;
      extra?: Record<string, unknown>;
      limit?: LimitMet;
      /** Whole seconds; replaces the value of the table. */
      retryAfterS?: number;
      /** Replaces the status of the table. */
      status?: number;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.extra = options.extra ?? {};
    this.limit = options.limit;
    this.#retryAfterS = options.retryAfterS;
    this.#status = options.status;
  }

  get status(): number {
    return this.#status ?? ERRORS[this.code].status;
  }

  get retryAfterS(): number | undefined {
    const row: ErrorRow = ERRORS[this.code];
    return this.#retryAfterS ?? row.retryAfterS;
  }

  get blame(): Blame {
    return ERRORS[this.code].blame;
  }
}
