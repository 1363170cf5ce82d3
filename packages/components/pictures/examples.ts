/**
 * One example of each element of ContentKit, for its picture and its code in `docs/contentkit.md`.
 * Plain data, as an integration's JSX makes it.
 */

export interface Example {
  readonly type: string;
  readonly [attribute: string]: unknown;
}

const press = { action: 'press' };
const text = (...children: unknown[]): Example => ({ type: 'text', children });
const button = (label: string, more: object = {}): Example => ({
  type: 'button',
  label,
  onPress: press,
  ...more,
});
const input = (label: string, element: Example, more: object = {}): Example => ({
  type: 'input',
  label,
  element,
  ...more,
});

const OPTIONS = [
  { id: 'daily', label: 'Every day' },
  { id: 'weekly', label: 'Every week' },
];

const ROOTS: ReadonlySet<string> = new Set(['block', 'modal', 'configuration']);

/** A root is drawn as it is, a `stepper` in a `configuration`, all others in a `block`. */
export function drawingOf(example: Example): Example {
  if (ROOTS.has(example.type)) return example;
  return { type: example.type === 'stepper' ? 'configuration' : 'block', children: [example] };
}

/** Element → its example. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  block: {
    type: 'block',
    controls: [{ label: 'Refresh', icon: 'settings', onPress: press }],
    children: [text('Three builds today.')],
  },
  modal: {
    type: 'modal',
    title: 'Set up the poll',
    subtitle: 'Of this page',
    submit: button('Save', { style: 'primary' }),
    children: [input('Question', { type: 'textinput', state: 'question', initialValue: 'Lunch?' })],
  },
  configuration: {
    type: 'configuration',
    children: [input('Channel', { type: 'textinput', state: 'channel', placeholder: '#news' })],
  },
  stepper: {
    type: 'stepper',
    activeStep: 'where',
    onStepChange: { action: 'go', step: { $state: 'step' } },
    onComplete: { action: 'done' },
    children: [
      { type: 'step', id: 'where', title: 'Where', children: [text('Choose a channel.')] },
      { type: 'step', id: 'when', title: 'When', children: [text('Choose a time.')] },
    ],
  },
  vstack: { type: 'vstack', children: [text('Above'), text('Below')] },
  hstack: { type: 'hstack', align: 'center', children: [button('Yes', { style: 'primary' }), button('No')] },
  box: {
    type: 'hstack',
    children: [{ type: 'box', grow: 1, children: [text('Takes the free space')] }, button('Edit')],
  },
  divider: { type: 'vstack', children: [text('Above'), { type: 'divider', size: 'medium' }, text('Below')] },
  text: text(
    'Plain, ',
    { type: 'text', style: 'bold', children: ['bold'] },
    ', ',
    { type: 'text', style: 'italic', children: ['italic'] },
    ', ',
    { type: 'text', style: 'code', children: ['code'] },
    ' and ',
    { type: 'text', style: 'strikethrough', children: ['struck'] },
  ),
  link: { type: 'link', target: { url: 'https://example.com/' }, children: ['The whole report'] },
  hint: { type: 'hint', children: ['Changed two minutes ago.'] },
  markdown: {
    type: 'markdown',
    content: '### Release 2\n\nTwo *small* changes:\n\n- faster start\n- `annex dev`',
  },
  card: {
    type: 'card',
    title: 'Build 42',
    hint: 'Two minutes ago',
    icon: 'check-circle',
    onPress: { action: '@ui.url.open', url: 'https://example.com/42' },
    buttons: [button('Run again')],
    children: [text('All tests passed.')],
  },
  button: button('Delete', {
    style: 'danger',
    icon: 'delete',
    confirm: { title: 'Delete it?', text: 'This cannot be undone.', confirm: 'Delete', style: 'danger' },
  }),
  input: input(
    'Name',
    { type: 'textinput', state: 'name', initialValue: 'Ada' },
    { hint: 'As others see it.', error: 'The name is taken.' },
  ),
  textinput: input('Comment', { type: 'textinput', state: 'comment', multiline: true, placeholder: 'Why?' }),
  select: input('How often', { type: 'select', state: 'rhythm', initialValue: 'daily', options: OPTIONS }),
  switch: input('Not on weekends', { type: 'switch', state: 'quiet', initialValue: true }),
  radio: {
    type: 'hstack',
    children: [
      input('Small', { type: 'radio', state: 'size', value: 'small', initialValue: 'small' }),
      input('Large', { type: 'radio', state: 'size', value: 'large' }),
    ],
  },
  checkbox: {
    type: 'hstack',
    children: [
      input('Monday', { type: 'checkbox', state: 'days', value: 'monday', initialValue: true }),
      input('Friday', { type: 'checkbox', state: 'days', value: 'friday' }),
    ],
  },
  codeblock: {
    type: 'codeblock',
    syntax: 'javascript',
    lineNumbers: true,
    content: 'const answer = 6 * 7;\nconsole.log(answer);',
    buttons: [button('Copy')],
  },
};
