/** The lists of the console: each is declared once, and its page and its links follow. */
import type {
  AuditEntry,
  Delivery,
  EventType,
  Installation,
  Integration,
  Notice,
  ProductEvent,
  Token,
  Webhook,
} from '../../client/src/generated.ts';
import { at } from './api.ts';
import type { Listing } from './list-view.tsx';
import { Id, State, Time } from './parts.tsx';
import { addressOf } from './place.ts';
import type { Column } from './table.tsx';

const time = <Row,>(head: string, of: (row: Row) => string | undefined): Column<Row> => ({
  head,
  cell: (row) => <Time at={of(row) ?? ''} />,
});

/** Filters that several lists have. */
const BY = {
  organization: { name: 'organization', label: 'Organization' },
  integration: { name: 'integration', label: 'Integration' },
  installation: { name: 'installation', label: 'Installation' },
  type: { name: 'type', label: 'Type' },
};

const BETWEEN = [
  { name: 'from', label: 'From', isTime: true },
  { name: 'to', label: 'To', isTime: true },
] as const;

const ORGANIZATION = {
  head: 'Organization',
  cell: ({ organization }: { readonly organization?: string | undefined }) => organization,
};

/** Where something is, below its organization. */
const levelOf = ({
  space,
  site,
}: {
  readonly space?: string | undefined;
  readonly site?: string | undefined;
}): string => space ?? site ?? 'organization';

/** A type of the API, such as `webhook.failing`, as words. */
const inWords = (type: string): string =>
  type.charAt(0).toUpperCase() + type.slice(1).replaceAll(/[._-]/g, ' ');

export const integrationAddress = (name: string): string => addressOf(`integrations/${at(name)}`);
export const installationAddress = (integration: string, id: string): string =>
  addressOf(`installations/${at(integration, id)}`);
export const deliveryAddress = (id: string): string => addressOf(`deliveries/${at(id)}`);
export const eventAddress = (id: string): string => addressOf(`events/${at(id)}`);

export const INTEGRATIONS: Listing<Integration> = {
  path: 'integrations',
  title: 'Integrations',
  api: '/v1/integrations',
  filters: [{ name: 'review', label: 'Review', choices: ['waiting'], isForLinks: true }],
  idOf: ({ name }) => name,
  link: ({ name }) => integrationAddress(name),
  columns: [
    { head: 'Title', cell: ({ title }) => title },
    { head: 'Name', cell: ({ name }) => <code>{name}</code> },
    ORGANIZATION,
    { head: 'Visibility', cell: ({ visibility }) => visibility },
    {
      ...{ head: 'Version', isNumber: true },
      cell: ({ version, waitingVersion }) =>
        waitingVersion === undefined
          ? version
          : `${version} (${waitingVersion === version ? 'waits' : `${waitingVersion} waits`})`,
    },
    time('Published', ({ updatedAt }: Integration) => updatedAt),
  ],
  empty: 'Code that answers requests and events. “annex publish” of a folder makes one.',
};

export const INSTALLATIONS: Listing<Installation> = {
  path: 'installations',
  title: 'Installations',
  api: '/v1/installations',
  filters: [
    BY.organization,
    BY.integration,
    { name: 'status', label: 'Status', choices: ['active', 'pending', 'paused'] },
    { name: 'externalId', label: 'External id' },
  ],
  idOf: ({ id }) => id,
  link: ({ integration, id }) => installationAddress(integration, id),
  columns: [
    { head: 'Integration', cell: ({ integration }) => integration },
    ORGANIZATION,
    { head: 'Status', cell: ({ status }) => <State state={status} /> },
    { head: 'Id', cell: ({ id }) => <Id id={id} /> },
    time('Changed', ({ updatedAt }: Installation) => updatedAt),
  ],
  empty: 'An integration at work for one organization. “annex install” makes one.',
};

