/**
 * Components: interface elements with state, drawn as ContentKit (SPEC "Component", REFERENCE 5).
 *
 * A component keeps nothing between two renderings. Its state travels with each event, so any isolate can draw it.
 */
import type { Element } from './contentkit.ts';
import type { Context } from './context.ts';
import type { Action, RenderContext, UIRenderEvent } from './event.ts';
import type { AccountConfiguration, ComponentId, Configuration } from './manifest-types.ts';

/** The component as its `action` and `render` see it. */
export interface ComponentElement<Props extends object, State extends object> {
  readonly props: Props;
  readonly state: State;
  /** Where it is shown. */
  readonly context: RenderContext;
  /**
   * Lets the platform reuse the drawing for `maxAge` seconds instead of asking again.
   *
   * @throws RangeError where that is no whole number from 0 to a year.
   */
  setCache(cache: { readonly maxAge: number }): void;
  /**
   * Stands for a value of client state, such as what is in the `<textinput>` of that `state`: the platform puts it in before
   * anything is dispatched.
   */
  dynamicState(key: string): Binding;
}

/** The name of client state to take a value from. */
export interface Binding {
  readonly $state: string;
}

/**
 * What an action leads to: the next state or props, which *replace* the present ones; `{}` or nothing for no change;
 * `complete` to close the component and hand `returnValue` to whoever opened it.
 */
export type ActionResult<Props extends object, State extends object> =
  | { readonly type?: never; readonly state?: State; readonly props?: Props }
  | { readonly type: 'complete'; readonly returnValue?: unknown }
  | undefined;

type Awaitable<T> = T | Promise<T>;

/** The parameter of `createComponent`. */
export interface ComponentDefinition<
  Props extends object,
  State extends object,
  Actions extends Action,
  C extends Configuration,
> {
  /** Unique among the components of the integration; the `id` of a block in the manifest. */
  readonly componentId: ComponentId;
  /** State of the first rendering; `{}` where absent. */
  readonly initialState?:
    | State
    | ((props: Props, renderContext: RenderContext, context: Context<C>) => Awaitable<State>);
  /** Handles what the user did. `action.action` names it. */
  readonly action?: (
    element: ComponentElement<Props, State>,
    action: Actions,
    context: Context<C>,
  ) => Awaitable<ActionResult<Props, State>>;
  /** Draws the present state. */
  readonly render: (element: ComponentElement<Props, State>, context: Context<C>) => Awaitable<Element>;
}

/** What a component answers, and whether it was rendered for it. */
export interface ComponentAnswer {
  readonly response: Response;
  readonly isRendered: boolean;
}

/** What `createComponent` makes and `createIntegration` takes. */
export class Component {
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

/** A misspelt key would publish cleanly and never be called. */
const KEYS: readonly string[] = ['componentId', 'initialState', 'action', 'render'];
/** What an action may return; a misspelt key would change nothing. */
const RESULT_KEYS: readonly string[] = ['type', 'state', 'props'];
const COMPLETE_KEYS: readonly string[] = ['type', 'returnValue'];
/** Seconds: a year, beyond which caches do not look. */
const MAX_AGE_MAX = 31_536_000;

/**
 * Defines a component.
 *
 * @typeParam Props what the platform passes in; for a block, what the document stores of it.
 * @typeParam State what it remembers between two renderings. JSON.
 * @typeParam Actions the actions its elements dispatch: a union makes `switch (action.action)` exhaustive.
 * @throws TypeError where a member is missing or of the wrong type.
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
    if (!KEYS.includes(key)) throw new TypeError(`createComponent: "${key}" is none of ${KEYS.join(', ')}`);
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
    // The platform knows no type parameters: the author states what the manifest and the document hold.
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
    if (!isDrawn(drawn)) throw fault(`render must return an element, not ${kindOf(drawn)}`);
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
 * Errors of a component whose own functions are over when its fault is seen: no stack of then has a line of the author's, so
 * they have that of where the component is defined.
 */
function faultAt(componentId: string, caller: (...args: never[]) => unknown): Fault {
  const defined = { stack: undefined as unknown };
  // Of V8; what is formatted is formatted when it is read.
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

/** What an action returned, as far as it may return it. @throws TypeError that names what it may not */
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

const isDrawn = (value: unknown): boolean =>
  isObject(value) && typeof (value as { readonly type?: unknown }).type === 'string';

/** What somebody returned instead. */
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
