/**
 * What the code does while it is developed: follows its log and its deliveries, and posts sample
 * events as the host product would.
 */
import type { Annex, DeliveryChange, LogLine } from '../../../packages/client/src/index.ts';
import { SAMPLES } from '../../cli/traffic/sample-event.ts';
import type { Manifest } from '../../model/manifest/manifest.ts';
import { missingScopes } from '../../model/manifest/scope.ts';
import type { DevEvent } from './dev-event.ts';
import { type Live, SAMPLE_SITE, SAMPLE_SPACE } from './dev-session.ts';

const PLACES = { space: { spaceId: SAMPLE_SPACE }, site: { siteId: SAMPLE_SITE } } as const;

export interface Following {
  readonly annex: Annex;
  /** @returns when the reader of the events can take more */
  readonly emit: (event: DevEvent) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Emits log lines and deliveries of an installation until the signal, across reconnects. */
export async function followTraffic(
  { annex, emit, signal }: Following,
  { installation: { id } }: Live,
): Promise<void> {
  const options = { signal, reconnects: Number.POSITIVE_INFINITY };
  const query = { installation: id, follow: true };
  const lines = async () => {
    for await (const line of annex.follow<LogLine>('/v1/logs', { query }, options))
      await emit({ event: 'log', line });
  };
  const changes = async () => {
    for await (const change of annex.follow<DeliveryChange>('/v1/deliveries', { query }, options))
      await emit({ event: 'delivery', change });
  };
  await Promise.all([lines(), changes()]);
}

/** Types of posted events that the scopes of a manifest let it receive. */
export const eventsOf = ({ scopes }: Manifest): readonly string[] =>
  Object.keys(SAMPLES).filter((type) => missingScopes(type, scopes) === undefined);

/** A sample of an event for one installation, as the host product would post it. */
export function sampleFor(type: string, { installation }: Live): Readonly<Record<string, unknown>> {
  const sample = SAMPLES[type];
  const { organization, id } = installation;
  return {
    ...{ type, organization, installationId: id },
    ...(sample && PLACES[sample.level]),
    ...sample?.members,
  };
}

/** Posts an event. */
export async function postEvent(annex: Annex, event: Readonly<Record<string, unknown>>) {
  return annex.request<{ eventId: string; deliveries: number }>('POST', '/v1/events', { body: event });
}
