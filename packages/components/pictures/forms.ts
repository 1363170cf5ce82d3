/** States of `<annex-configuration>` for its pictures, as the API answers. Plain data. */

const FIELDS = [
  {
    ...{ name: 'channel', type: 'string', title: 'Channel', required: true, completion: true },
    description: 'Where news of your spaces is posted.',
  },
  { name: 'greeting', type: 'string', title: 'Greeting', required: false },
  {
    ...{ name: 'tone', type: 'string', title: 'Tone', required: true, enum: ['formal', 'friendly'] },
    titles: { formal: 'Formal', friendly: 'Friendly' },
  },
  {
    ...{ name: 'events', type: 'string', title: 'Events', required: false, multiple: true },
    enum: ['page.made', 'page.changed', 'page.gone'],
    titles: { 'page.made': 'Page created', 'page.changed': 'Page changed', 'page.gone': 'Page deleted' },
  },
  { name: 'days', type: 'number', title: 'Days between reminders', required: false },
  {
    ...{ name: 'loud', type: 'boolean', title: 'Mention everyone', required: false },
    description: 'Everyone in the channel is notified of each message.',
  },
  {
    ...{ name: 'oauth_credentials', type: 'button', title: 'Chat account', required: true, sealed: true },
    ...{ isSet: false, button_text: 'Connect Chat', callback_url: 'https://annex.example/key/oauth' },
  },
] as const;

type Values = Readonly<Record<string, unknown>>;
const fields = (values: Values, account: object = {}) =>
  FIELDS.map((field) => ({
    ...field,
    ...(field.name in values && { value: values[field.name] }),
    ...(field.name === 'oauth_credentials' && account),
  }));

const FILLED = {
  ...{ channel: 'C7', greeting: 'Good morning, team', tone: 'friendly', days: 3, loud: true },
  events: ['page.made', 'page.changed'],
};
const missing = (property: string) => ({ property, message: `"${property}" must be set.` });

/** Name of the picture → the form that it shows. */
export const FORMS: Readonly<Record<string, object>> = {
  'form-empty': {
    ...{ level: 'organization', status: 'pending', properties: fields({}) },
    problems: ['channel', 'tone', 'oauth_credentials'].map(missing),
  },
  'form-filled': {
    ...{ level: 'organization', status: 'active' },
    properties: fields(FILLED, { isSet: true, account: 'ada@example.com' }),
  },
  'form-lost': {
    ...{ level: 'organization', status: 'active' },
    properties: fields(FILLED, { isSet: true, isLost: true }),
  },
};

export const OPTIONS = [
  { label: '#general', value: 'C1' },
  { label: '#news', value: 'C7' },
];