export const EVENTS: Listing<ProductEvent> = {
  path: 'events',
  title: 'Events',
  api: '/v1/events',
  filters: [BY.organization, BY.type, BY.installation, ...BETWEEN],
  idOf: ({ id, organization }) => `${organization} ${id}`,
  link: ({ id }) => eventAddress(id),
  columns: [
    { head: 'Type', cell: ({ type }) => type },
    ORGANIZATION,
    { head: 'Where', cell: levelOf },
    { head: 'Deliveries', isNumber: true, cell: ({ deliveries }) => deliveries },
    { head: 'Id', cell: ({ id }) => <Id id={id} /> },
    time('Posted', ({ createdAt }: ProductEvent) => createdAt),
  ],
  empty: 'What the product has told Annex. “POST /v1/events” or “annex trigger” posts one.',
};

export const DELIVERIES: Listing<Delivery> = {
  path: 'deliveries',
  title: 'Deliveries',
  api: '/v1/deliveries',
  rowOf: ({ delivery }: { readonly delivery: Delivery }) => delivery,
  filters: [
    BY.organization,
    BY.integration,
    BY.installation,
    BY.type,
    {
      name: 'state',
      label: 'State',
      choices: ['pending', 'delivered', 'unhandled', 'failed', 'canceled', 'held'],
    },
    ...BETWEEN,
  ],
  idOf: ({ id }) => id,
  link: ({ id }) => deliveryAddress(id),
  columns: [
    { head: 'Type', cell: ({ type }) => type },
    { head: 'State', cell: ({ state }) => <State state={state} /> },
    { head: 'Outcome', cell: ({ outcome }) => outcome },
    { head: 'Integration', cell: ({ integration }) => integration },
    ORGANIZATION,
    { head: 'To', cell: ({ kind }) => kind },
    { head: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts },
    time('Made', ({ createdAt }: Delivery) => createdAt),
  ],
  empty:
    'An event on its way to code or to a webhook. Each event makes one for each installation that takes it.',
};

export const WEBHOOKS: Listing<Webhook> = {
  path: 'webhooks',
  title: 'Failing webhooks',
  api: '/v1/webhooks',
  filters: [
    BY.organization,
    BY.integration,
    { name: 'state', label: 'State', choices: ['failing', 'disabled'] },
  ],
  idOf: (row) => `${row.installation} ${levelOf(row)}`,
  link: ({ integration, installation }) => installationAddress(integration, installation),
  columns: [
    { head: 'Integration', cell: ({ integration }) => integration },
    ORGANIZATION,
    { head: 'Where', cell: levelOf },
    { head: 'State', cell: ({ state }) => <State state={state} /> },
    { head: 'Outcome', cell: ({ failing, disabled }) => failing?.outcome ?? disabled?.reason },
    time('Since', ({ failing, since }: Webhook) => failing?.since ?? since),
  ],
  empty: 'Every webhook accepts what it is sent.',
};

export const NOTICES: Listing<Notice> = {
  path: 'notices',
  title: 'Notices',
  api: '/v1/notices',
  filters: [
    {
      name: 'type',
      label: 'Type',
      choices: [
        ...['webhook.failing', 'webhook.recovered', 'webhook.disabled', 'connection.lost'],
        ...['connection.restored', 'installation.pending', 'integration.published'],
        ...['integration.submitted', 'integration.approved', 'integration.refused'],
        'integration.quarantined',
      ],
    },
  ],
  idOf: ({ id }) => id,
  columns: [
    { head: 'Notice', cell: ({ type }) => inWords(type) },
    {
      head: 'Integration',
      cell: ({ integration, installation }) => (
        <a
          href={
            installation === undefined
              ? integrationAddress(integration)
              : installationAddress(integration, installation)
          }
        >
          {integration}
        </a>
      ),
    },
    ORGANIZATION,
    {
      head: 'Told',
      cell: ({ delivery }) => (delivery ? <State state={delivery.state} /> : 'no receiver'),
    },
    time('At', ({ createdAt }: Notice) => createdAt),
  ],
  empty:
    'What the product is told: webhooks that fail, connections that are lost, versions that are published.',
};

