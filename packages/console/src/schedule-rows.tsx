/** The schedules of an integration or an installation: when they run, how the last run ended. */
import type { Schedules } from '../../client/src/generated.ts';
import { at } from './api.ts';
import { Shown, useAsked } from './asked.tsx';
import { Action, order } from './detail.tsx';
import { deliveryAddress } from './listings.tsx';
import { State, Time } from './parts.tsx';

/** @param path of what has them, in the API */
export function ScheduleRows({ path }: { readonly path: string }) {
  const asked = useAsked<Schedules>(`${path}/schedules`);
  return (
    <Shown asked={asked}>
      {({ items }) =>
        items.length === 0 ? (
          <p class="hint">The manifest declares no schedule here.</p>
        ) : (
          <ul class="places">
            {items.map(({ id, cron, timezone, nextRunAt, lastRun, running }) => (
              <li key={id}>
                <strong>{id}</strong>
                <code>{cron}</code>
                <span class="hint">{timezone}</span>
                {running && <State state="running" />}
                {nextRunAt !== undefined && (
                  <span>
                    next <Time at={nextRunAt} />
                  </span>
                )}
                {lastRun !== undefined && (
                  <a href={deliveryAddress(lastRun.delivery)}>
                    last <State state={lastRun.state} /> <Time at={lastRun.startedAt} />
                  </a>
                )}
                <Action words="Run now" act={order(`${path}/schedules/${at(id)}/run`)} done={asked.again} />
              </li>
            ))}
          </ul>
        )
      }
    </Shown>
  );
}
