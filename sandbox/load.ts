/**
 * Runs a tenant's script and finds its handlers: the module-worker convention, `export default { fetch }`, or what the
 * SDK's `createIntegration` makes of it (DESIGN, "The guest contract").
 *
 * The script arrives as an async function that runs its modules and hands the namespace of the entry to its argument: so
 * even an error thrown while a module loads is caught here, inside, and never read from outside.
 */
import { apply, isArray, setPrototypeOf, slice } from './web/primordials.ts';

/** The member by which the SDK offers its handlers without a detour over multipart. */
const INTEGRATION: unique symbol = Symbol.for('annex.integration');

/** Most names of components, or of events, that are reported. */
const NAMES_MAX = 1_000;
/** A longer name is cut before it crosses. */
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
 * What it answers has no prototype. Attack: a `then` on `Object.prototype`, which the end of an async function would look up
 * on an ordinary object, and which could put anything in its place.
 *
 * @throws whatever the script throws, and a TypeError where it has no default export.
 */
export async function loadIntegration(factory: unknown): Promise<Integration> {
  let namespace: unknown;
  await apply(factory as Function, undefined, [
    (entry: unknown) => {
      namespace = entry;
    },
  ]);
  const worker = (namespace as { default?: unknown }).default;
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
