/**
 * Reads choices from their URL for the product (docs/contract/components.md#choices-from-a-url), as
 * a fetch of the installation: what its code may reach is reached, by the same rules and bounds.
 * The answer is checked and written anew.
 *
 * A page does not read it itself: its user's address and the reach of its network are no matter of
 * an integration. Endpoints of this service are reached in process.
 */

import { AnnexError } from '../../../../errors.ts';
import type { Limits } from '../../../../limits.ts';
import {
  CHOICES_BYTES_MAX,
  type ChoicePage,
  readChoicePage,
} from '../../../../model/contentkit/choice-page.ts';
import type { Target } from '../../../../model/target.ts';
import { boundedBody } from '../../../calls/bounded-body.ts';
import type { Caller } from '../../../calls/call.ts';
import type { CallLog } from '../../../calls/call-log.ts';
import { type Egress, EgressError } from '../../../egress/egress.ts';

export interface ChoiceFetchDeps {
  readonly egress: Pick<Egress, 'fetch'>;
  /** Logs why choices could not be read. */
  readonly observer: Pick<CallLog, 'log'>;
  readonly limits: Limits;
}

export class ChoiceFetch {
  readonly #deps: ChoiceFetchDeps;

  constructor(deps: ChoiceFetchDeps) {
    this.#deps = deps;
  }

  /** @throws AnnexError CHOICES_FAILED, CALL_CANCELED if the client disconnects */
  async page(
    target: Target,
    url: string,
    { requestId, caller }: { readonly requestId: string; readonly caller: Caller },
  ): Promise<ChoicePage> {
    const failed = (why: string, detail = why): AnnexError => {
      this.#deps.observer.log(target, requestId, 'warn', `The choices of a select were not read: ${detail}`);
      return new AnnexError('CHOICES_FAILED', `The choices cannot be read: ${why}`);
    };
    try {
      const read = await this.#read(target, url, caller);
      if (typeof read === 'string') throw failed(read);
      return read;
    } catch (cause) {
      if (caller.left) throw new AnnexError('CALL_CANCELED', 'The client disconnected.');
      if (cause instanceof AnnexError) throw cause;
      // The log of the installation names the address that was refused, the answer does not.
      throw cause instanceof EgressError
        ? failed(cause.message, cause.detail)
        : failed('the answer broke off.');
    }
  }

  /** @returns why it is no page */
  async #read(target: Target, url: string, caller: Caller): Promise<ChoicePage | string> {
    const { tenant: owner, organization, egress: hosts } = target;
    const { depth, generation } = caller;
    const gone = new AbortController();
    caller.onLeft = () => gone.abort();
    if (caller.left) gone.abort();
    // A user waits.
    const fetchMs = Math.min(target.limits.fetchMs, this.#deps.limits.completionMs);
    const limits = { ...target.limits, fetchMs };
    const asked = {
      method: 'GET',
      url: atOwnScheme(url, target),
      headers: [['accept', 'application/json']],
      redirect: 'follow',
    } as const;
    const behind = { owner, organization, depth, generation, limits, ...(hosts && { hosts }) };
    const { status, body, url: from } = await this.#deps.egress.fetch({ ...asked, ...behind }, gone.signal);
    if (status !== 200) {
      body.destroy();
      return `the URL answered with status ${status}.`;
    }
    const bytes = await boundedBody(body, CHOICES_BYTES_MAX);
    if (bytes === undefined) return `the answer has more than ${CHOICES_BYTES_MAX / 1024} KiB.`;
    return readChoicePage(parsed(bytes), from) ?? 'the answer is neither a list nor an object with "items".';
  }
}

/** Parts of a URL mean https. A service without it has its endpoints at http. */
function atOwnScheme(text: string, { publicEndpoint }: Target): string {
  const [url, own] = [URL.parse(text), URL.parse(publicEndpoint)];
  if (url === null || own === null || url.host !== own.host) return text;
  url.protocol = own.protocol;
  return url.href;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
