/**
 * What the routes of the API are handed: the parts of the service that they may use, and no other.
 */

import type { LimitName, Limits } from '../../../limits.ts';
import type { LevelNames } from '../../../model/level-names.ts';
import type { SettingInForce } from '../../../model/setting-in-force.ts';
import type { CallLog } from '../../calls/call-log.ts';
import type { Dispatch } from '../../calls/dispatch.ts';
import type { PublishedScripts } from '../../calls/published-scripts.ts';
import type { DeliveryIntake } from '../../delivery/open-delivery.ts';
import type { Egress } from '../../egress/egress.ts';
import type { Publisher } from '../../publish/publish.ts';
import type { UploadBudget } from '../../publish/upload-budget.ts';
import type { Store } from '../../store/store.ts';
import type { RuntimeTokens } from '../../targets/runtime-tokens.ts';
import type { Origins, TargetResolver } from '../../targets/target-resolver.ts';
import type { UiTokens } from '../../targets/ui-tokens.ts';
import type { ChoiceFetch } from './drawing/choice-fetch.ts';
import type { Renderer } from './drawing/renderer.ts';
import type { Unfurling } from './drawing/unfurling.ts';
import type { Followers } from './following/followers.ts';
import type { Rates } from './rates.ts';

type StoreDeps = Pick<
  Store,
  | 'registry'
  | 'secrets'
  | 'installations'
  | 'installLinks'
  | 'tokens'
  | 'organizations'
  | 'logs'
  | 'lifecycleEvents'
  | 'eventList'
  | 'eventTypes'
  | 'audit'
  | 'activity'
  | 'credentialLeases'
  | 'usedOAuthStates'
  | 'installedBlocks'
  | 'deliveryList'
  | 'deliveryFeed'
  | 'webhookSecrets'
  | 'webhookHealths'
  | 'productNotices'
  | 'lostConnections'
  | 'statementKeys'
  | 'storage'
  | 'schedules'
>;

/** The parts that the service has. */
export interface ControlDeps extends StoreDeps, DeliveryIntake {
  readonly targets: Pick<TargetResolver, 'named' | 'ofIntegration'>;
  readonly runtimeTokens: Pick<RuntimeTokens, 'read' | 'grant'>;
  readonly uiTokens: Pick<UiTokens, 'create'>;
  readonly followers: Followers;
  readonly origins: Origins;
  readonly publisher: Pick<Publisher, 'publish' | 'check'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly scripts: Pick<PublishedScripts, 'script'>;
  readonly egress: Pick<Egress, 'fetch'>;
  /** Writes lines to the log of an installation. */
  readonly observer: Pick<CallLog, 'log' | 'productFailed'>;
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** The product's words for spaces and sites. */
  readonly levelNames: LevelNames;
  /** Beginning of the names of a webhook's headers. */
  readonly webhookHeaderPrefix: string;
  /** Every setting, as it is in force. */
  readonly settings: readonly SettingInForce[];
  /** Whether the console is served. */
  readonly console: boolean;
  /** Origins that may frame the portal; absent where it is not served. */
  readonly portal: { readonly frames: readonly string[] } | undefined;
  /** Whether the types of events are those of a file (`--event-types`), and fixed. */
  readonly eventTypesFixed?: boolean;
  /** Monotonic, in milliseconds. */
  readonly monotonicNow: () => number;
  /** Called with each limit that a request met. */
  limitMet(limit: LimitName): void;
}

/** The same, with what the routes alone have. */
export interface Control extends ControlDeps {
  readonly rates: Rates;
  readonly uploads: UploadBudget;
  readonly renderer: Renderer;
  readonly choices: ChoiceFetch;
  readonly unfurling: Unfurling;
}
