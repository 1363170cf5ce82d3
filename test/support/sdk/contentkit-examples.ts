/**
 * An example of each attribute of ContentKit, as an author writes it: for the doc comments of the
 * SDK and its reference page. A test compiles all of them.
 */
import { DEFINITIONS, ELEMENTS } from '../../../src/model/contentkit/contentkit.ts';

type Examples = Readonly<Record<string, string>>;

const SAVE = `onPress={{ action: 'save' }}`;
const BUTTONS = `buttons={[<button label="Edit" onPress={{ action: 'edit' }} />]}`;
const CONFIRM = `confirm={{ title: 'Delete it?', text: 'This cannot be undone.', confirm: 'Delete' }}`;
const CHANGED = `onValueChange={{ action: 'changed' }}`;
const DISABLED = `disabled={element.dynamicState('locked')}`;

/** Tag → attribute → its text. */
const ATTRIBUTES: Readonly<Record<string, Examples>> = {
  block: { controls: `controls={[{ label: 'Refresh', icon: 'settings', onPress: { action: 'refresh' } }]}` },
  modal: {
    title: `title="Settings"`,
    subtitle: `subtitle="Of this page"`,
    size: `size="xlarge"`,
    returnValue: `returnValue={{ saved: true }}`,
    submit: `submit={<button label="Save" onPress={{ action: 'save' }} />}`,
  },
  configuration: {},
  stepper: {
    activeStep: `activeStep="account"`,
    onStepChange: `onStepChange={{ action: 'step' }}`,
    onComplete: `onComplete={{ action: 'done' }}`,
  },
  step: {
    id: `id="account"`,
    title: `title="Account"`,
    next: `next={<button label="Next" onPress={{ action: 'next' }} />}`,
  },
  vstack: { align: `align="center"` },
  hstack: { align: `align="end"` },
  box: { grow: 'grow={1}' },
  divider: { size: `size="large"` },
  text: { style: `style="bold"` },
  link: { target: `target={{ url: 'https://example.com' }}` },
  hint: {},
  markdown: { content: `content="Some **bold** text"` },
  image: {
    source: `source={{ url: 'https://example.com/logo.png' }}`,
    aspectRatio: 'aspectRatio={16 / 9}',
  },
  card: {
    title: `title="Build 42"`,
    hint: `hint="Two minutes ago"`,
    icon: `icon="check"`,
    onPress: `onPress={{ action: '@ui.url.open', url: 'https://example.com/42' }}`,
    buttons: BUTTONS,
  },
  button: {
    onPress: SAVE,
    label: `label="Save"`,
    style: `style="primary"`,
    icon: `icon="check"`,
    trailingIcon: `trailingIcon="link-external"`,
    tooltip: `tooltip="Saves all fields"`,
    confirm: CONFIRM,
    disabled: DISABLED,
  },
  input: {
    label: `label="Name"`,
    element: `element={<textinput state="name" />}`,
    hint: `hint="As your colleagues see it"`,
    error: `error="The name is taken."`,
  },
  textinput: {
    state: `state="name"`,
    initialValue: `initialValue="Ada"`,
    placeholder: `placeholder="Your name"`,
    multiline: 'multiline',
    inputType: `inputType="email"`,
    disabled: DISABLED,
  },
  select: {
    state: `state="color"`,
    options: `options={[{ id: 'red', label: 'Red' }, { id: 'blue', label: 'Blue' }]}`,
    initialValue: `initialValue="red"`,
    onValueChange: CHANGED,
    placeholder: `placeholder="A color"`,
    multiple: 'multiple',
    acceptInput: 'acceptInput',
    disabled: DISABLED,
  },
  switch: {
    state: `state="daily"`,
    initialValue: 'initialValue={true}',
    onValueChange: CHANGED,
    confirm: CONFIRM,
    disabled: DISABLED,
  },
  radio: {
    state: `state="size"`,
    value: `value="large"`,
    initialValue: `initialValue="large"`,
    onValueChange: CHANGED,
    confirm: CONFIRM,
    disabled: DISABLED,
  },
  checkbox: {
    state: `state="days"`,
    value: `value="monday"`,
    initialValue: `initialValue={['monday', 'friday']}`,
    onValueChange: CHANGED,
    confirm: CONFIRM,
    disabled: DISABLED,
  },
  codeblock: {
    content: `content="const a = 1;"`,
    syntax: `syntax="typescript"`,
    lineNumbers: 'lineNumbers={10}',
    state: `state="code"`,
    onContentChange: `onContentChange={{ action: 'typed' }}`,
    buttons: BUTTONS,
    header: 'header={<text>index.ts</text>}',
    footer: 'footer={<hint>Read only</hint>}',
  },
  webframe: {
    source: `source={{ url: 'https://example.com/chart' }}`,
    aspectRatio: 'aspectRatio={2}',
    data: `data={{ range: element.dynamicState('range') }}`,
    buttons: BUTTONS,
  },
};

/** Tag → children, for elements that have some. */
const CHILDREN: Examples = {
  block: '<text>Hello</text>',
  modal: '<text>Hello</text>',
  configuration: '<input label="Team" element={<textinput state="team" />} />',
  stepper: '<step id="account"><text>Hello</text></step>',
  step: '<text>Hello</text>',
  vstack: '<text>Above</text><text>Below</text>',
  hstack: '<text>Left</text><text>Right</text>',
  box: '<text>Hello</text>',
  text: 'Hello',
  link: 'this page',
  hint: 'At most ten.',
  card: '<text>All tests passed.</text>',
};

/** Name of a shared value → an example of it. */
export const VALUE_EXAMPLES: Examples = {
  icon: `<button icon="check" onPress={{ action: 'save' }} />`,
  press: `<button onPress={{ action: 'rename', id: 5 }} />`,
  confirm: `<button ${CONFIRM} onPress={{ action: 'delete' }} />`,
  control: `<block ${ATTRIBUTES['block']?.['controls']}><text>Hello</text></block>`,
  option: `<select state="color" options={[{ id: 'red', label: 'Red', icon: 'star' }]} />`,
};

/** @throws an Error where the attribute has no example */
export function attributeExample(tag: string, attribute: string): string {
  const example = ATTRIBUTES[tag]?.[attribute];
  if (example === undefined)
    throw new Error(`<${tag}> needs an example of "${attribute}" (contentkit-examples.ts).`);
  return example;
}

/** Example of an element, with its required attributes, or with all. */
export function elementExample(tag: string, attributes: 'required' | 'all' = 'required'): string {
  const { required = [] } = (DEFINITIONS[tag] ?? {}) as { required?: readonly string[] };
  const names = Object.keys(ELEMENTS[tag]?.attributes ?? {});
  const shown = attributes === 'all' ? names : names.filter((name) => required.includes(name));
  const text = [tag, ...shown.map((name) => attributeExample(tag, name))].join(' ');
  if (ELEMENTS[tag]?.children === undefined) return `<${text} />`;
  const children = CHILDREN[tag];
  if (children === undefined) throw new Error(`<${tag}> needs example children (contentkit-examples.ts).`);
  return `<${text}>${children}</${tag}>`;
}
