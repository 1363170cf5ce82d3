/** Is it well, and if not, what is wrong? Each number leads to its list. */
import type {
  Activity,
  Delivery,
  Installation,
  Integration,
  Notice,
  Webhook,
} from '../../client/src/generated.ts';
import { Callout } from '../../ui/src/widgets.tsx';
import { ActivityCharts } from './activity-charts.tsx';
import type { Items } from './api.ts';
import { Failure, Shown, useAsked } from './asked.tsx';
import { DELIVERIES, NOTICES } from './listings.tsx';
import { Facts, numberText, State } from './parts.tsx';
import { addressOf } from './place.ts';
import { session } from './session.ts';
import { Table } from './table.tsx';

/** The answer of /readyz. */
interface Readiness {
  readonly status: 'ok' | 'degraded' | 'damaged';
  readonly cells: { readonly count: number };
  readonly database: {
    readonly reachable: boolean;
    readonly writable: boolean;
    readonly integrity: string;
  };
}

const SOME = 100;
/** How often it is read again, while it is looked at. */
const EVERY_MS = 30_000;
const NEWEST = 5;

export function Overview() {
  const isOperator = session.value?.kind !== 'organization';
  const readiness = useAsked<Readiness>('/readyz', EVERY_MS);
  const webhooks = useAsked<Items<Webhook>>(`/v1/webhooks?limit=${SOME}`, EVERY_MS);
  const failed = useAsked<Items<Delivery>>(`/v1/deliveries?state=failed&limit=${SOME}`, EVERY_MS);
  const waiting = useAsked<Items<Delivery>>(`/v1/deliveries?state=pending&limit=${SOME}`, EVERY_MS);
  const pending = useAsked<Items<Installation>>(`/v1/installations?status=pending&limit=${SOME}`, EVERY_MS);
  const isReviewer = session.value?.kind === 'admin';
  const reviews = useAsked<Items<Integration>>(
    isReviewer ? `/v1/integrations?review=waiting&limit=${SOME}` : undefined,
    EVERY_MS,
  );
  const notices = useAsked<Items<Notice>>(isOperator ? `/v1/notices?limit=${NEWEST}` : undefined, EVERY_MS);
  const activity = useAsked<Activity>(isOperator ? '/v1/activity' : undefined, EVERY_MS);
  const counts = [
    {
      asked: webhooks,
      words: ['failing webhook', 'failing webhooks'],
      href: addressOf('webhooks'),
      tone: 'bad',
    },
    {
      asked: failed,
      words: ['failed delivery', 'failed deliveries'],
      href: addressOf('deliveries', { state: 'failed' }),
      tone: 'bad',
    },
    {
      asked: waiting,
      words: ['delivery waiting', 'deliveries waiting'],
      href: addressOf('deliveries', { state: 'pending' }),
      tone: 'info',
    },
    {
      ...{ asked: pending, words: ['pending installation', 'pending installations'], tone: 'warn' },
      href: addressOf('installations', { status: 'pending' }),
    },
    // Where the marketplace is open, none ever waits.
    ...(reviews.value?.items.length
      ? ([
          {
            ...{ asked: reviews, words: ['integration to review', 'integrations to review'], tone: 'warn' },
            href: addressOf('integrations', { review: 'waiting' }),
          },
        ] as const)
      : []),
  ] as const;
  if (readiness.failure !== undefined && readiness.value === undefined) {
    const again = () => {
      for (const asked of [readiness, webhooks, failed, waiting, pending, notices, activity]) asked.again();
    };
    return (
      <section aria-labelledby="title">
        <h1 id="title">Overview</h1>
        <Failure failure={readiness.failure} again={again} />
      </section>
    );
  }
  return (
    <section aria-labelledby="title">
      <header class="head">
        <h1 id="title">Overview</h1>
      </header>
      <Shown asked={readiness} rows={1}>
        {(state) => <Health state={state} failing={webhooks.value?.items.length ?? 0} />}
      </Shown>
      <ul class="counts">
        {counts.map(({ asked, words: [one, many], href, tone }) => (
          <li key={one}>
            <a href={href} class={asked.value?.items.length ? `count ${tone}` : 'count'}>
              <strong>{asked.failure ? '?' : numberOf(asked.value)}</strong>
              <span>{asked.value?.items.length === 1 ? one : many}</span>
            </a>
          </li>
        ))}
      </ul>
      {isOperator && (
        <Shown asked={activity} rows={6}>
          {(day) => (
            <>
              <ActivityCharts activity={day} />
              <Machine readiness={readiness.value} last={day.points.at(-1)} />
            </>
          )}
        </Shown>
      )}
      <h2>Newest failures</h2>
      <Shown asked={failed}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="hint">No delivery has failed for good.</p>
          ) : (
            <Table listing={DELIVERIES} items={items.slice(0, NEWEST)} />
          )
        }
      </Shown>
      {isOperator && (
        <>
          <h2>Newest notices</h2>
          <Shown asked={notices}>
            {({ items }) =>
              items.length === 0 ? <p class="hint">None yet.</p> : <Table listing={NOTICES} items={items} />
            }
          </Shown>
        </>
      )}
    </section>
  );
}

interface MachineProps {
  readonly readiness: Readiness | undefined;
  readonly last: Activity['points'][number] | undefined;
}

const Machine = ({ readiness, last }: MachineProps) => (
  <Facts
    facts={[
      ['Cells', last?.cells],
      ['Memory of the cells', last && `${numberText(last.cellBytes / 2 ** 20)} MiB`],
      [
        'Suspected or in quarantine',
        last && <a href={addressOf('notices', { type: 'integration.quarantined' })}>{last.contained}</a>,
      ],
      [
        'Database',
        readiness && (
          <State
            state={
              readiness.database.reachable && readiness.database.writable
                ? readiness.database.integrity
                : 'away'
            }
          />
        ),
      ],
    ]}
  />
);

/** How many there are, as far as one page says. */
const numberOf = (page: Items<unknown> | undefined): string =>
  page === undefined ? '…' : `${page.items.length}${page.next === undefined ? '' : '+'}`;

interface HealthProps {
  readonly state: Readiness;
  /** Webhooks that fail, as far as one page says. */
  readonly failing: number;
}

/** A service that works is well only where what it delivers arrives. */
function Health({ state: { status, cells, database }, failing }: HealthProps) {
  if (status === 'ok')
    return (
      <Callout tone={failing === 0 ? 'good' : 'warn'} role="status">
        <p>
          <strong>
            {failing === 0
              ? 'All is well.'
              : `${failing} ${failing === 1 ? 'webhook is' : 'webhooks are'} failing.`}
          </strong>{' '}
          {cells.count} {cells.count === 1 ? 'cell answers' : 'cells answer'} calls, and the database works.
        </p>
      </Callout>
    );
  const wrong = [
    !database.reachable && 'The database cannot be reached.',
    !database.writable && 'The database cannot be written to.',
    database.integrity === 'damaged' && 'The database is damaged: see the operator’s log.',
  ].filter(Boolean);
  return (
    <Callout tone="bad" role="alert">
      <p>
        <strong>The service is {status}.</strong> {wrong.join(' ')}
      </p>
    </Callout>
  );
}
