/**
 * The elements of ContentKit and their attributes (docs/contract/components.md#elements), from the
 * catalogue in `src/model/contentkit/contentkit.ts`. Types only.
 *
 * Generated: `npx vitest run test/unit/sdk/contentkit-elements.test.ts -u`.
 */
import type { Dynamic, Element, ElementChildren, TextChildren } from './contentkit.ts';

/** A drawing of the platform. */
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
 * What using an element does: an action of the component, or one that the platform carries out
 * itself.
 */
export type Press =
  | {
      readonly action: '@ui.modal.open';
      /** Component that draws the modal. */
      readonly componentId: string;
      /** Its props. */
      readonly props: Readonly<Record<string, unknown>>;
    }
  | {
      readonly action: '@ui.modal.close';
      /** For whoever opened it. */
      readonly returnValue: Readonly<Record<string, unknown>>;
    }
  | {
      readonly action: '@ui.url.open';
      /** What is opened. */
      readonly url: Dynamic<string>;
    }
  | {
      readonly action: '@link.unfurl';
      /** What is looked at. */
      readonly url: Dynamic<string>;
    }
  | {
      readonly action: '@editor.node.updateProps';
      /** The next props. */
      readonly props: Readonly<Record<string, unknown>>;
    }
  | {
      /** Names it. */
      readonly action: string;
      readonly [parameter: string]: unknown;
    };

/** A question before an action is dispatched. */
export interface Confirm {
  /** What is asked. At most 100 characters. */
  readonly title: string;
  /** What it means. At most 300 characters. */
  readonly text: string;
  /** The button that goes on. At most 30 characters. */
  readonly confirm: string;
  /** How much weight it has. */
  readonly style?: 'primary' | 'secondary' | 'danger';
}

/** An entry of a block's menu. */
export interface Control {
  /** What it says. */
  readonly label: string;
  /** Before the label. */
  readonly icon?: Icon;
  /** What it does. */
  readonly onPress: Press;
  /** Asked first. */
  readonly confirm?: Confirm;
}

/** A choice of a select. */
export interface SelectOption {
  /** The value, as the state has it. */
  readonly id: string;
  /** What is shown. */
  readonly label: string;
  /** Before the label. */
  readonly icon?: Icon;
}

