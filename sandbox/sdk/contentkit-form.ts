/**
 * Elements of ContentKit that users press or fill in (docs/contract/components.md#elements),
 * from the catalogue in `src/model/contentkit/contentkit.ts`. Types only.
 *
 * Generated: `npx vitest run test/unit/sdk/contentkit-elements.test.ts -u`.
 */
import type { Dynamic, Element, TextChildren } from './contentkit.ts';
import type { Confirm, Icon, Press, SelectOption } from './contentkit-values.ts';

/** Tag → attributes. */
export interface FormElements {
  /**
   * A button.
   *
   * @example <button onPress={{ action: 'save' }} />
   */
  button: {
    /**
     * Dispatched when it is pressed.
     *
     * @example onPress={{ action: 'save' }}
     */
    readonly onPress: Press;
    /**
     * Label of the button.
     *
     * @example label="Save"
     */
    readonly label?: Dynamic<string> | undefined;
    /**
     * Prominence of the button.
     *
     * @example style="primary"
     */
    readonly style?: 'primary' | 'secondary' | 'danger' | undefined;
    /**
     * Icon before the label.
     *
     * @example icon="check"
     */
    readonly icon?: Icon | undefined;
    /**
     * Icon after the label.
     *
     * @example trailingIcon="link-external"
     */
    readonly trailingIcon?: Icon | undefined;
    /**
     * Text beside the pointer.
     *
     * @example tooltip="Saves all fields"
     */
    readonly tooltip?: string | undefined;
    /**
     * Question before the action is dispatched.
     *
     * @example confirm={{ title: 'Delete it?', text: 'This cannot be undone.', confirm: 'Delete' }}
     */
    readonly confirm?: Confirm | undefined;
    /**
     * Whether the element cannot be used.
     *
     * @example disabled={element.dynamicState('locked')}
     */
    readonly disabled?: Dynamic<boolean> | undefined;
  };
  /**
   * A form element with its label.
   *
   * @example <input label="Name" element={<textinput state="name" />} />
   */
  input: {
    /**
     * Label of the form element.
     *
     * @example label="Name"
     */
    readonly label: string;
    /**
     * Remark below.
     *
     * @example hint="As your colleagues see it"
     */
    readonly hint?: TextChildren | undefined;
    /**
     * Why the value is refused: below the field, which gets the focus after an action.
     *
     * @example error="The name is taken."
     */
    readonly error?: string | undefined;
    /**
     * One of `<textinput>`, `<select>`, `<switch>`, `<radio>`, `<checkbox>`, `<button>`,
     * `<codeblock>`.
     *
     * @example element={<textinput state="name" />}
     */
    readonly element: Element;
  };
  /**
   * A field for text.
   *
   * @example <textinput state="name" />
   */
  textinput: {
    /**
     * Name of the member of the state that holds the value.
     *
     * @example state="name"
     */
    readonly state: string;
    /**
     * Initial text.
     *
     * @example initialValue="Ada"
     */
    readonly initialValue?: Dynamic<string> | undefined;
    /**
     * Text while the field is empty.
     *
     * @example placeholder="Your name"
     */
    readonly placeholder?: string | undefined;
    /**
     * Whether the field has several lines.
     *
     * @example multiline
     */
    readonly multiline?: boolean | undefined;
    /**
     * Kind of text.
     *
     * @example inputType="email"
     */
    readonly inputType?: 'text' | 'password' | 'email' | undefined;
    /**
     * Whether the element cannot be used.
     *
     * @example disabled={element.dynamicState('locked')}
     */
    readonly disabled?: Dynamic<boolean> | undefined;
  };
  /**
   * A choice from a list.
   *
   * @example
   * <select state="color" options={[{ id: 'red', label: 'Red' }, { id: 'blue', label: 'Blue' }]} />
   */
  select: {
    /**
     * Name of the member of the state that holds the value.
     *
     * @example state="color"
     */
    readonly state: string;
    /**
     * The choices, or where they come from.
     *
     * @example options={[{ id: 'red', label: 'Red' }, { id: 'blue', label: 'Blue' }]}
     */
    readonly options:
      | readonly SelectOption[]
      | {
          /** URL that answers the list: http or https. Also in parts. */
          readonly url:
            | string
            | { readonly $state: string }
            | {
                /** Host, with its port if it has one. */
                readonly host: string;
                /** Path, from its `/`. */
                readonly pathname?: string;
                /** Parameters of the query. */
                readonly query?: Readonly<Record<string, Dynamic<string>>>;
              };
        }
      | Element;
    /**
     * `id` of the initial choice; a list with `multiple`.
     *
     * @example initialValue="red"
     */
    readonly initialValue?: Dynamic<string | readonly string[]> | undefined;
    /**
     * Dispatched when the value changes.
     *
     * @example onValueChange={{ action: 'changed' }}
     */
    readonly onValueChange?: Press | undefined;
    /**
     * Text while nothing is chosen.
     *
     * @example placeholder="A color"
     */
    readonly placeholder?: string | undefined;
    /**
     * Whether several can be chosen.
     *
     * @example multiple
     */
    readonly multiple?: boolean | undefined;
    /**
     * Whether values outside of the list can be entered.
     *
     * @example acceptInput
     */
    readonly acceptInput?: boolean | undefined;
    /**
     * Whether the element cannot be used.
     *
     * @example disabled={element.dynamicState('locked')}
     */
    readonly disabled?: Dynamic<boolean> | undefined;
  };
  /**
   * A switch: on or off.
   *
   * @example <switch state="daily" />
   */
  switch: {
    /**
     * Name of the member of the state that holds the value.
     *
     * @example state="daily"
     */
    readonly state: string;
    /**
     * Initial value.
     *
     * @example initialValue={true}
     */
    readonly initialValue?: Dynamic<boolean> | undefined;
    /**
     * Dispatched when the value changes.
     *
     * @example onValueChange={{ action: 'changed' }}
     */
    readonly onValueChange?: Press | undefined;
    /**
     * Question before the action is dispatched.
     *
     * @example confirm={{ title: 'Delete it?', text: 'This cannot be undone.', confirm: 'Delete' }}
     */
    readonly confirm?: Confirm | undefined;
    /**
     * Whether the element cannot be used.
     *
     * @example disabled={element.dynamicState('locked')}
     */
    readonly disabled?: Dynamic<boolean> | undefined;
  };
  /**
   * Radio button: one of those with the same `state` is chosen.
   *
   * @example <radio state="size" value="large" />
   */
  radio: {
    /**
     * Name of the member of the state that holds the value.
     *
     * @example state="size"
     */
    readonly state: string;
    /**
     * Value in the state when it is chosen.
     *
     * @example value="large"
     */
    readonly value: string | number;
    /**
     * `value` of the radio button that is chosen initially.
     *
     * @example initialValue="large"
     */
    readonly initialValue?: Dynamic<string | number> | undefined;
    /**
     * Dispatched when the value changes.
     *
     * @example onValueChange={{ action: 'changed' }}
     */
    readonly onValueChange?: Press | undefined;
    /**
     * Question before the action is dispatched.
     *
     * @example confirm={{ title: 'Delete it?', text: 'This cannot be undone.', confirm: 'Delete' }}
     */
    readonly confirm?: Confirm | undefined;
    /**
     * Whether the element cannot be used.
     *
     * @example disabled={element.dynamicState('locked')}
     */
    readonly disabled?: Dynamic<boolean> | undefined;
  };
  /**
   * Checkbox: any of those with the same `state` are chosen.
   *
   * @example <checkbox state="days" value="monday" />
   */
  checkbox: {
    /**
     * Name of the member of the state that holds the value.
     *
     * @example state="days"
     */
    readonly state: string;
    /**
     * Value in the state when it is chosen.
     *
     * @example value="monday"
     */
    readonly value: string | number;
    /**
     * Whether it is chosen initially, or the values of those that are.
     *
     * @example initialValue={['monday', 'friday']}
     */
    readonly initialValue?: Dynamic<boolean | readonly (string | number)[]> | undefined;
    /**
     * Dispatched when the value changes.
     *
     * @example onValueChange={{ action: 'changed' }}
     */
    readonly onValueChange?: Press | undefined;
    /**
     * Question before the action is dispatched.
     *
     * @example confirm={{ title: 'Delete it?', text: 'This cannot be undone.', confirm: 'Delete' }}
     */
    readonly confirm?: Confirm | undefined;
    /**
     * Whether the element cannot be used.
     *
     * @example disabled={element.dynamicState('locked')}
     */
    readonly disabled?: Dynamic<boolean> | undefined;
  };
}
