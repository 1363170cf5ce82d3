/**
 * The ContentKit catalogue: every element that a component can draw, its attributes and its
 * children (`docs/contract/components.md#elements`).
 *
 * The single source: the host's check (`contentkit-check.ts`), the types of the SDK
 * (`sandbox/sdk/contentkit-*.ts`) and the public JSON Schema are derived from it.
 */
import Type, { type TSchema } from 'typebox';
import {
  anyObject,
  buttonStyle,
  dynamic,
  flag,
  icon,
  linkUrl,
  press,
  ref,
  shape,
  source,
  text,
  VALUES,
  webAddress,
  webUrl,
} from './contentkit-values.ts';
import { CHOICES_MAX, CONTROLS_MAX } from './drawing-bounds.ts';

/** The children that an element may have. */
export interface ChildrenRule {
  /** Names of the allowed elements. */
  readonly elements: readonly string[];
  /** Whether text is allowed. */
  readonly text: boolean;
  /**
   * Whether a drawing that leaves the service always has `children`; the list may be empty. An
   * absent one is added.
   */
  readonly required: boolean;
  /** One of `elements` that must be the only child where it is used. */
  readonly alone?: string;
}

export interface ElementKind {
  readonly description: string;
  /** Without `type` and `children`; optional ones are marked by `Type.Optional`. */
  readonly attributes: Readonly<Record<string, TSchema>>;
  /** Absent where the element has no children. */
  readonly children?: ChildrenRule;
}

/** Elements that can be the root of an answer. `block` may also be a child. */
export const ROOTS = ['block', 'modal', 'configuration'] as const;

/**
 * Elements that are allowed as children in general: all but the other roots and the parts of a
 * stepper.
 */
const DESCENDANTS = [
  ...(['block', 'vstack', 'hstack', 'box', 'divider', 'text', 'link', 'hint', 'markdown', 'image'] as const),
  ...(['card', 'button', 'input', 'textinput', 'select', 'switch', 'radio', 'checkbox'] as const),
  ...(['codeblock', 'webframe'] as const),
] as const;

const INPUT_ELEMENTS = [
  ...(['textinput', 'select', 'switch', 'radio', 'checkbox', 'button', 'codeblock'] as const),
] as const;

const descendants: ChildrenRule = { elements: DESCENDANTS, text: false, required: false };
/** Text, and `<text>` for styled parts. */
const words: ChildrenRule = { elements: ['text'], text: true, required: false };
const inline: ChildrenRule = { elements: ['text', 'link', 'image'], text: true, required: false };

/** One of these elements, as the value of an attribute. */
const oneOf = (elements: readonly string[], options: { description?: string } = {}): TSchema =>
  Type.Union(
    elements.map((name) => ref(name)),
    options,
  );

/** Several of these elements, as the value of an attribute. */
const listOf = (elements: readonly string[], description: string): TSchema =>
  Type.Array(oneOf(elements), { description });

const optional = (attributes: Record<string, TSchema>): Record<string, TSchema> =>
  Object.fromEntries(Object.entries(attributes).map(([name, schema]) => [name, Type.Optional(schema)]));

const buttons = { buttons: listOf(['button'], 'Buttons of the element.') };
const align = Type.Enum(['start', 'center', 'end'], {
  description: 'Alignment across the direction of the stack.',
});
const disabled = dynamic(Type.Boolean(), 'Whether the element cannot be used.');
const confirm = ref('confirm', 'Question before the action is dispatched.');
const state = text('Name of the member of the state that holds the value.', { minLength: 1 });
const aspectRatio = Type.Number({ description: 'Width divided by height; above 0.', exclusiveMinimum: 0 });
/** Elements of a remark. */
const REMARK_ELEMENTS = [
  ...(['text', 'link', 'hint', 'markdown', 'image', 'hstack', 'vstack', 'box', 'divider'] as const),
] as const;
/** Text, one element, or a list of both. */
const remark = (description: string): TSchema => {
  const variants = [Type.String(), ...REMARK_ELEMENTS.map((name) => ref(name))];
  return Type.Union([...variants, Type.Array(Type.Union(variants))], { description });
};
const textHint = remark('Remark below.');
const choiceValue = Type.Union([Type.String(), Type.Number()], {
  description: 'Value in the state when it is chosen.',
});
const changed = press('Dispatched when the value changes.');
const controls = { description: 'Entries of the menu of the block.', maxItems: CONTROLS_MAX };

