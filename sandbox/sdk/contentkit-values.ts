/**
 * The values of ContentKit attributes (docs/contract/components.md#values),
 * from the catalogue in `src/model/contentkit/contentkit.ts`. Types only.
 *
 * Generated: `npx vitest run test/unit/sdk/contentkit-elements.test.ts -u`.
 */
import type { Dynamic } from './contentkit.ts';

/**
 * An icon of the platform.
 *
 * @example <button icon="check" onPress={{ action: 'save' }} />
 */
export type Icon =
  | 'close'
  | 'edit'
  | 'github'
  | 'gitlab'
  | 'maximize'
  | 'email'
  | 'settings'
  | 'search'
  | 'delete'
  | 'star'
  | 'warning'
  | 'link'
  | 'link-external'
  | 'eye'
  | 'eye-off'
  | 'lock'
  | 'check'
  | 'check-circle';

/**
 * Action of an element: one of the component, or one that the platform carries out (`@…`).
 *
 * @example <button onPress={{ action: 'rename', id: 5 }} />
 */
export type Press =
  | {
      readonly action: '@ui.modal.open';
      /** Id of the component that renders the modal. */
      readonly componentId: string;
      /** Props of that component. */
      readonly props: Readonly<Record<string, unknown>>;
      readonly [parameter: string]: unknown;
    }
  | {
      readonly action: '@ui.modal.close';
      /** Value for the opener of the modal. */
      readonly returnValue?: Readonly<Record<string, unknown>>;
      readonly [parameter: string]: unknown;
    }
  | {
      readonly action: '@ui.url.open';
      /** URL to open: http, https or mailto. */
      readonly url: Dynamic<string>;
      readonly [parameter: string]: unknown;
    }
  | {
      readonly action: '@link.unfurl';
      /** URL to turn into a block: http or https. */
      readonly url: Dynamic<string>;
      readonly [parameter: string]: unknown;
    }
  | {
      readonly action: '@editor.node.updateProps';
      /** Props that replace those of the block. */
      readonly props: Readonly<Record<string, unknown>>;
      readonly [parameter: string]: unknown;
    }
  | {
      /** Name of the action; it does not begin with `@`. */
      readonly action: string;
      readonly [parameter: string]: unknown;
    };

/**
 * A question before an action is dispatched.
 *
 * @example
 * <button confirm={{ title: 'Delete it?', text: 'This cannot be undone.', confirm: 'Delete' }}
 *   onPress={{ action: 'delete' }} />
 */
export interface Confirm {
  /** Heading of the question. At most 100 characters. */
  readonly title: string;
  /** Text of the question. At most 300 characters. */
  readonly text: string;
  /** Label of the button that confirms. At most 30 characters. */
  readonly confirm: string;
  /** Prominence of the button. */
  readonly style?: 'primary' | 'secondary' | 'danger';
}

/**
 * An entry of a block's menu.
 *
 * @example
 * <block controls={[{ label: 'Refresh', icon: 'settings', onPress: { action: 'refresh' }
 *   }]}><text>Hello</text></block>
 */
export interface Control {
  /** Label of the entry. */
  readonly label: string;
  /** Before the label. */
  readonly icon?: Icon;
  /** Dispatched when the entry is chosen. */
  readonly onPress: Press;
  /** Question before the action is dispatched. */
  readonly confirm?: Confirm;
}

/**
 * A choice of a `<select>`.
 *
 * @example <select state="color" options={[{ id: 'red', label: 'Red', icon: 'star' }]} />
 */
export interface SelectOption {
  /** Value in the state. */
  readonly id: string;
  /** Label of the choice. */
  readonly label: string;
  /** Before the label. */
  readonly icon?: Icon;
}
