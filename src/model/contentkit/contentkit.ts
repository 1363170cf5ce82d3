/**
 * ContentKit: every element that a component can draw, its attributes and what may stand inside of
 * it (`docs/contract/components.md#elements`).
 *
 * The one place where this is said. The host's check (`contentkit-check.ts`), the types of the SDK
 * (`sandbox/sdk/contentkit-elements.ts`) and the JSON Schema that is served are made of it.
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
  webUrl,
} from './contentkit-values.ts';

/** What may stand inside of an element. */
export interface ChildrenRule {
  /** Names of elements. */
  readonly elements: readonly string[];
  /** Whether text may. */
  readonly text: boolean;
  /** Whether there has to be a list, if an empty one. */
  readonly required: boolean;
  /** One of `elements` that stands alone or not at all. */
  readonly alone?: string;
}

export interface ElementKind {
  readonly description: string;
  /** Without `type` and `children`; optional ones are marked by `Type.Optional`. */
  readonly attributes: Readonly<Record<string, TSchema>>;
  /** Absent where nothing may. */
  readonly children?: ChildrenRule;
}

/** Those that an answer may be; the first may stand inside of others, too. */
export const ROOTS = ['block', 'modal', 'configuration'] as const;

/** What can stand anywhere: all but what an answer is made of, and the parts of a stepper. */
const DESCENDANTS = [
  ...(['block', 'vstack', 'hstack', 'box', 'divider', 'text', 'link', 'hint', 'markdown', 'image'] as const),
  ...(['card', 'button', 'input', 'textinput', 'select', 'switch', 'radio', 'checkbox'] as const),
  ...(['codeblock', 'webframe'] as const),
] as const;

const INPUT_ELEMENTS = [
  ...(['textinput', 'select', 'switch', 'radio', 'checkbox', 'button', 'codeblock'] as const),
] as const;

const descendants: ChildrenRule = { elements: DESCENDANTS, text: false, required: false };
/** Text, with parts of it in another style. */
const words: ChildrenRule = { elements: ['text'], text: true, required: false };
const inline: ChildrenRule = { elements: ['text', 'link'], text: true, required: false };

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

const buttons = { buttons: listOf(['button'], 'Beside it.') };
const align = Type.Enum(['start', 'center', 'end'], { description: 'Where they are across.' });
const disabled = dynamic(Type.Boolean(), 'Cannot be used.');
const confirm = ref('confirm', 'Asked before the action is dispatched.');
const state = text('Name of the client state that has the value.', { minLength: 1 });
const aspectRatio = Type.Number({ description: 'Width by height.', exclusiveMinimum: 0 });
const textHint = Type.Union([Type.String(), ref('text'), ref('link'), ref('hint')], {
  description: 'A remark below.',
});
const choiceValue = Type.Union([Type.String(), Type.Number()], {
  description: 'What the state has when it is chosen.',
});
const changed = press('Dispatched when the value changes.');

