/**
 * The elements of ContentKit and their attributes (REFERENCE 5). Types only: the host checks what is drawn.
 */
import type { Action } from './event.ts';

/** An element, as it is sent to the platform. */
export interface Element {
  readonly type: string;
  readonly [attribute: string]: unknown;
}

/** What may stand between two tags. Empty values are dropped, lists are opened. */
export type ComponentChildren =
  | Element
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly ComponentChildren[];

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

/** A value, or a name of client state to take it from. */
export type Dynamic<T> = T | { readonly $state: string };

/** What pressing an element does: an action of the component, or one that the platform carries out itself. */
export type Press =
  | Action
  | {
      readonly action: '@ui.modal.open';
      readonly componentId: string;
      readonly props: Readonly<Record<string, unknown>>;
    }
  | { readonly action: '@ui.modal.close'; readonly returnValue: Readonly<Record<string, unknown>> }
  | { readonly action: '@ui.url.open'; readonly url: Dynamic<string> }
  | { readonly action: '@link.unfurl'; readonly url: Dynamic<string> }
  | { readonly action: '@editor.node.updateProps'; readonly props: Readonly<Record<string, unknown>> };

type ButtonStyle = 'primary' | 'secondary' | 'danger';

/** A question before an action is dispatched. */
export interface Confirm {
  /** At most 100 characters. */
  readonly title: string;
  /** At most 300 characters. */
  readonly text: string;
  /** Label of the button that goes on; at most 30 characters. */
  readonly confirm: string;
  readonly style?: ButtonStyle;
}

/** An entry of a block's menu. */
export interface Control {
  readonly label: string;
  readonly icon?: Icon;
  readonly onPress: Press;
  readonly confirm?: Confirm;
}

export interface SelectOption {
  readonly id: string;
  readonly label: string;
  readonly icon?: Icon;
}

interface Url {
  readonly url: Dynamic<string>;
}
interface Children {
  readonly children?: ComponentChildren;
}
interface Stack extends Children {
  readonly align?: 'start' | 'center' | 'end';
}
interface Choice {
  /** Name of the client state that holds the value. */
  readonly state: string;
  readonly onValueChange?: Press;
  readonly confirm?: Confirm;
  readonly disabled?: Dynamic<boolean>;
}

/** Tag → attributes. */
export interface Elements {
  block: Children & { readonly controls?: readonly Control[] };
  modal: Children & {
    readonly title?: string;
    readonly subtitle?: string;
    readonly size?: 'medium' | 'xlarge' | 'fullscreen';
    readonly returnValue?: Readonly<Record<string, unknown>>;
    /** A `<button>`. */
    readonly submit?: Element;
  };
  configuration: Children;
  stepper: Children & {
    readonly activeStep: string;
    readonly onStepChange: Press;
    readonly onComplete: Press;
  };
  step: Children & { readonly id: string; readonly title?: string; readonly next?: Element };
  vstack: Stack;
  hstack: Stack;
  box: Children & { readonly grow?: number };
  divider: { readonly size?: 'small' | 'medium' | 'large' };
  text: Children & { readonly style?: 'bold' | 'italic' | 'code' | 'strikethrough' };
  link: Children & { readonly target: Url };
  hint: Children;
  markdown: { readonly content: Dynamic<string> };
  image: { readonly source: Url; readonly aspectRatio: number };
  card: Children & {
    readonly title?: string;
    readonly hint?: Element | string;
    readonly icon?: Icon | Element;
    readonly onPress?: Press;
    readonly buttons?: readonly Element[];
  };
  button: {
    readonly onPress: Press;
    readonly label?: Dynamic<string>;
    readonly style?: ButtonStyle;
    readonly icon?: Icon;
    readonly trailingIcon?: Icon;
    readonly tooltip?: string;
    readonly confirm?: Confirm;
    readonly disabled?: Dynamic<boolean>;
  };
  input: {
    readonly label: string;
    readonly hint?: Element | string;
    /** `<textinput>`, `<select>`, `<switch>`, `<radio>`, `<checkbox>`, `<button>` or `<codeblock>`. */
    readonly element: Element;
  };
  textinput: {
    readonly state: string;
    readonly initialValue?: Dynamic<string>;
    readonly placeholder?: string;
    readonly multiline?: boolean;
    readonly inputType?: 'text' | 'password' | 'email';
    readonly disabled?: Dynamic<boolean>;
  };
  select: Omit<Choice, 'confirm'> & {
    /** The options, or where to fetch them. */
    readonly options: readonly SelectOption[] | Url;
    readonly initialValue?: string | readonly string[];
    readonly placeholder?: string;
    readonly multiple?: boolean;
    readonly acceptInput?: boolean;
  };
  switch: Choice & { readonly initialValue?: boolean };
  radio: Choice & { readonly value: string | number };
  checkbox: Choice & { readonly value: string | number };
  codeblock: {
    readonly content: Dynamic<string>;
    readonly syntax?: string;
    readonly lineNumbers?: boolean | number;
    readonly state?: string;
    readonly onContentChange?: Press;
    readonly buttons?: readonly Element[];
    readonly header?: ComponentChildren;
    readonly footer?: ComponentChildren;
  };
  webframe: {
    readonly source: Url;
    readonly aspectRatio?: number;
    readonly data?: Readonly<Record<string, Dynamic<string>>>;
    readonly buttons?: readonly Element[];
  };
}
