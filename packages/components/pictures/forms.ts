/** States of `<annex-configuration>` and `<annex-webhooks>` for their pictures, as the API answers. Plain data. */

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

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

const TYPES = { 'invoice.paid': 'Invoice paid', 'invoice.voided': 'Invoice voided' };
const WEBHOOK_FORM = {
  level: 'organization',
  status: 'active',
  properties: [
    {
      ...{ name: 'webhook_url', type: 'string', title: 'Webhook URL', required: true },
      ...{ description: 'Where events are sent.', value: 'https://hooks.example.com/invoices' },
    },
    {
      ...{ name: 'event_types', type: 'string', title: 'Event types', required: true, multiple: true },
      ...{ description: 'Which events are sent.', enum: Object.keys(TYPES), titles: TYPES },
      value: Object.keys(TYPES),
    },
  ],
};
const DELIVERIES = [
  { id: 'd3', type: 'invoice.paid', state: 'failed', attempts: 2, outcome: 'answered 500', minutes: 1 },
  { id: 'd2', type: 'invoice.voided', state: 'delivered', attempts: 1, outcome: 'answered 200', minutes: 32 },
  {
    id: 'd1',
    type: 'invoice.paid',
    state: 'delivered',
    attempts: 1,
    outcome: 'answered 200',
    minutes: 1_500,
  },
].map(({ minutes, ...one }) => ({ ...one, kind: 'webhook', createdAt: minutesAgo(minutes) }));
const ATTEMPTS = [1, 2].map((number) => ({
  ...{
    number,
    at: minutesAgo(3 - number),
    durationMs: 34,
    result: 'failed',
    outcome: 'answered 500',
    status: 500,
  },
  ...{ destination: 'https://hooks.example.com/invoices', response: '{"error":"The database is full."}' },
}));

/** Name of the picture → path → the answer that it shows. */
export const WEBHOOKS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  webhooks: {
    '/configuration': WEBHOOK_FORM,
    '/webhook': {
      ...{ state: 'failing', held: 0, failing: { since: minutesAgo(1), outcome: 'answered 500' } },
      types: Object.entries(TYPES).map(([type, title]) => ({ type, title })),
    },
    '/deliveries': { items: DELIVERIES },
    '/deliveries/d3': {
      ...{ ...DELIVERIES[0], history: ATTEMPTS },
      payload: '{"type":"invoice.paid","data":{"invoice":"in_42","total":1999}}',
    },
  },
  'webhooks-empty': {
    '/configuration': {
      ...{ ...WEBHOOK_FORM, status: 'pending', problems: ['webhook_url', 'event_types'].map(missing) },
      properties: WEBHOOK_FORM.properties.map(({ value, ...field }) => field),
    },
    '/webhook': { state: 'healthy', held: 0, types: [] },
    '/deliveries': { items: [] },
  },
};