/** Tag → what it is. In the order of the documentation. */
export const ELEMENTS: Readonly<Record<string, ElementKind>> = {
  block: {
    description: 'What a component draws in a document.',
    attributes: optional({ controls: Type.Array(ref('control'), { description: 'The menu of the block.' }) }),
    children: { ...descendants, required: true },
  },
  modal: {
    description: 'What a component draws in a window of its own.',
    attributes: optional({
      title: text('Head of the window.'),
      subtitle: text('Below the title.'),
      size: Type.Enum(['medium', 'xlarge', 'fullscreen'], { description: 'How large it is.' }),
      returnValue: anyObject('For whoever opened it, when it is closed.'),
      submit: ref('button', 'The button that is meant to be pressed: a `<button>`.'),
    }),
    children: { ...descendants, required: true },
  },
  configuration: {
    description: 'What a configuration component draws.',
    attributes: {},
    children: { ...descendants, elements: ['stepper', ...DESCENDANTS], alone: 'stepper' },
  },
  stepper: {
    description: 'A configuration in steps.',
    attributes: {
      activeStep: text('`id` of the step that is shown.'),
      onStepChange: press('Dispatched when another step is asked for.'),
      onComplete: press('Dispatched after the last step.'),
    },
    children: { elements: ['step'], text: false, required: false },
  },
  step: {
    description: 'One step of a stepper.',
    attributes: {
      id: text('Names it.', { minLength: 1 }),
      ...optional({
        title: text('Name that is shown.', { maxLength: 50 }),
        next: ref('button', 'Leads on: a `<button>`.'),
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
    description: 'Room for elements.',
    attributes: optional({
      grow: Type.Number({ description: 'Share of the room that is left.', minimum: 0 }),
    }),
    children: descendants,
  },
  divider: {
    description: 'A line between elements.',
    attributes: optional({
      size: Type.Enum(['small', 'medium', 'large'], { description: 'Room around it.' }),
    }),
  },
  text: {
    description: 'Text.',
    attributes: optional({
      style: Type.Enum(['bold', 'italic', 'code', 'strikethrough'], { description: 'How it is written.' }),
    }),
    children: words,
  },
  link: {
    description: 'Text that leads somewhere.',
    attributes: { target: source(linkUrl('Where to: http, https or mailto.'), 'Where it leads.') },
    children: words,
  },
  hint: { description: 'A remark.', attributes: {}, children: inline },
  markdown: {
    description: 'Text in Markdown.',
    attributes: { content: dynamic(Type.String(), 'The Markdown.') },
  },
  image: {
    description: 'A picture.',
    attributes: { source: source(webUrl('http or https.'), 'Where it is.'), aspectRatio },
  },
  card: {
    description: 'Elements in a frame.',
    attributes: optional({
      title: text('Its head.'),
      hint: textHint,
      icon: Type.Union([ref('icon'), ref('image')], { description: 'Before the title; or an `<image>`.' }),
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
        label: dynamic(Type.String(), 'What it says.'),
        style: buttonStyle,
        icon: icon('Before the label.'),
        trailingIcon: icon('After the label.'),
        tooltip: text('Shown beside the pointer.'),
        confirm,
        disabled,
      }),
    },
  },
  input: {
    description: 'A form element with its label.',
    attributes: {
      label: text('What is asked for.'),
      ...optional({ hint: textHint }),
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
        initialValue: dynamic(Type.String(), 'The text at first.'),
        placeholder: text('Shown while it is empty.'),
        multiline: flag('Several lines.'),
        inputType: Type.Enum(['text', 'password', 'email'], { description: 'What is typed.' }),
        disabled,
      }),
    },
  },
  select: {
    description: 'A choice of a list.',
    attributes: {
      state,
      options: Type.Union(
        [
          Type.Array(ref('option')),
          source(webUrl('Answers with the list: http or https.'), 'Where they are fetched.'),
        ],
        { description: 'The choices, or where to fetch them.' },
      ),
      ...optional({
        initialValue: dynamic(
          Type.Union([Type.String(), Type.Array(Type.String())]),
          '`id` of what is chosen at first; a list with `multiple`.',
        ),
        onValueChange: changed,
        placeholder: text('Shown while nothing is chosen.'),
        multiple: flag('More than one.'),
        acceptInput: flag('Other values, too.'),
        disabled,
      }),
    },
  },
  switch: {
    description: 'On or off.',
    attributes: {
      state,
      ...optional({
        initialValue: dynamic(Type.Boolean(), 'What it is at first.'),
        onValueChange: changed,
        confirm,
        disabled,
      }),
    },
  },
  radio: {
    description: 'One choice of those that share a state.',
    attributes: {
      state,
      value: choiceValue,
      ...optional({
        initialValue: dynamic(
          Type.Union([Type.String(), Type.Number()]),
          'Value of the one that is chosen at first.',
        ),
        onValueChange: changed,
        confirm,
        disabled,
      }),
    },
  },
  checkbox: {
    description: 'Some choices of those that share a state.',
    attributes: {
      state,
      value: choiceValue,
      ...optional({
        initialValue: dynamic(
          Type.Union([Type.Boolean(), Type.Array(Type.Union([Type.String(), Type.Number()]))]),
          'Whether it is chosen at first; or the values of those that are.',
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
        syntax: text('Its language.'),
        lineNumbers: Type.Union([Type.Boolean(), Type.Number()], {
          description: 'Whether they are shown; or the first of them.',
        }),
        state: text('Name of the client state that has the code; with it, it can be edited.', {
          minLength: 1,
        }),
        onContentChange: press('Dispatched when the code changes.'),
        ...buttons,
        header: listOf(DESCENDANTS, 'Above the code.'),
        footer: listOf(DESCENDANTS, 'Below the code.'),
      }),
    },
  },
  webframe: {
    description: 'A page of its own, in a frame.',
    attributes: {
      source: source(webUrl('http or https.'), 'Where it is.'),
      ...optional({
        aspectRatio,
        data: Type.Object(
          {},
          {
            description: 'Sent to the page, again whenever it changes.',
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

/** Name → definition: of each element, and of the values that they have in common. */
export const DEFINITIONS: Readonly<Record<string, TSchema>> = {
  ...Object.fromEntries(Object.entries(ELEMENTS).map(([name, kind]) => [name, elementSchema(name, kind)])),
  ...VALUES,
};

/**
 * The elements that an answer of the service can have, as JSON Schema: after the host has checked
 * and normalised them.
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
