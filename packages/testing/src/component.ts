/**
 * A component as a user sees it: presses its buttons, fills in its fields, opens and closes its
 * modals, and keeps the client state as the host product does
 * (docs/contract/components.md#actions). It draws nothing: `element` is what the service answers.
 */
import type { Render, Rendering } from '../../client/src/index.ts';
import { choicesOf, type Field, fieldsOf, labelsOf, pressableOf } from './drawn-parts.ts';

/** Values by their names. */
export type Values = Readonly<Record<string, unknown>>;

/** An element of ContentKit: its type, its attributes, and its children. */
export interface ContentKitElement {
  readonly type: string;
  readonly children?: readonly unknown[];
  readonly [attribute: string]: unknown;
}

type Action = { readonly action: string } & Values;

interface Parts {
  readonly componentId: string;
  readonly props?: Values;
  render(request: Render): Promise<Rendering>;
  /** The component that has opened this one as a modal. */
  readonly opener?: Component;
}

export class Component {
  readonly componentId: string;
  readonly #deps: Parts;
  #element: ContentKitElement | undefined;
  #state: Values | undefined;
  #props: Values;
  #returnValue: Values | undefined;
  /** What the user has filled in, by the `state` of its field. */
  readonly #filled = new Map<string, unknown>();
  #modal: Component | undefined;
  #opened: string | undefined;

  private constructor(deps: Parts) {
    this.#deps = deps;
    this.componentId = deps.componentId;
    this.#props = deps.props ?? {};
  }

  /** @internal `render()` of an installation draws it */
  static async draw(deps: Parts): Promise<Component> {
    const component = new Component(deps);
    await component.#render();
    return component;
  }

  /** What is drawn. @throws an Error if the component has completed */
  get element(): ContentKitElement {
    if (this.#element === undefined) throw new Error(`"${this.componentId}" is closed: it has completed.`);
    return this.#element;
  }

  /** The state of the last answer. */
  get state(): Values {
    return this.#state ?? {};
  }

  get props(): Values {
    return this.#props;
  }

  /** The modal that it has opened; undefined if there is none. */
  get modal(): Component | undefined {
    return this.#modal;
  }

  /** What it has completed with. */
  get returnValue(): Values | undefined {
    return this.#returnValue;
  }

  /** The URL that an action of the product has opened or unfurled last. */
  get openedUrl(): string | undefined {
    return this.#opened;
  }

  /** The modal in front, if one is open; else the component itself. */
  get inFront(): Component {
    return this.#modal?.inFront ?? this;
  }

  /**
   * Presses a button, a card or a control, and confirms it if it asks.
   *
   * @throws an Error that names what can be pressed, if nothing has the label
   */
  async press(label: string): Promise<void> {
    const { onPress, disabled } = pressableOf(this.element, label);
    if (this.#bound(disabled) === true) throw new Error(`"${label}" is disabled.`);
    await this.#carryOut(onPress as Action);
  }

  /**
   * Types into a `textinput` or a `codeblock`.
   *
   * @param field its `state`, or the label of its `input`
   */
  async type(field: string, value: string): Promise<void> {
    await this.#fill(this.#field(field, ['textinput', 'codeblock']), value);
  }

  /** Chooses an option of a `select`, or a `radio`, by its id or value. Several are a list. */
  async choose(field: string, value: string | number | readonly string[]): Promise<void> {
    const found = this.#field(field, ['select', 'radio']);
    const choices = choicesOf(this.element, found);
    for (const each of Array.isArray(value) ? value : [value])
      if (choices !== undefined && !choices.includes(each))
        throw new Error(`"${each}" is no choice of "${field}"; it has ${choices.join(', ')}.`);
    await this.#fill(found, value);
  }

  /** Sets a `switch` or a `checkbox`. */
  async check(field: string, isOn = true): Promise<void> {
    await this.#fill(this.#field(field, ['switch', 'checkbox']), isOn);
  }

  #field(name: string, types: readonly string[]): Field {
    const fields = fieldsOf(this.element);
    const found = fields.find(
      ({ key, label, element }) => (key === name || label === name) && types.includes(element.type),
    );
    if (found !== undefined) {
      if (this.#bound(found.element['disabled']) === true) throw new Error(`"${name}" is disabled.`);
      return found;
    }
    throw new Error(`"${this.componentId}" has no ${types.join(' or ')} "${name}"; ${labelsOf(fields)}`);
  }

  async #fill({ key, element }: Field, value: unknown): Promise<void> {
    this.#filled.set(key, value);
    const onChange = element['onValueChange'] ?? element['onContentChange'];
    if (onChange !== undefined) await this.#carryOut(onChange as Action);
  }

  /** Actions of the product are carried out here, all others by the component. */
  async #carryOut(written: Action): Promise<void> {
    const action = this.#bound(written) as Action;
    const { props, returnValue, url } = action as { props?: Values; returnValue?: Values; url?: string };
    switch (action.action) {
      case '@ui.modal.open':
        this.#modal = await Component.draw({
          ...{ componentId: `${action['componentId']}`, opener: this, render: this.#deps.render },
          ...(props && { props }),
        });
        return;
      case '@ui.modal.close':
        return this.#close(returnValue);
      case '@ui.url.open':
      case '@link.unfurl':
        this.#opened = url;
        return;
      case '@editor.node.updateProps':
        this.#props = { ...props };
        return this.#render();
      default:
        return this.#render(action);
    }
  }

  /** The opener gets the return value, as an action. */
  async #close(returnValue: Values | undefined): Promise<void> {
    this.#element = undefined;
    this.#returnValue = returnValue;
    const { opener } = this.#deps;
    if (opener === undefined) return;
    opener.#modal = undefined;
    await opener.#render({ action: '@ui.modal.close', ...(returnValue && { returnValue }) });
  }

  async #render(action?: Action): Promise<void> {
    const state = this.#state && { ...this.#state, ...this.#values() };
    const drawing = await this.#deps.render({
      componentId: this.componentId,
      props: this.#props,
      ...(state && { state }),
      ...(action && { action }),
    });
    if (drawing.type === 'complete') return this.#close(drawing.returnValue as Values | undefined);
    if (drawing.type !== 'element') return;
    this.#element = drawing.element as unknown as ContentKitElement;
    this.#state = drawing.state;
    this.#props = drawing.props;
    // A field follows what the code has set.
    for (const key of this.#filled.keys())
      if (key in drawing.state && JSON.stringify(drawing.state[key]) !== JSON.stringify(state?.[key]))
        this.#filled.delete(key);
  }

  /** Values of the fields that are shown, which each action sends with the state. */
  #values(): Values {
    const fields = this.#element === undefined ? [] : fieldsOf(this.#element);
    const values = fields.map(({ key }) => [key, this.#valueOf(key)] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined));
  }

  /** With the client state in the place of its bindings. */
  #bound(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#bound(each));
    if (typeof value !== 'object' || value === null) return value;
    const key = (value as { $state?: unknown }).$state;
    if (typeof key === 'string') return this.#valueOf(key);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.#bound(each)]));
  }

  /** What was filled in, else the member of the state, else the initial value of the field. */
  #valueOf(key: string): unknown {
    if (this.#filled.has(key)) return this.#filled.get(key);
    const given = this.#state?.[key] ?? undefined;
    if (given !== undefined) return given;
    const field = fieldsOf(this.element).find((each) => each.key === key);
    return field?.element['initialValue'];
  }
}
