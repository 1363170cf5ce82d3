/**
 * Components: parts of a user interface with state, rendered as ContentKit
 * (docs/contract/components.md#definition).
 *
 * A component keeps nothing between two renderings. Its state travels with each event, so any
 * isolate can render it.
 */
import type { Element } from './contentkit.ts';
import type { Context } from './context.ts';
import type { Action, RenderContext, UIRenderEvent } from './event.ts';
import type { AccountConfiguration, ComponentId, Configuration } from './manifest-types.ts';

/**
 * The component as its `action` and `render` see it.
 *
 * @typeParam Props props of the component
 * @typeParam State state of the component
 */
export interface ComponentElement<Props extends object, State extends object> {
  /** Props: from the host product, or from the last action that returned some. */
  readonly props: Props;
  /** Present state. */
  readonly state: State;
  /** Where the component is shown. */
  readonly context: RenderContext;
  /**
   * Lets the host product reuse this rendering for `maxAge` seconds.
   *
   * @throws RangeError if `maxAge` is not a whole number from 0 to 31,536,000 (a year)
   */
  setCache(cache: { readonly maxAge: number }): void;
  /**
   * A binding to client state, such as the text of the `<textinput>` with that `state`. The host
   * product replaces it before it dispatches an action (docs/contract/components.md#bindings).
   */
  dynamicState(key: string): Binding;
}

/** Stands for a value of client state. */
export interface Binding {
  /** Name of the client state. */
  readonly $state: string;
}

/**
 * Result of an action: the next state or props, which *replace* the present ones; `{}` or nothing
 * for no change; `complete` to close the component and return `returnValue` to its opener
 * (docs/contract/components.md#state).
 */
export type ActionResult<Props extends object, State extends object> =
  | { readonly type?: never; readonly state?: State; readonly props?: Props }
  | { readonly type: 'complete'; readonly returnValue?: unknown }
  | undefined;

type Awaitable<T> = T | Promise<T>;

/**
 * The parameter of `createComponent`.
 *
 * @typeParam Props props of the component
 * @typeParam State state of the component
 * @typeParam Actions actions that its elements dispatch
 * @typeParam C configuration at the level of the account
 */
export interface ComponentDefinition<
  Props extends object,
  State extends object,
  Actions extends Action,
  C extends Configuration,
> {
  /**
   * Text, unique in the integration: the `id` of a block, or the `componentId` of a configuration
   * in the manifest.
   */
  readonly componentId: ComponentId;
  /** State of the first rendering, or a function that makes it; `{}` by default. */
  readonly initialState?:
    | State
    | ((props: Props, renderContext: RenderContext, context: Context<C>) => Awaitable<State>);
  /** Handles what the user did; `action.action` is its name. Without it, actions change nothing. */
  readonly action?: (
    element: ComponentElement<Props, State>,
    action: Actions,
    context: Context<C>,
  ) => Awaitable<ActionResult<Props, State>>;
  /** Returns the ContentKit element of the present state: a `block`, `modal` or `configuration`. */
  readonly render: (element: ComponentElement<Props, State>, context: Context<C>) => Awaitable<Element>;
}

/** Answer of a component; `isRendered` is false if its action completed. */
export interface ComponentAnswer {
  readonly response: Response;
  readonly isRendered: boolean;
}

/**
 * Made by `createComponent`, for `components` of `createIntegration`.
 *
 * @example
 * const counter: Component = createComponent({ componentId: 'counter', render });
 * export default createIntegration({ components: [counter] });
 */
export class Component {
  /** Id of the component. */
  readonly componentId: string;
  /** Answers one `ui_render` event. */
  readonly handle: (event: UIRenderEvent, context: Context) => Promise<ComponentAnswer>;

  constructor(
    componentId: string,
    handle: (event: UIRenderEvent, context: Context) => Promise<ComponentAnswer>,
  ) {
    this.componentId = componentId;
    this.handle = handle;
  }
}

/** Without this check, a misspelt key would publish without an error and never be called. */
const KEYS: readonly string[] = ['componentId', 'initialState', 'action', 'render'];
/** Members of an action's result; a misspelt one would change nothing. */
const RESULT_KEYS: readonly string[] = ['type', 'state', 'props'];
const COMPLETE_KEYS: readonly string[] = ['type', 'returnValue'];
/** Seconds: a year, which caches take as the maximum. */
const MAX_AGE_MAX = 31_536_000;

/**
 * Defines a component.
 *
 * @typeParam Props what the host product passes in; of a block, the props stored in the document
 * @typeParam State what is kept between two renderings, as JSON
 * @typeParam Actions actions that its elements dispatch: a union makes `switch (action.action)`
 *   exhaustive
 * @throws TypeError if a member is missing, unknown or of the wrong type. The publish fails then
 *
 * @example
 * createComponent<{}, { count: number }>({
 *   componentId: 'counter',
 *   initialState: { count: 0 },
 *   async action({ state }, { action }) {
 *     return action === 'increment' ? { state: { count: state.count + 1 } } : {};
 *   },
 *   async render({ state }) {
 *     return <block><button label={`${state.count}`} onPress={{ action: 'increment' }} /></block>;
 *   },
 * });
 */
export function createComponent<
  Props extends object = Readonly<Record<string, unknown>>,
  State extends object = Readonly<Record<string, unknown>>,
  Actions extends Action = Action,
  C extends Configuration = AccountConfiguration,
