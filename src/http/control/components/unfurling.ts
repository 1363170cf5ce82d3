/**
 * Makes a block of a URL: finds the blocks whose patterns cover it, and has their components look
 * at it (REFERENCE 5, the action `@link.unfurl`).
 *
 * A component that wants nothing of it says so by failing, or by being complete without a drawing:
 * the next is asked then. Why one failed is in its log.
 */
import { setTimeout } from 'node:timers';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError, type ErrorCode } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import type { JsonObject } from '../../../model/contentkit/contentkit-values-check.ts';
import { type TargetName, wholeInstallation } from '../../../model/installation.ts';
import {
  bySpecificity,
  coversUrl,
  isForHost,
  type UnfurlPattern,
  unfurledUrl,
  urlParts,
} from '../../../model/manifest/unfurl-pattern.ts';
import type { BlockHome, InstalledBlock } from '../../../store/installations/installed-blocks.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { nestedCaller } from '../nested-call.ts';
import type { Renderer, Wanted } from './renderer.ts';

/** Components that are asked about one URL. */
const TRIES_MAX = 3;
/**
 * How long each of them may take. Somebody waits for what they have pasted, and one that never
 * answers must not keep the others from it.
 */
const TRY_MS = 5_000;
/**
 * Patterns of the URL's own host that one URL is held against. A host has a few; the bound is for
 * who would have it otherwise.
 */
const COMPARED_MAX = 2_000;
/**
 * Patterns that are looked at in one turn of the event loop, and of those, the ones that the URL is
 * held against.
 */
const LOOKED_AT_PER_TURN = 5_000;
const COMPARED_PER_TURN = 100;

/** What no other component would do better at. */
const OURS: ReadonlySet<ErrorCode> = new Set(['SERVICE_STOPPING', 'INTERNAL_ERROR']);

export interface UnfurlingParts {
  readonly renderer: Pick<Renderer, 'draw'>;
  readonly registry: Pick<Registry, 'targetNamed'>;
  readonly limits: Limits;
}

/** What was pasted, and where. */
export interface Pasted extends Pick<Wanted, 'context' | 'auth'> {
  readonly url: string;
  readonly blocks: readonly InstalledBlock[];
}

/** What became of it. */
export interface Unfurled extends InstalledBlock {
  readonly rendering: JsonObject;
}

export class Unfurling {
  readonly #parts: UnfurlingParts;

  constructor(parts: UnfurlingParts) {
    this.#parts = parts;
  }

  /** @throws `UNFURL_UNMATCHED`, and `CALL_CANCELED` where its caller went away */
  async unfurl(request: FastifyRequest, reply: FastifyReply, pasted: Pasted): Promise<Unfurled> {
    const url = unfurledUrl(pasted.url);
    const asked = url === undefined ? [] : (await covering(pasted.blocks, url)).slice(0, TRIES_MAX);
    const { context, auth } = pasted;
    const shown = { ...(context && { context }), ...(auth && { auth }) };
    for (const installed of asked) {
      const action = { action: '@link.unfurl', url: url?.href };
      const wanted = { componentId: installed.block.id, props: {}, action, ...shown };
      const rendering = await this.#ask(request, reply, installed.home, wanted);
      if (rendering?.['type'] === 'element') return { ...installed, rendering };
    }
    throw unmatched(asked);
  }

  /** @returns undefined where nothing came of it */
  async #ask(
    request: FastifyRequest,
    reply: FastifyReply,
    home: BlockHome,
    wanted: Wanted,
  ): Promise<JsonObject | undefined> {
    const target = await this.#parts.registry.targetNamed(targetOf(home));
    if (target === undefined || target.status !== 'active') return undefined;
    const caller = nestedCaller(request, reply, this.#parts.limits);
    const timer = setTimeout(() => caller.leave(), TRY_MS);
    try {
      const drawing = await this.#parts.renderer.draw(target, wanted, { requestId: request.id, caller });
      return drawing.rendering;
    } catch (error) {
      const isOver = request.raw.socket.destroyed || !(error instanceof AnnexError) || OURS.has(error.code);
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
 * Those with a pattern that covers the URL, the most specific first; else in the order of the menu.
 *
 * Attack: thousands of blocks whose patterns are all of one host, and cost as much as they can. So
 * few are held against the URL, and others have their turn of the event loop meanwhile.
 */
async function covering(blocks: readonly InstalledBlock[], url: URL): Promise<InstalledBlock[]> {
  const parts = urlParts(url);
  const found: { readonly installed: InstalledBlock; readonly pattern: UnfurlPattern }[] = [];
  let lookedAt = 0;
  let compared = 0;
  for (const installed of blocks) {
    let best: UnfurlPattern | undefined;
    for (const pattern of installed.patterns) {
      lookedAt += 1;
      if (lookedAt % LOOKED_AT_PER_TURN === 0) await setImmediate();
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

function unmatched(asked: readonly InstalledBlock[]): AnnexError {
  const names = asked.map(({ home, block }) => `"${block.id}" of "${home.integration}"`).join(', ');
  const why =
    names === ''
      ? 'No block that is installed there covers this URL.'
      : `Nothing came of asking ${names}; where one has failed, its log has the reason.`;
  return new AnnexError('UNFURL_UNMATCHED', why);
}
