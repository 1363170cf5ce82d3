/**
 * Unfurls a URL: finds the blocks whose patterns match it, and calls their components with the
 * action `@link.unfurl` (docs/contract/components.md#unfurls).
 *
 * A component declines by failing, or by completing without an element: the next one is called
 * then. The log of its installation has the reason of a failure.
 */
import { setTimeout } from 'node:timers';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError, type ErrorCode } from '../../../../errors.ts';
import type { Limits } from '../../../../limits.ts';
import type { JsonObject } from '../../../../model/contentkit/contentkit-values-check.ts';
import { type TargetName, wholeInstallation } from '../../../../model/installation.ts';
import {
  bySpecificity,
  coversUrl,
  isForHost,
  type UnfurlPattern,
  unfurledUrl,
  urlParts,
} from '../../../../model/manifest/unfurl-pattern.ts';
import type { BlockHome, InstalledBlock } from '../../../store/installations/installed-blocks.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { nestedCaller } from '../../client-caller.ts';
import type { Renderer, RenderInput } from './renderer.ts';

/** Components that are called for one URL. */
const TRIES_MAX = 3;
/**
 * Time for each component. A user waits for the result, and a component that never answers must not
 * keep the others from answering.
 */
const TRY_MS = 5_000;
/**
 * Patterns of the URL's own host that are compared with one URL. A host has a few; the bound is
 * against more.
 */
const COMPARED_MAX = 2_000;
/**
 * Patterns that are examined in one turn of the event loop, and of those, the ones that are
 * compared with the URL.
 */
const EXAMINED_PER_TURN = 5_000;
const COMPARED_PER_TURN = 100;

/** Errors that do not depend on the component: the next one is not called. */
const FINAL_ERRORS: ReadonlySet<ErrorCode> = new Set(['SERVICE_STOPPING', 'INTERNAL_ERROR']);

export interface UnfurlingDeps {
  readonly renderer: Pick<Renderer, 'draw'>;
  readonly targets: Pick<TargetResolver, 'named'>;
  readonly limits: Limits;
}

/** A unfurlRequest URL, with the blocks of the place where it was unfurlRequest. */
export interface UnfurlRequest extends Pick<RenderInput, 'context' | 'auth'> {
  readonly url: string;
  readonly blocks: readonly InstalledBlock[];
}

/** The block that the URL became. */
export interface Unfurled extends InstalledBlock {
  readonly rendering: JsonObject;
}

export class Unfurling {
  readonly #deps: UnfurlingDeps;

  constructor(deps: UnfurlingDeps) {
    this.#deps = deps;
  }

  /** @throws AnnexError UNFURL_UNMATCHED, CALL_CANCELED if the client disconnected */
  async unfurl(
    request: FastifyRequest,
    reply: FastifyReply,
    unfurlRequest: UnfurlRequest,
  ): Promise<Unfurled> {
    const url = unfurledUrl(unfurlRequest.url);
    const candidates =
      url === undefined ? [] : (await covering(unfurlRequest.blocks, url)).slice(0, TRIES_MAX);
    const { context, auth } = unfurlRequest;
    const shown = { ...(context && { context }), ...(auth && { auth }) };
    for (const installed of candidates) {
      const action = { action: '@link.unfurl', url: url?.href };
      const input = { componentId: installed.block.id, props: {}, action, ...shown };
      const rendering = await this.#try(request, reply, installed.home, input);
      if (rendering?.['type'] === 'element') return { ...installed, rendering };
    }
    throw unmatched(candidates);
  }

  /** @returns undefined if the component failed or declined */
  async #try(
    request: FastifyRequest,
    reply: FastifyReply,
    home: BlockHome,
    input: RenderInput,
  ): Promise<JsonObject | undefined> {
    const target = await this.#deps.targets.named(targetOf(home));
    if (target === undefined || target.status !== 'active') return undefined;
    const caller = nestedCaller(reply, this.#deps.limits);
    const timer = setTimeout(() => caller.leave(), TRY_MS);
    try {
      const drawing = await this.#deps.renderer.draw(target, input, { requestId: request.id, caller });
      return drawing.rendering;
    } catch (error) {
      const isOver =
        request.raw.socket.destroyed || !(error instanceof AnnexError) || FINAL_ERRORS.has(error.code);
      if (isOver) throw error;
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

const targetOf = ({ installationId, space }: BlockHome): TargetName =>
  space === undefined ? wholeInstallation(installationId) : { installationId, level: 'space', place: space };

/**
 * The blocks with a pattern that matches the URL, the most specific first, then in the order of the
 * menu.
 *
 * Attack: thousands of blocks whose patterns are all of one host and as costly as possible. So few
 * are compared with the URL, and other work gets its turn of the event loop.
 */
async function covering(blocks: readonly InstalledBlock[], url: URL): Promise<InstalledBlock[]> {
  const parts = urlParts(url);
  const found: { readonly installed: InstalledBlock; readonly pattern: UnfurlPattern }[] = [];
  let examined = 0;
  let compared = 0;
  for (const installed of blocks) {
    let best: UnfurlPattern | undefined;
    for (const pattern of installed.patterns) {
      examined += 1;
      if (examined % EXAMINED_PER_TURN === 0) await setImmediate();
      if (!isForHost(pattern, parts) || compared === COMPARED_MAX) continue;
      compared += 1;
      if (compared % COMPARED_PER_TURN === 0) await setImmediate();
      const isBetter = best === undefined || bySpecificity(pattern, best) < 0;
      if (isBetter && coversUrl(pattern, parts)) best = pattern;
    }
    if (best !== undefined) found.push({ installed, pattern: best });
  }
  return found
    .sort((one, other) => bySpecificity(one.pattern, other.pattern))
    .map(({ installed }) => installed);
}

function unmatched(candidates: readonly InstalledBlock[]): AnnexError {
  const names = candidates.map(({ home, block }) => `"${block.id}" of "${home.integration}"`).join(', ');
  const why =
    names === ''
      ? 'No block that is installed there has a `urlUnfurl` that matches this URL.'
      : `None of ${names} made a block of this URL; for a failure, the log of the installation has the reason.`;
  return new AnnexError('UNFURL_UNMATCHED', why);
}
