/**
 * The JavaScript that an integration adds to the pages of a site: calls the code with
 * `fetch_published_script`, checks the answer, and caches it
 * (docs/contract/published-scripts.md#script).
 *
 * Of the answer only the bytes are used: status, headers and cookies of the code never reach a
 * browser of the site. Failures are not cached.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AnnexError } from '../../errors.ts';
import type { Scope } from '../../model/manifest/scope.ts';
import { eventIds, type Target } from '../../model/target.ts';
import { boundedBody } from './bounded-body.ts';
import { Caller, type CallResponse } from './call.ts';
import type { Dispatch } from './dispatch.ts';
import { outcomeError } from './outcome.ts';

/** The scope without which no script is served. */
export const SCRIPT_SCOPE: Scope = 'site:script:inject';
/** Largest script. */
export const SCRIPT_BYTES_MAX = 1024 * 1024;
const SCRIPTS_CACHED = 2_000;
const BYTES_CACHED = 64 * 1024 * 1024;
/** Estimated size of a cached script beside its bytes and its target. */
const SCRIPT_BASE_BYTES = 3 * 1024;
/** What bundled runtimes answer, with status 400, where the integration has no handler. */
const NO_HANDLER = 'Integration does not handle fetch_published_script';
const NO_HANDLER_BYTES_MAX = 1_024;

export interface PublishedScript {
  readonly bytes: Buffer;
  /** Strong entity tag. */
  readonly tag: string;
}

const scriptOf = (bytes: Buffer): PublishedScript => ({
  bytes,
  tag: `"${createHash('sha256').update(bytes).digest('base64url')}"`,
});

const NO_SCRIPT = scriptOf(Buffer.from('/** no-op */'));

/** Whether the target has a published script: a site installation with the scope. */
export const hasPublishedScript = ({ level, environment }: Target): boolean =>
  level === 'site' && environment.integration.scopes.includes(SCRIPT_SCOPE);

/** A client that waits for a script. */
export interface ScriptClient {
  readonly requestId: string;
  /** It leaves when the client disconnects. */
  readonly caller: Caller;
}

/** A call that several clients wait for. */
interface SharedCall {
  readonly script: Promise<PublishedScript>;
  readonly caller: Caller;
  clients: number;
}

export class PublishedScripts {
  readonly #dispatch: Pick<Dispatch, 'call'>;
  /**
   * By target object, which is replaced whenever the version, the configuration or anything else of
   * the target changes. Attack: to be served the script of another target, by a key that both have.
   */
  readonly #cache = new LRUCache<Target, PublishedScript>({
    max: SCRIPTS_CACHED,
    maxSize: BYTES_CACHED,
    // With the target, which an entry keeps in memory.
    sizeCalculation: ({ bytes }, { environmentJson }) =>
      SCRIPT_BASE_BYTES + bytes.byteLength + 2 * environmentJson.byteLength,
  });
  readonly #calls = new Map<Target, SharedCall>();

  constructor(dispatch: Pick<Dispatch, 'call'>) {
    this.#dispatch = dispatch;
  }

  /**
   * The script of a target that `hasPublishedScript`. Clients that ask at the same time share one
   * call, which ends when the last of them leaves.
   *
   * @throws AnnexError ANSWER_INVALID, or the outcome of a call without an answer
   */
  async script(target: Target, { requestId, caller }: ScriptClient): Promise<PublishedScript> {
    const known = this.#cache.get(target);
    if (known !== undefined) return known;
    // Attack: code that requests its own script while it makes it, and waits for itself.
    if (caller.depth > 0) return this.#made(target, requestId, caller);
    const shared = this.#calls.get(target) ?? this.#share(target, requestId);
    shared.clients += 1;
    caller.onLeft = () => this.#left(target, shared);
    if (caller.left) caller.onLeft();
    try {
      return await shared.script;
    } finally {
      caller.onLeft = undefined;
    }
  }

  #share(target: Target, requestId: string): SharedCall {
    const caller = new Caller();
    const script = this.#made(target, requestId, caller);
    const shared: SharedCall = { script, caller, clients: 0 };
    this.#calls.set(target, shared);
    const end = () => this.#forget(target, shared);
    script.then(end, end);
    return shared;
  }

  #left(target: Target, shared: SharedCall): void {
    shared.clients -= 1;
    if (shared.clients > 0) return;
    // The next client begins a call of its own.
    this.#forget(target, shared);
    shared.caller.leave();
  }

  #forget(target: Target, shared: SharedCall): void {
    if (this.#calls.get(target) === shared) this.#calls.delete(target);
  }

  async #made(target: Target, requestId: string, caller: Caller): Promise<PublishedScript> {
    const event = { eventId: requestId, type: 'fetch_published_script', ...eventIds(target) };
    const envelope = { event: Buffer.from(JSON.stringify(event)), environment: target.environmentJson };
    const result = await this.#dispatch.call(target, envelope, requestId, caller);
    if (result.response === undefined) throw result.refusal ?? outcomeError(result.outcome, result);
    const script = await read(result.response, caller);
    this.#cache.set(target, script);
    return script;
  }
}

/** @throws AnnexError ANSWER_INVALID, CALL_CANCELED */
async function read({ status, body }: CallResponse, caller: Caller): Promise<PublishedScript> {
  const isNone = status === 204 || status === 406;
  const isScript = status >= 200 && status <= 299 && !isNone;
  if (!isScript && status !== 400) {
    if (!Buffer.isBuffer(body)) body.destroy();
    if (isNone) return NO_SCRIPT;
    throw invalid(`has the status ${status}`);
  }
  const bytes = await boundedBody(body, isScript ? SCRIPT_BYTES_MAX : NO_HANDLER_BYTES_MAX).catch(() => {
    // The call passed a limit or failed in the middle of the body; its log says which.
    throw caller.left ? outcomeError('canceled') : invalid('broke off');
  });
  if (!isScript) {
    if (bytes?.includes(NO_HANDLER)) return NO_SCRIPT;
    throw invalid(`has the status ${status}`);
  }
  if (bytes === undefined) throw invalid(`has more than ${SCRIPT_BYTES_MAX / 1024} KiB`);
  return bytes.byteLength === 0 ? NO_SCRIPT : scriptOf(bytes);
}

const invalid = (what: string): AnnexError =>
  new AnnexError('ANSWER_INVALID', `The answer of the integration to \`fetch_published_script\` ${what}.`);
