/**
 * The elements of ContentKit and their attributes (docs/contract/components.md#elements), from the
 * catalogue in `src/model/contentkit/contentkit.ts`. Types only.
 *
 * Generated: `npx vitest run test/unit/sdk/contentkit-elements.test.ts -u`.
 */
import type { Dynamic, Element, ElementChildren, TextChildren } from './contentkit.ts';

/** An icon of the platform. */
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

/** Action of an element: one of the component, or one that the platform carries out (`@…`). */
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

/** A question before an action is dispatched. */
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

/** An entry of a block's menu. */
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

/** A choice of a `<select>`. */
export interface SelectOption {
  /** Value in the client state. */
  readonly id: string;
  /** Label of the choice. */
  readonly label: string;
  /** Before the label. */
  readonly icon?: Icon;
}

/** Tag → attributes. The host leaves out what is unknown, and answers 422 for what does not fit. */
export interface Elements {
  /** Root element of a component in a document. */
  block: {
    /** Entries of the menu of the block. */
    readonly controls?: readonly Control[];
    readonly children: ElementChildren;
  };
  /** Root element of a component in a modal window. */
  modal: {
    /** Title of the window. */
    readonly title?: string;
    /** Text below the title. */
    readonly subtitle?: TextChildren;
    /** Size of the window. */
    readonly size?: 'medium' | 'xlarge' | 'fullscreen';
    /** Value for the opener when the window is closed. */
    readonly returnValue?: Readonly<Record<string, unknown>>;
    /** Main button of the window: a `<button>`. */
    readonly submit?: Element;
    readonly children: ElementChildren;
  };
  /** Root element of a configuration component. */
  configuration: {
    readonly children?: ElementChildren;
  };
  /** A configuration in steps. */
  stepper: {
    /** `id` of the step that is shown. */
    readonly activeStep: string;
    /** Dispatched when the user goes to another step. */
    readonly onStepChange: Press;
    /** Dispatched after the last step. */
    readonly onComplete: Press;
    readonly children?: ElementChildren;
  };
  /** One step of a stepper. */
  step: {
    /** Id of the step, unique in the stepper. */
    readonly id: string;
    /** Title of the step. At most 50 characters. */
    readonly title?: string;
    /** Button to the next step: a `<button>`. */
    readonly next?: Element;
    readonly children?: ElementChildren;
  };
  /** Elements below one another. */
  vstack: {
    /** Alignment across the direction of the stack. */
    readonly align?: 'start' | 'center' | 'end';
    readonly children?: ElementChildren;
  };
  /** Elements beside one another. */
  hstack: {
    /** Alignment across the direction of the stack. */
    readonly align?: 'start' | 'center' | 'end';
    readonly children?: ElementChildren;
  };
  /** Container for elements. */
  box: {
    /** Share of the free space; from 0. */
    readonly grow?: number;
    readonly children?: ElementChildren;
  };
  /** A line between elements. */
  divider: {
    /** Space around the line. */
    readonly size?: 'small' | 'medium' | 'large';
  };
  /** Text. */
  text: {
    /** Style of the text. */
    readonly style?: 'bold' | 'italic' | 'code' | 'strikethrough';
    readonly children?: TextChildren;
  };
  /** Link to a URL. */
  link: {
    /** Destination of the link. */
    readonly target: {
      /** URL: http, https or mailto. */
      readonly url: Dynamic<string>;
    };
    readonly children?: TextChildren;
  };
  /** A remark. */
  hint: {
    readonly children?: TextChildren;
  };
  /** Text in Markdown. */
  markdown: {
    /** The Markdown. */
    readonly content: Dynamic<string>;
  };
  /** A picture. */
  image: {
    /** Location of the picture. */
    readonly source: {
      /** URL of the picture: http or https. */
      readonly url: Dynamic<string>;
    };
    /** Width divided by height; above 0. */
    readonly aspectRatio: number;
  };
  /** Elements in a frame. */
  card: {
    /** Title of the card. */
    readonly title?: string;
    /** Remark below. */
    readonly hint?: TextChildren;
    /** Icon or `<image>` before the title. */
    readonly icon?: Icon | Element;
    /** Dispatched when it is pressed. */
    readonly onPress?: Press;
    /** Buttons of the element. */
    readonly buttons?: ElementChildren;
    readonly children?: ElementChildren;
  };
  /** A button. */
  button: {
    /** Dispatched when it is pressed. */
    readonly onPress: Press;
    /** Label of the button. */
    readonly label?: Dynamic<string>;
    /** Prominence of the button. */
    readonly style?: 'primary' | 'secondary' | 'danger';
    /** Icon before the label. */
    readonly icon?: Icon;
    /** Icon after the label. */
    readonly trailingIcon?: Icon;
    /** Text beside the pointer. */
    readonly tooltip?: string;
    /** Question before the action is dispatched. */
    readonly confirm?: Confirm;
    /** Whether the element cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** A form element with its label. */
  input: {
    /** Label of the form element. */
    readonly label: string;
    /** Remark below. */
    readonly hint?: TextChildren;
    /**
     * One of `<textinput>`, `<select>`, `<switch>`, `<radio>`, `<checkbox>`, `<button>`,
     * `<codeblock>`.
     */
    readonly element: Element;
  };
  /** A field for text. */
  textinput: {
    /** Name of the client state that holds the value. */
    readonly state: string;
    /** Initial text. */
    readonly initialValue?: Dynamic<string>;
    /** Text while the field is empty. */
    readonly placeholder?: string;
    /** Whether the field has several lines. */
    readonly multiline?: boolean;
    /** Kind of text. */
    readonly inputType?: 'text' | 'password' | 'email';
    /** Whether the element cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** A choice from a list. */
  select: {
    /** Name of the client state that holds the value. */
    readonly state: string;
    /** The choices, or the URL to fetch them from. */
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
        };
    /** `id` of the initial choice; a list with `multiple`. */
    readonly initialValue?: Dynamic<string | readonly string[]>;
    /** Dispatched when the value changes. */
    readonly onValueChange?: Press;
    /** Text while nothing is chosen. */
    readonly placeholder?: string;
    /** Whether several can be chosen. */
    readonly multiple?: boolean;
    /** Whether values outside of the list can be entered. */
    readonly acceptInput?: boolean;
    /** Whether the element cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** A switch: on or off. */
  switch: {
    /** Name of the client state that holds the value. */
    readonly state: string;
    /** Initial value. */
    readonly initialValue?: Dynamic<boolean>;
    /** Dispatched when the value changes. */
    readonly onValueChange?: Press;
    /** Question before the action is dispatched. */
    readonly confirm?: Confirm;
    /** Whether the element cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** Radio button: one of those with the same `state` is chosen. */
  radio: {
    /** Name of the client state that holds the value. */
    readonly state: string;
    /** Value in the client state when it is chosen. */
    readonly value: string | number;
    /** `value` of the radio button that is chosen initially. */
    readonly initialValue?: Dynamic<string | number>;
    /** Dispatched when the value changes. */
    readonly onValueChange?: Press;
    /** Question before the action is dispatched. */
    readonly confirm?: Confirm;
    /** Whether the element cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** Checkbox: any of those with the same `state` are chosen. */
  checkbox: {
    /** Name of the client state that holds the value. */
    readonly state: string;
    /** Value in the client state when it is chosen. */
    readonly value: string | number;
    /** Whether it is chosen initially, or the values of those that are. */
    readonly initialValue?: Dynamic<boolean | readonly (string | number)[]>;
    /** Dispatched when the value changes. */
    readonly onValueChange?: Press;
    /** Question before the action is dispatched. */
    readonly confirm?: Confirm;
    /** Whether the element cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** Code, to read or to edit. */
  codeblock: {
    /** The code. */
    readonly content: Dynamic<string>;
    /** Language for syntax highlighting. */
    readonly syntax?: string;
    /** Whether line numbers are shown, or the number of the first line. */
    readonly lineNumbers?: boolean | number;
    /** Name of the client state that holds the code. With it, the code can be edited. */
    readonly state?: string;
    /** Dispatched when the code changes. */
    readonly onContentChange?: Press;
    /** Buttons of the element. */
    readonly buttons?: ElementChildren;
    /** Elements above the code. */
    readonly header?: ElementChildren;
    /** Elements below the code. */
    readonly footer?: ElementChildren;
  };
  /** A web page in a frame. */
  webframe: {
    /** Location of the page. */
    readonly source: {
      /** URL of the page: http or https. */
      readonly url: Dynamic<string>;
    };
    /** Width divided by height; above 0. */
    readonly aspectRatio?: number;
    /** Data that is sent to the page at first and after each change. */
    readonly data?: Readonly<Record<string, Dynamic<string>>>;
    /** Buttons of the element. */
    readonly buttons?: ElementChildren;
  };
}
