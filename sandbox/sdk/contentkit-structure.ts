/**
 * Elements of ContentKit that hold others (docs/contract/components.md#elements),
 * from the catalogue in `src/model/contentkit/contentkit.ts`. Types only.
 *
 * Generated: `npx vitest run test/unit/sdk/contentkit-elements.test.ts -u`.
 */
import type { Element, ElementChildren, TextChildren } from './contentkit.ts';
import type { Control, Icon, Press } from './contentkit-values.ts';

/** Tag → attributes. */
export interface StructureElements {
  /**
   * Root element of a component in a document.
   *
   * @example <block><text>Hello</text></block>
   */
  block: {
    /**
     * Entries of the menu of the block.
     *
     * @example controls={[{ label: 'Refresh', icon: 'settings', onPress: { action: 'refresh' } }]}
     */
    readonly controls?: readonly Control[] | undefined;
    /** Between the tags: elements. */
    readonly children: ElementChildren;
  };
  /**
   * Root element of a component in a modal window.
   *
   * @example <modal><text>Hello</text></modal>
   */
  modal: {
    /**
     * Title of the window.
     *
     * @example title="Settings"
     */
    readonly title?: string | undefined;
    /**
     * Text below the title.
     *
     * @example subtitle="Of this page"
     */
    readonly subtitle?: TextChildren | undefined;
    /**
     * Size of the window.
     *
     * @example size="xlarge"
     */
    readonly size?: 'medium' | 'xlarge' | 'fullscreen' | undefined;
    /**
     * Value for the opener when the window is closed.
     *
     * @example returnValue={{ saved: true }}
     */
    readonly returnValue?: Readonly<Record<string, unknown>> | undefined;
    /**
     * Main button of the window: a `<button>`.
     *
     * @example submit={<button label="Save" onPress={{ action: 'save' }} />}
     */
    readonly submit?: Element | undefined;
    /** Between the tags: elements. */
    readonly children: ElementChildren;
  };
  /**
   * Root element of a configuration component.
   *
   * @example
   * <configuration><input label="Team" element={<textinput state="team" />} /></configuration>
   */
  configuration: {
    /** Between the tags: elements, or one `<stepper>` alone. */
    readonly children?: ElementChildren;
  };
  /**
   * A configuration in steps.
   *
   * @example
   * <stepper activeStep="account" onStepChange={{ action: 'step' }} onComplete={{ action: 'done'
   *   }}><step id="account"><text>Hello</text></step></stepper>
   */
  stepper: {
    /**
     * `id` of the step that is shown.
     *
     * @example activeStep="account"
     */
    readonly activeStep: string;
    /**
     * Dispatched when the user goes to another step.
     *
     * @example onStepChange={{ action: 'step' }}
     */
    readonly onStepChange: Press;
    /**
     * Dispatched after the last step.
     *
     * @example onComplete={{ action: 'done' }}
     */
    readonly onComplete: Press;
    /** Between the tags: `<step>`. */
    readonly children?: ElementChildren;
  };
  /**
   * One step of a stepper.
   *
   * @example <step id="account"><text>Hello</text></step>
   */
  step: {
    /**
     * Id of the step, unique in the stepper.
     *
     * @example id="account"
     */
    readonly id: string;
    /**
     * Title of the step. At most 50 characters.
     *
     * @example title="Account"
     */
    readonly title?: string | undefined;
    /**
     * Button to the next step: a `<button>`.
     *
     * @example next={<button label="Next" onPress={{ action: 'next' }} />}
     */
    readonly next?: Element | undefined;
    /** Between the tags: elements. */
    readonly children?: ElementChildren;
  };
  /**
   * Elements below one another.
   *
   * @example <vstack><text>Above</text><text>Below</text></vstack>
   */
  vstack: {
    /**
     * Alignment across the direction of the stack.
     *
     * @example align="center"
     */
    readonly align?: 'start' | 'center' | 'end' | undefined;
    /** Between the tags: elements. */
    readonly children?: ElementChildren;
  };
  /**
   * Elements beside one another.
   *
   * @example <hstack><text>Left</text><text>Right</text></hstack>
   */
  hstack: {
    /**
     * Alignment across the direction of the stack.
     *
     * @example align="end"
     */
    readonly align?: 'start' | 'center' | 'end' | undefined;
    /** Between the tags: elements. */
    readonly children?: ElementChildren;
  };
  /**
   * Container for elements.
   *
   * @example <box><text>Hello</text></box>
   */
  box: {
    /**
     * Share of the free space; from 0.
     *
     * @example grow={1}
     */
    readonly grow?: number | undefined;
    /** Between the tags: elements. */
    readonly children?: ElementChildren;
  };
  /**
   * A line between elements.
   *
   * @example <divider />
   */
  divider: {
    /**
     * Space around the line.
     *
     * @example size="large"
     */
    readonly size?: 'small' | 'medium' | 'large' | undefined;
  };
  /**
   * Elements in a frame.
   *
   * @example <card><text>All tests passed.</text></card>
   */
  card: {
    /**
     * Title of the card.
     *
     * @example title="Build 42"
     */
    readonly title?: string | undefined;
    /**
     * Remark below.
     *
     * @example hint="Two minutes ago"
     */
    readonly hint?: TextChildren | undefined;
    /**
     * Icon or `<image>` before the title.
     *
     * @example icon="check"
     */
    readonly icon?: Icon | Element | undefined;
    /**
     * Dispatched when it is pressed.
     *
     * @example onPress={{ action: '@ui.url.open', url: 'https://example.com/42' }}
     */
    readonly onPress?: Press | undefined;
    /**
     * Buttons of the element.
     *
     * @example buttons={[<button label="Edit" onPress={{ action: 'edit' }} />]}
     */
    readonly buttons?: ElementChildren | undefined;
    /** Between the tags: elements. */
    readonly children?: ElementChildren;
  };
}
