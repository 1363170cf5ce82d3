/**
 * Components: interface elements with state, drawn as ContentKit (SPEC "Component", REFERENCE 5).
 *
 * A component keeps nothing between two renderings. Its state travels with each event, so any isolate can draw it.
 */
import type { Element } from './contentkit.ts';
import type { Context } from './context.ts';
import type { Configuration } from './environment.ts';
import type { Action, RenderContext, UIRenderEvent } from './event.ts';

/** The component as its `action` and `render` see it. */
export interface ComponentElement<Props extends object, State extends object> {
  readonly props: Props;
  readonly state: State;
  /** Where it is shown. */
  readonly context: RenderContext;
  /** Lets the platform reuse the drawing for `maxAge` seconds instead of asking again. */
  setCache(cache: { readonly maxAge: number }): void;
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
  readonly componentId: string;
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

/** What `createComponent` makes and `createIntegration` takes. */
export class Component {
  readonly componentId: string;
  /** Answers one `ui_render` event. */
  readonly handle: (event: UIRenderEvent, context: Context) => Promise<Response>;

  constructor(componentId: string, handle: (event: UIRenderEvent, context: Context) => Promise<Response>) {
    this.componentId = componentId;
    this.handle = handle;
  }
}

/** A misspelt key would publish cleanly and never be called. */
const KEYS: readonly string[] = ['componentId', 'initialState', 'action', 'render'];

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
  C extends Configuration = Configuration,
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
  return new Component(componentId, async (event, platformContext) => {
    // The platform knows no type parameters: the author states what the manifest and the document hold.
    const context = platformContext as Context<C>;
    let maxAge: number | undefined;
    let props = event.props as Props;
    let state = (event.state ?? (await firstState(initialState, props, event.context, context))) as State;
    const element = (): ComponentElement<Props, State> => ({
      props,
      state,
      context: event.context,
      setCache: (cache) => {
        maxAge = cache.maxAge;
      },
    });

    if (event.action !== undefined && action !== undefined) {
      const result = (await action(element(), event.action as Actions, context)) ?? {};
      if (result.type === 'complete') return answer(result, maxAge);
      state = result.state ?? state;
      props = result.props ?? props;
    }
    const drawn = await render(element(), context);
    return answer({ type: 'element', state, props, element: drawn }, maxAge);
  });
}

async function firstState<Props extends object, State extends object, C extends Configuration>(
  initial: ComponentDefinition<Props, State, Action, C>['initialState'],
  props: Props,
  renderContext: RenderContext,
  context: Context<C>,
): Promise<object> {
  return (typeof initial === 'function' ? await initial(props, renderContext, context) : initial) ?? {};
}

const answer = (output: object, maxAge: number | undefined): Response =>
  new Response(JSON.stringify(output), {
    headers: {
      'content-type': 'application/json',
      ...(maxAge === undefined ? {} : { 'cache-control': `max-age=${maxAge}` }),
    },
  });
