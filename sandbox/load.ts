/**
 * Runs a tenant's script and finds its handlers: a module worker, `export default { fetch }`, or
 * the result of the SDK's `createIntegration` (docs/contract/runtime.md#default-export).
 *
 * The script is an async function that runs its modules and passes the namespace of the entry
 * module to its argument (docs/decisions/guest-contract.md). So an error of a module that loads is
 * caught inside the isolate, and never read from outside.
 */
import { currentContext, runInContext, setContext } from './web/current-call.ts';
import { apply, isArray, setPrototypeOf, slice } from './web/primordials.ts';

/** The member by which the SDK takes envelopes in parts instead of multipart. */
const INTEGRATION: unique symbol = Symbol.for('annex.integration');

/** How many component ids, or event names, are reported. */
const NAMES_MAX = 1_000;
/** A longer name is cut before it crosses the bridge. */
const NAME_CHARS_MAX = 256;

export interface Integration {
  /** `this` of the handler. */
  readonly handler: unknown;
  /** The SDK's `handle(envelope, context)`. */
  readonly sdk: Function | undefined;
  /** The module worker's `fetch(request, env, context)`. */
  readonly fetch: Function | undefined;
  /** Component ids, separated by line feeds. */
  readonly components: string;
  /** Event names, separated by line feeds. */
  readonly events: string;
}

/**
 * Attack: a `then` on `Object.prototype`, which resolving an async function looks up on its result,
 * and which could replace it. The result has no prototype.
 *
 * @throws the script's error; a TypeError if it has no default export
 */
export async function loadIntegration(factory: unknown): Promise<Integration> {
  let namespace: unknown;
  await apply(factory as Function, undefined, [
    (entry: unknown) => {
      namespace = entry;
    },
    { get: currentContext, set: setContext, run: runInContext },
  ]);
  const exported = (namespace as { default?: unknown }).default;
  // A worker that is made asynchronously. The time that this takes counts as loading.
  const worker: unknown = isPromised(exported) ? await exported : exported;
  if ((typeof worker !== 'object' || worker === null) && typeof worker !== 'function') {
    throw new TypeError(
      'The script has no default export. Write `export default createIntegration({ … })` or `export default { fetch(request, env, context) { … } }`.',
    );
  }
  const { fetch, [INTEGRATION]: integration } = worker as { fetch?: unknown; [INTEGRATION]?: unknown };
  const plain = withoutPrototype({
    handler: worker,
    sdk: undefined,
    fetch: callable(fetch),
    components: '',
    events: '',
  });
  if (typeof integration !== 'object' || integration === null) return plain;
  const { handle: given, components, events } = integration as Record<string, unknown>;
  const handle = callable(given);
  if (handle === undefined) return plain;
  return withoutPrototype({
    handler: integration,
    sdk: handle,
    fetch: callable(fetch),
    components: names(components),
    events: names(events),
  });
}

/** Whether a default export is a promise of the worker; what has a `fetch` is the worker itself. */
function isPromised(exported: unknown): exported is PromiseLike<unknown> {
  if (typeof exported !== 'object' || exported === null) return false;
  const { fetch, then } = exported as { fetch?: unknown; then?: unknown };
  return typeof fetch !== 'function' && typeof then === 'function';
}

const withoutPrototype = (integration: Integration): Integration => setPrototypeOf(integration, null);

const callable = (value: unknown): Function | undefined => (typeof value === 'function' ? value : undefined);

function names(list: unknown): string {
  if (!isArray(list)) return '';
  let text = '';
  for (let i = 0; i < list.length && i < NAMES_MAX; i++) {
    text += `${i === 0 ? '' : '\n'}${slice(`${list[i]}`, 0, NAME_CHARS_MAX)}`;
  }
  return text;
}