>(definition: ComponentDefinition<Props, State, Actions, C>): Component {
  for (const key of Object.keys(definition)) {
    if (!KEYS.includes(key))
      throw new TypeError(`createComponent: "${key}" is not one of ${KEYS.join(', ')}`);
  }
  const { componentId, initialState, action, render } = definition;
  if (typeof componentId !== 'string' || componentId === '') {
    throw new TypeError('createComponent: componentId must be a non-empty string');
  }
  if (typeof render !== 'function') {
    throw new TypeError(`createComponent: render of "${componentId}" must be a function`);
  }
  if (action !== undefined && typeof action !== 'function') {
    throw new TypeError(`createComponent: action of "${componentId}" must be a function`);
  }
  const fault = faultAt(componentId, createComponent);
  return new Component(componentId, async (event, platformContext) => {
    // The author states the types; nothing checks them against manifest and document here.
    const context = platformContext as Context<C>;
    const { context: renderContext = {} } = event;
    let maxAge: number | undefined;
    let props = (event.props ?? {}) as Props;
    const first = event.state ?? (await firstState(initialState, props, renderContext, context));
    if (!isObject(first)) throw fault(`initialState must be an object or make one, not ${kindOf(first)}`);
    let state = first as State;
    const element = (): ComponentElement<Props, State> => ({
      props,
      state,
      context: renderContext,
      setCache: (cache) => {
        maxAge = readMaxAge(cache);
      },
      dynamicState: (key) => ({ $state: key }),
    });

    if (event.action !== undefined && action !== undefined) {
      const result = readResult(await action(element(), event.action as Actions, context), fault);
      if (result.type === 'complete') return { response: answer(result, maxAge), isRendered: false };
      state = result.state ?? state;
      props = result.props ?? props;
    }
    const drawn = await render(element(), context);
    if (!isElement(drawn)) throw fault(`render must return an element, not ${kindOf(drawn)}`);
    const response = answer({ type: 'element', state, props, element: drawn }, maxAge);
    return { response, isRendered: true };
  });
}

async function firstState<Props extends object, State extends object, C extends Configuration>(
  initial: ComponentDefinition<Props, State, Action, C>['initialState'],
  props: Props,
  renderContext: RenderContext,
  context: Context<C>,
): Promise<unknown> {
  return (typeof initial === 'function' ? await initial(props, renderContext, context) : initial) ?? {};
}

type Fault = (complaint: string) => TypeError;

/**
 * Errors of a component with the stack of its definition: when a wrong result is found, the
 * author's function has returned, and the stack at that time has none of the author's lines.
 */
function faultAt(componentId: string, caller: (...args: never[]) => unknown): Fault {
  const defined = { stack: undefined as unknown };
  // V8 only. It formats the stack when `stack` is read.
  const { captureStackTrace } = Error as { captureStackTrace?: (at: object, below: unknown) => void };
  captureStackTrace?.(defined, caller);
  return (complaint) => {
    const error = new TypeError(`Component "${componentId}": ${complaint}`);
    const { stack } = defined;
    const frames = typeof stack === 'string' ? stack.indexOf('\n') : -1;
    if (typeof stack === 'string' && frames !== -1)
      error.stack = `TypeError: ${error.message}${stack.slice(frames)}`;
    return error;
  };
}

/** @throws RangeError */
function readMaxAge(cache: { readonly maxAge: number }): number {
  const maxAge: unknown = cache?.maxAge;
  if (typeof maxAge === 'number' && Number.isInteger(maxAge) && maxAge >= 0 && maxAge <= MAX_AGE_MAX)
    return maxAge;
  const got = typeof maxAge === 'number' ? maxAge : kindOf(maxAge);
  throw new RangeError(
    `setCache: maxAge must be a whole number of seconds from 0 to ${MAX_AGE_MAX}, got ${got}`,
  );
}

/**
 * Checks the result of an action.
 *
 * @throws TypeError that names the member which may not be there
 */
function readResult<Props extends object, State extends object>(
  returned: ActionResult<Props, State>,
  fault: Fault,
): NonNullable<ActionResult<Props, State>> {
  const result: unknown = returned ?? {};
  if (!isObject(result)) throw fault(`action must return an object or nothing, not ${kindOf(result)}`);
  const { type } = result as { readonly type?: unknown };
  if (type !== undefined && type !== 'complete')
    throw fault(`action returned a type that is not "complete": ${JSON.stringify(type)}`);
  const allowed = type === undefined ? RESULT_KEYS : COMPLETE_KEYS;
  const unknown = Object.keys(result).filter((key) => !allowed.includes(key));
  if (unknown.length > 0) {
    const names = unknown.map((key) => `"${key}"`).join(', ');
    const there = type === undefined ? 'state and props' : 'returnValue';
    throw fault(`action returned ${names}; ${type === undefined ? 'a result has' : 'complete has'} ${there}`);
  }
  for (const key of ['state', 'props']) {
    const value = (result as Readonly<Record<string, unknown>>)[key];
    if (value !== undefined && !isObject(value))
      throw fault(`action returned a ${key} that is ${kindOf(value)}, not an object`);
  }
  return result as NonNullable<ActionResult<Props, State>>;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isElement = (value: unknown): boolean =>
  isObject(value) && typeof (value as { readonly type?: unknown }).type === 'string';

/** Describes a wrong result. */
function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list: put one element around it';
  return typeof value === 'object' ? 'an object without a type' : `a ${typeof value}`;
}

const answer = (output: object, maxAge: number | undefined): Response =>
  new Response(JSON.stringify(output), {
    headers: {
      'content-type': 'application/json',
      ...(maxAge === undefined ? {} : { 'cache-control': `max-age=${maxAge}` }),
    },
  });
