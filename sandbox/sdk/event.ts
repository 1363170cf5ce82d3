/**
 * The runtime events and their shapes (SPEC "Runtime events", REFERENCE D4). Types only.
 *
 * The platform may send members that are not listed here; they reach the handler untouched.
 */
import type { InstallationStatus } from './environment.ts';
import type { AccountConfiguration, SiteConfiguration, SpaceConfiguration } from './manifest-types.ts';

interface EventBase<Type extends string> {
  /** The same for every delivery of one event: deduplicate by it. */
  readonly eventId: string;
  readonly type: Type;
  readonly installationId?: string;
  /** Where the target of the event is a space. */
  readonly spaceId?: string;
  /** Where the target of the event is a site. */
  readonly siteId?: string;
}

/** The platform user behind a call, where there is one. */
export interface Auth {
  readonly userId: string;
}

/** Who viewed a page. */
export interface Visitor {
  readonly anonymousId: string;
  readonly userAgent: string;
  readonly ip: string;
  readonly cookies: Readonly<Record<string, string>>;
  readonly language?: string;
}

/** Raw HTTP traffic of the public endpoint; becomes the `Request` of the `fetch` handler. */
export interface FetchEvent extends EventBase<'fetch'> {
  readonly request: {
    /** Upper case. */
    readonly method: string;
    /** Absolute public URL. */
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
  };
  readonly auth?: Auth;
}

/** What an interface element dispatches when it is used. */
export interface Action {
  readonly action: string;
  readonly [parameter: string]: unknown;
}

/** Where a component is shown. */
export type RenderContext = Readonly<Record<string, unknown>>;

/** A component was rendered. */
export interface UIRenderedEvent extends EventBase<'ui_render'> {
  readonly componentId: string;
  readonly props: Readonly<Record<string, unknown>>;
  /** Absent at the first rendering. */
  readonly state?: Readonly<Record<string, unknown>>;
  readonly context: RenderContext;
  readonly auth?: Auth;
}

/** A component is to be drawn, after `action` where the user did something. */
export interface UIRenderEvent extends UIRenderedEvent {
  readonly action?: Action;
}

interface Setup<C> {
  readonly status: InstallationStatus;
  /** Absent at the installation itself. */
  readonly previous?: { readonly status: InstallationStatus; readonly configuration: Partial<C> };
}
interface Deleted<C> {
  readonly previous: { readonly configuration: Partial<C> };
}
interface InSpace {
  readonly spaceId: string;
}
interface InSite {
  readonly siteId: string;
}
interface PageView {
  readonly pageId?: string;
  readonly visitor: Visitor;
  readonly url: string;
  readonly referrer: string;
}
interface GitSync {
  readonly revisionId: string;
  readonly commitId: string;
}

/** Event name → event. */
export interface RuntimeEvents {
  ui_render: UIRenderedEvent;
  installation_setup: EventBase<'installation_setup'> & Setup<AccountConfiguration>;
  space_installation_setup: EventBase<'space_installation_setup'> & InSpace & Setup<SpaceConfiguration>;
  site_installation_setup: EventBase<'site_installation_setup'> & InSite & Setup<SiteConfiguration>;
  installation_deleted: EventBase<'installation_deleted'> & Deleted<AccountConfiguration>;
  space_installation_deleted: EventBase<'space_installation_deleted'> & InSpace & Deleted<SpaceConfiguration>;
  site_installation_deleted: EventBase<'site_installation_deleted'> & InSite & Deleted<SiteConfiguration>;
  space_view: EventBase<'space_view'> & InSpace & PageView;
  space_content_updated: EventBase<'space_content_updated'> & InSpace & { readonly revisionId: string };
  space_visibility_updated: EventBase<'space_visibility_updated'> &
    InSpace & { readonly previousVisibility: string; readonly visibility: string };
  space_gitsync_started: EventBase<'space_gitsync_started'> & InSpace & GitSync;
  space_gitsync_completed: EventBase<'space_gitsync_completed'> &
    InSpace &
    GitSync & { readonly state: 'success' | 'failure' };
  site_view: EventBase<'site_view'> & InSite & Partial<InSpace> & PageView;
  page_feedback: EventBase<'page_feedback'> &
    InSite &
    Partial<InSpace> &
    PageView & { readonly feedback: { readonly rating: 'bad' | 'ok' | 'good'; readonly comment?: string } };
}