/** Tag → attributes. The host answers 422 for what does not fit. */
export interface Elements {
  /** What a component draws in a document. */
  block: {
    /** The menu of the block. */
    readonly controls?: readonly Control[];
    readonly children: ElementChildren;
  };
  /** What a component draws in a window of its own. */
  modal: {
    /** Head of the window. */
    readonly title?: string;
    /** Below the title. */
    readonly subtitle?: string;
    /** How large it is. */
    readonly size?: 'medium' | 'xlarge' | 'fullscreen';
    /** For whoever opened it, when it is closed. */
    readonly returnValue?: Readonly<Record<string, unknown>>;
    /** The button that is meant to be pressed: a `<button>`. */
    readonly submit?: Element;
    readonly children: ElementChildren;
  };
  /** What a configuration component draws. */
  configuration: {
    readonly children?: ElementChildren;
  };
  /** A configuration in steps. */
  stepper: {
    /** `id` of the step that is shown. */
    readonly activeStep: string;
    /** Dispatched when another step is asked for. */
    readonly onStepChange: Press;
    /** Dispatched after the last step. */
    readonly onComplete: Press;
    readonly children?: ElementChildren;
  };
  /** One step of a stepper. */
  step: {
    /** Names it. */
    readonly id: string;
    /** Name that is shown. At most 50 characters. */
    readonly title?: string;
    /** Leads on: a `<button>`. */
    readonly next?: Element;
    readonly children?: ElementChildren;
  };
  /** Elements below one another. */
  vstack: {
    /** Where they are across. */
    readonly align?: 'start' | 'center' | 'end';
    readonly children?: ElementChildren;
  };
  /** Elements beside one another. */
  hstack: {
    /** Where they are across. */
    readonly align?: 'start' | 'center' | 'end';
    readonly children?: ElementChildren;
  };
  /** Room for elements. */
  box: {
    /** Share of the room that is left. */
    readonly grow?: number;
    readonly children?: ElementChildren;
  };
  /** A line between elements. */
  divider: {
    /** Room around it. */
    readonly size?: 'small' | 'medium' | 'large';
  };
  /** Text. */
  text: {
    /** How it is written. */
    readonly style?: 'bold' | 'italic' | 'code' | 'strikethrough';
    readonly children?: TextChildren;
  };
  /** Text that leads somewhere. */
  link: {
    /** Where it leads. */
    readonly target: {
      /** Where to: http, https or mailto. */
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
    /** Where it is. */
    readonly source: {
      /** http or https. */
      readonly url: Dynamic<string>;
    };
    /** Width by height. */
    readonly aspectRatio: number;
  };
  /** Elements in a frame. */
  card: {
    /** Its head. */
    readonly title?: string;
    /** A remark below. */
    readonly hint?: string | Element;
    /** Before the title; or an `<image>`. */
    readonly icon?: Icon | Element;
    /** Dispatched when it is pressed. */
    readonly onPress?: Press;
    /** Beside it. */
    readonly buttons?: ElementChildren;
    readonly children?: ElementChildren;
  };
  /** A button. */
  button: {
    /** Dispatched when it is pressed. */
    readonly onPress: Press;
    /** What it says. */
    readonly label?: Dynamic<string>;
    /** How much weight it has. */
    readonly style?: 'primary' | 'secondary' | 'danger';
    /** Before the label. */
    readonly icon?: Icon;
    /** After the label. */
    readonly trailingIcon?: Icon;
    /** Shown beside the pointer. */
    readonly tooltip?: string;
    /** Asked before the action is dispatched. */
    readonly confirm?: Confirm;
    /** Cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** A form element with its label. */
  input: {
    /** What is asked for. */
    readonly label: string;
    /** A remark below. */
    readonly hint?: string | Element;
    /**
     * One of `<textinput>`, `<select>`, `<switch>`, `<radio>`, `<checkbox>`, `<button>`,
     * `<codeblock>`.
     */
    readonly element: Element;
  };
  /** A field for text. */
  textinput: {
    /** Name of the client state that has the value. */
    readonly state: string;
    /** The text at first. */
    readonly initialValue?: Dynamic<string>;
    /** Shown while it is empty. */
    readonly placeholder?: string;
    /** Several lines. */
    readonly multiline?: boolean;
    /** What is typed. */
    readonly inputType?: 'text' | 'password' | 'email';
    /** Cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** A choice of a list. */
  select: {
    /** Name of the client state that has the value. */
    readonly state: string;
    /** The choices, or where to fetch them. */
    readonly options:
      | readonly SelectOption[]
      | {
          /** Answers with the list: http or https. */
          readonly url: Dynamic<string>;
        };
    /** `id` of what is chosen at first; a list with `multiple`. */
    readonly initialValue?: Dynamic<string | readonly string[]>;
    /** Dispatched when the value changes. */
    readonly onValueChange?: Press;
    /** Shown while nothing is chosen. */
    readonly placeholder?: string;
    /** More than one. */
    readonly multiple?: boolean;
    /** Other values, too. */
    readonly acceptInput?: boolean;
    /** Cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** On or off. */
  switch: {
    /** Name of the client state that has the value. */
    readonly state: string;
    /** What it is at first. */
    readonly initialValue?: Dynamic<boolean>;
    /** Dispatched when the value changes. */
    readonly onValueChange?: Press;
    /** Asked before the action is dispatched. */
    readonly confirm?: Confirm;
    /** Cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** One choice of those that share a state. */
  radio: {
    /** Name of the client state that has the value. */
    readonly state: string;
    /** What the state has when it is chosen. */
    readonly value: string | number;
    /** Value of the one that is chosen at first. */
    readonly initialValue?: Dynamic<string | number>;
    /** Dispatched when the value changes. */
    readonly onValueChange?: Press;
    /** Asked before the action is dispatched. */
    readonly confirm?: Confirm;
    /** Cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** Some choices of those that share a state. */
  checkbox: {
    /** Name of the client state that has the value. */
    readonly state: string;
    /** What the state has when it is chosen. */
    readonly value: string | number;
    /** Whether it is chosen at first; or the values of those that are. */
    readonly initialValue?: Dynamic<boolean | readonly (string | number)[]>;
    /** Dispatched when the value changes. */
    readonly onValueChange?: Press;
    /** Asked before the action is dispatched. */
    readonly confirm?: Confirm;
    /** Cannot be used. */
    readonly disabled?: Dynamic<boolean>;
  };
  /** Code, to read or to edit. */
  codeblock: {
    /** The code. */
    readonly content: Dynamic<string>;
    /** Its language. */
    readonly syntax?: string;
    /** Whether they are shown; or the first of them. */
    readonly lineNumbers?: boolean | number;
    /** Name of the client state that has the code; with it, it can be edited. */
    readonly state?: string;
    /** Dispatched when the code changes. */
    readonly onContentChange?: Press;
    /** Beside it. */
    readonly buttons?: ElementChildren;
    /** Above the code. */
    readonly header?: ElementChildren;
    /** Below the code. */
    readonly footer?: ElementChildren;
  };
  /** A page of its own, in a frame. */
  webframe: {
    /** Where it is. */
    readonly source: {
      /** http or https. */
      readonly url: Dynamic<string>;
    };
    /** Width by height. */
    readonly aspectRatio?: number;
    /** Sent to the page, again whenever it changes. */
    readonly data?: Readonly<Record<string, Dynamic<string>>>;
    /** Beside it. */
    readonly buttons?: ElementChildren;
  };
}
