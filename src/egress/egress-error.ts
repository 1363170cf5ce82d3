/**
 * Why a tenant's request did not go out, or its answer did not come in.
 *
 * Two texts, because two people read it: `message` reaches the tenant's code and names no address, so that `fetch` is no
 * way to map the network Annex stands in; `detail` is for the installation's log and says what was refused and by which
 * rule. Neither has a path, a query or a header of the request: those carry keys.
 */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly detail: string;

  constructor(message: string, detail = message, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.detail = detail;
  }
}