/** Tag → definition of the element, in the order of the documentation. */
export const ELEMENTS: Readonly<Record<string, ElementKind>> = {
  block: {
    description: 'Root element of a component in a document.',
    attributes: optional({
      controls: Type.Array(ref('control'), controls),
    }),
    children: { ...descendants, required: true },
  },
  modal: {
    description: 'Root element of a component in a modal window.',
    attributes: optional({
      title: text('Title of the window.'),
      subtitle: remark('Text below the title.'),
      size: Type.Enum(['medium', 'xlarge', 'fullscreen'], { description: 'Size of the window.' }),
      returnValue: anyObject('Value for the opener when the window is closed.'),
      submit: ref('button', 'Main button of the window: a `<button>`.'),
    }),
    children: { ...descendants, required: true },
  },
  configuration: {
    description: 'Root element of a configuration component.',
    attributes: {},
    children: { ...descendants, elements: ['stepper', ...DESCENDANTS], alone: 'stepper' },
  },
  stepper: {
    description: 'A configuration in steps.',
    attributes: {
      activeStep: text('`id` of the step that is shown.'),
      onStepChange: press('Dispatched when the user goes to another step.'),
      onComplete: press('Dispatched after the last step.'),
    },
    children: { elements: ['step'], text: false, required: false },
  },
  step: {
    description: 'One step of a stepper.',
    attributes: {
      id: text('Id of the step, unique in the stepper.', { minLength: 1 }),
      ...optional({
        title: text('Title of the step.', { maxLength: 50 }),
        next: ref('button', 'Button to the next step: a `<button>`.'),
      }),
    },
    children: descendants,
  },
  vstack: {
    description: 'Elements below one another.',
    attributes: optional({ align }),
    children: descendants,
  },
  hstack: {
    description: 'Elements beside one another.',
    attributes: optional({ align }),
    children: descendants,
  },
  box: {
    description: 'Container for elements.',
    attributes: optional({
      grow: Type.Number({ description: 'Share of the free space; from 0.', minimum: 0 }),
    }),
    children: descendants,
  },
  divider: {
    description: 'A line between elements.',
    attributes: optional({
      size: Type.Enum(['small', 'medium', 'large'], { description: 'Space around the line.' }),
    }),
  },
  text: {
    description: 'Text.',
    attributes: optional({
      style: Type.Enum(['bold', 'italic', 'code', 'strikethrough'], { description: 'Style of the text.' }),
    }),
    children: inline,
  },
  link: {
    description: 'Link to a URL.',
    attributes: { target: source(linkUrl('URL: http, https or mailto.'), 'Destination of the link.') },
    children: words,
  },
  hint: { description: 'A remark.', attributes: {}, children: inline },
  markdown: {
    description: 'Text in Markdown.',
    attributes: { content: dynamic(Type.String(), 'The Markdown.') },
  },
  image: {
    description: 'A picture.',
    attributes: {
      source: source(webUrl('URL of the picture: http or https.'), 'Location of the picture.'),
      aspectRatio,
    },
  },
  card: {
    description: 'Elements in a frame.',
    attributes: optional({
      title: text('Title of the card.'),
      hint: textHint,
      icon: Type.Union([ref('icon'), ref('image')], { description: 'Icon or `<image>` before the title.' }),
      onPress: press('Dispatched when it is pressed.'),
      ...buttons,
    }),
    children: descendants,
  },
  button: {
    description: 'A button.',
    attributes: {
      onPress: press('Dispatched when it is pressed.'),
      ...optional({
        label: dynamic(Type.String(), 'Label of the button.'),
        style: buttonStyle,
        icon: icon('Icon before the label.'),
        trailingIcon: icon('Icon after the label.'),
        tooltip: text('Text beside the pointer.'),
        confirm,
        disabled,
      }),
    },
  },
  input: {
    description: 'A form element with its label.',
    attributes: {
      label: text('Label of the form element.'),
      ...optional({
        hint: textHint,
        error: text('Why the value is refused: below the field, which gets the focus after an action.'),
      }),
      element: oneOf(INPUT_ELEMENTS, {
        description: `One of ${INPUT_ELEMENTS.map((name) => `\`<${name}>\``).join(', ')}.`,
      }),
    },
  },
  textinput: {
    description: 'A field for text.',
    attributes: {
      state,
      ...optional({
        initialValue: dynamic(Type.String(), 'Initial text.'),
        placeholder: text('Text while the field is empty.'),
        multiline: flag('Whether the field has several lines.'),
        inputType: Type.Enum(['text', 'password', 'email'], { description: 'Kind of text.' }),
        disabled,
      }),
    },
  },
  select: {
    description: 'A choice from a list.',
    attributes: {
      state,
      options: Type.Union(
        [
          Type.Array(ref('option'), { maxItems: CHOICES_MAX }),
          source(
            webAddress('URL that answers the list: http or https. Also in parts.'),
            'Location of the choices.',
          ),
          ref('choiceSource'),
        ],
        { description: 'The choices, or where they come from.' },
      ),
      ...optional({
        initialValue: dynamic(
          Type.Union([Type.String(), Type.Array(Type.String())]),
          '`id` of the initial choice; a list with `multiple`.',
        ),
        onValueChange: changed,
        placeholder: text('Text while nothing is chosen.'),
        multiple: flag('Whether several can be chosen.'),
        acceptInput: flag('Whether values outside of the list can be entered.'),
        disabled,
      }),
    },
  },
  switch: {
    description: 'A switch: on or off.',
    attributes: {
      state,
      ...optional({
        initialValue: dynamic(Type.Boolean(), 'Initial value.'),
        onValueChange: changed,
        confirm,
        disabled,
      }),
    },
  },
  radio: {
    description: 'Radio button: one of those with the same `state` is chosen.',
    attributes: {
      state,
      value: choiceValue,
      ...optional({
        initialValue: dynamic(
          Type.Union([Type.String(), Type.Number()]),
          '`value` of the radio button that is chosen initially.',
        ),
        onValueChange: changed,
        confirm,
        disabled,
      }),
    },
  },
  checkbox: {
    description: 'Checkbox: any of those with the same `state` are chosen.',
    attributes: {
      state,
      value: choiceValue,
      ...optional({
        initialValue: dynamic(
          Type.Union([Type.Boolean(), Type.Array(Type.Union([Type.String(), Type.Number()]))]),
          'Whether it is chosen initially, or the values of those that are.',
        ),
        onValueChange: changed,
        confirm,
        disabled,
      }),
    },
  },
  codeblock: {
    description: 'Code, to read or to edit.',
    attributes: {
      content: dynamic(Type.String(), 'The code.'),
      ...optional({
        syntax: text('Language for syntax highlighting.'),
        lineNumbers: Type.Union([Type.Boolean(), Type.Number()], {
          description: 'Whether line numbers are shown, or the number of the first line.',
        }),
        state: text('Name of the member of the state that holds the code. With it, the code can be edited.', {
          minLength: 1,
        }),
        onContentChange: press('Dispatched when the code changes.'),
        ...buttons,
        header: listOf(DESCENDANTS, 'Elements above the code.'),
        footer: listOf(DESCENDANTS, 'Elements below the code.'),
      }),
    },
  },
  webframe: {
    description: 'A web page in a frame.',
    attributes: {
      source: source(webUrl('URL of the page: http or https.'), 'Location of the page.'),
      ...optional({
        aspectRatio,
        data: Type.Object(
          {},
          {
            description: 'Data that is sent to the page at first and after each change.',
            additionalProperties: dynamic(Type.String(), 'A text.'),
          },
        ),
        ...buttons,
      }),
    },
  },
};

function childrenSchema({ elements, text: takesText, alone }: ChildrenRule): TSchema {
  const list = (names: readonly string[], rule = {}) =>
    Type.Array(Type.Union([...(takesText ? [Type.String()] : []), ...names.map((name) => ref(name))]), rule);
  if (alone === undefined) return list(elements);
  const others = elements.filter((name) => name !== alone);
  return Type.Union([list(others), list([alone], { maxItems: 1 })]);
}

function elementSchema(name: string, { description, attributes, children }: ElementKind): TSchema {
  const list = children && childrenSchema(children);
  return shape(
    {
      type: Type.Literal(name),
      ...attributes,
      ...(list && { children: children.required ? list : Type.Optional(list) }),
    },
    description,
  );
}

/** Name → definition of each element and of each shared value. */
export const DEFINITIONS: Readonly<Record<string, TSchema>> = {
  ...Object.fromEntries(Object.entries(ELEMENTS).map(([name, kind]) => [name, elementSchema(name, kind)])),
  ...VALUES,
};

/**
 * JSON Schema of the elements in an answer of the service, after the host's check and
 * normalisation.
 */
export const CONTENTKIT_SCHEMA = Type.Union(
  ROOTS.map((name) => ref(name)),
  {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'ContentKit',
    description: 'What a component draws.',
    $defs: DEFINITIONS,
  },
);