export const EVENT_TYPES: Listing<EventType> = {
  path: 'event-types',
  title: 'Event types',
  api: '/v1/event-types',
  isWhole: true,
  filters: [],
  idOf: ({ type }) => type,
  columns: [
    { head: 'Title', cell: ({ title }) => title },
    { head: 'Type', cell: ({ type }) => <code>{type}</code> },
    { head: 'Level', cell: ({ level }) => level },
    { head: 'Webhooks', cell: ({ webhook }) => (webhook ? 'may select it' : 'no') },
    time('Changed', ({ updatedAt }: EventType) => updatedAt),
  ],
  empty: 'Types of the product’s own events. “annex event-types push” declares them.',
};

export const TOKENS: Listing<Token> = {
  path: 'tokens',
  title: 'Tokens',
  api: '/v1/tokens',
  filters: [],
  idOf: ({ id }) => id,
  columns: [
    { head: 'Name', cell: ({ name }) => name },
    { head: 'Kind', cell: ({ kind }) => kind },
    ORGANIZATION,
    {
      head: 'May',
      cell: ({ rights }) =>
        rights === undefined ? 'all that its kind may' : rights.join(', ') || 'sign in once',
    },
    { head: 'Id', cell: ({ id }) => <Id id={id} /> },
    time('Last used', ({ lastUsedAt }: Token) => lastUsedAt),
    time('Ends', ({ expiresAt }: Token) => expiresAt),
    time('Made', ({ createdAt }: Token) => createdAt),
  ],
  empty: 'What may use the API. “annex token create” makes one.',
};

/** Actions of the audit, as what was done. */
const DONE: Readonly<Record<string, string>> = {
  ...{ create: 'made', edit: 'edited', delete: 'deleted', publish: 'published', activate: 'activated' },
  ...{ approve: 'approved', refuse: 'refused' },
  ...{
    pause: 'paused',
    resume: 'resumed',
    revoke: 'revoked',
    recover: 'recovered',
    redeliver: 'delivered again',
  },
  ...{ replay: 'delivered again by filter', cancel: 'canceled', disable: 'disabled', enable: 'enabled' },
  ...{
    declare: 'declared',
    change: 'changed',
    reveal: 'shown',
    rotate: 'replaced',
    test: 'tested',
    run: 'run',
  },
  ...{ limits: 'limits changed', secrets: 'secrets changed', headers: 'headers changed' },
};

function actionInWords(action: string): string {
  const [what = '', how = ''] = action.split('.');
  const noun = what === 'webhook' && ['reveal', 'rotate'].includes(how) ? 'webhook secret' : what;
  return inWords(`${noun} ${DONE[how] ?? how}`);
}

/** What was changed, by name, and how many. */
const detailsInWords = (details: Readonly<Record<string, unknown>>): string =>
  Object.entries(details)
    .map(
      ([name, value]) =>
        `${inWords(name)}: ${Array.isArray(value) ? value.join(', ') : typeof value === 'object' ? JSON.stringify(value) : value}`,
    )
    .join('; ');

export const AUDIT: Listing<AuditEntry> = {
  path: 'audit',
  title: 'Audit',
  api: '/v1/audit',
  filters: [BY.organization, BY.integration, BY.installation, { name: 'action', label: 'Action' }],
  idOf: ({ id }) => id,
  columns: [
    { head: 'Action', cell: ({ action }) => <span title={action}>{actionInWords(action)}</span> },
    {
      head: 'Details',
      cell: ({ details }) => <span title={detailsInWords(details)}>{detailsInWords(details)}</span>,
    },
    { head: 'By', cell: ({ actor }) => (actor.token ? <Id id={actor.token} /> : actor.kind) },
    ORGANIZATION,
    { head: 'Integration', cell: ({ integration }) => integration },
    { head: 'Address', cell: ({ address }) => address },
    time('At', ({ at }: AuditEntry) => at),
  ],
  empty: 'Every change by a person or a token.',
};
