/**
 * Runtime events and their shapes: raw traffic (docs/contract/calls.md#raw-traffic), renderings
 * (docs/contract/components.md#event), lifecycle events
 * (docs/contract/configuration.md#lifecycle-events) and events that the host product posts
 * (docs/contract/events.md#types). Types only.
 *
 * Members that are not listed here are passed on unchanged.
 */
import type { InstallationStatus } from './environment.ts';
import type { AccountConfiguration, SiteConfiguration, SpaceConfiguration } from './manifest-types.ts';

interface EventBase<Type extends string> {
  /** Id of the event: the same at each attempt of a delivery, so it is what to deduplicate by. */
  readonly eventId: string;
  /** Name of the event. */
  readonly type: Type;
  /** Id of the installation that the call is for. */
  readonly installationId?: string;
  /** Id of the space, if the target of the call is that of a space. */
  readonly spaceId?: string;
  /** Id of the site, if the target of the call is that of a site. */
  readonly siteId?: string;
}

/** An event whose delivery is repeated if its handler fails. */
interface Delivered<Type extends string> extends EventBase<Type> {
  /** Number of the attempt, from 1. Not enumerable at the first. */
  readonly attempt: number;
}

/** The user of the host product who caused a call. */
export interface Auth {
  /** Id of the user in the host product. */
  readonly userId: string;
}

/** Who viewed a page. */
export interface Visitor {
  /** Id that the host product gives the visitor. */
  readonly anonymousId: string;
  /** `User-Agent` of the visitor's browser. */
  readonly userAgent: string;
  /** IP address of the visitor. */
  readonly ip: string;
  /** Cookies of the visitor, from name to value. */
  readonly cookies: Readonly<Record<string, string>>;
  /** Language of the visitor. */
  readonly language?: string;
  /** Whether it is a person, or a program that reads for one; absent where it is not known. */
  readonly type?: 'human' | 'agent';
}

/**
 * An HTTP request to the public endpoint, from which the `Request` of the `fetch` handler is made.
 */
export interface FetchEvent extends EventBase<'fetch'> {
  /** The request, without its body. */
  readonly request: {
    /** Method as sent; an envelope may have it in lower case. */
    readonly method: string;
    /** Absolute URL below the endpoint, with the query as sent. */
    readonly url: string;
    /** Lower-case name → value; several values of one name are joined with `, `. */
    readonly headers: Readonly<Record<string, string>>;
  };
  /** The user, in an envelope that names one. Raw traffic has none. */
  readonly auth?: Auth;
}

/** A site asks for the script of the integration. Scope `site:script:inject`. */
export type PublishedScriptEvent = EventBase<'fetch_published_script'>;

/** A visitor is to be signed in or out. Scope `site:visitor:auth`. */
export interface VisitorAuthenticationEvent extends EventBase<'fetch_visitor_authentication'> {
  /** URL that the visitor asked for. */
  readonly location: string;
  /** Query of the visitor's request. */
  readonly searchParams: Readonly<Record<string, string | readonly string[]>>;
  /** Cookies of the visitor on the site. */
  readonly cookies: Readonly<Record<string, string | readonly string[]>>;
  /** What to do, if it is not to sign the visitor in. */
  readonly action?: 'logout';
}

/** A task of the integration is due. */
export interface TaskEvent extends Delivered<'task'> {
  /** The task as it was queued. */
  readonly task: unknown;
  /** Set where a schedule of the manifest has queued it. */
  readonly schedule?: {
    readonly id: string;
    /** The minute that the cron names, as an ISO time; of a run by hand, when it was asked for. */
    readonly at: string;
  };
}

/** The product asks the installation: a call of the manifest. */
export interface CallEvent extends EventBase<'call'> {
  /** Name of the call in the manifest. */
  readonly call: string;
  /** What the product sent. */
  readonly input: CallInput;
}

/** What the product sends with a call. Nothing has checked it. */
export type CallInput = Readonly<Record<string, unknown>>;

/** Content of a source is to be computed. */
export interface ContentComputeEvent
  extends EventBase<'content_compute_revision' | 'content_compute_document'> {
  /** Name of the content source. */
  readonly sourceId: string;
  /** Props of the source, or of the page. */
  readonly props?: Readonly<Record<string, unknown>>;
  /** Values of what the source depends on. */
  readonly dependencies?: Readonly<Record<string, unknown>>;
}

/** What an element dispatches when a user uses it (docs/contract/components.md#actions). */
export interface Action {
  /** Name of the action, as the element that dispatched it has it. */
  readonly action: string;
  /** Further members of the action, as the element has them. */
  readonly [parameter: string]: unknown;
}

/** Where a component is shown. Its members are the host product's. */
export type RenderContext = Readonly<Record<string, unknown>>;

/** The event of `events.ui_render`: a component was rendered. */
export interface UIRenderedEvent extends EventBase<'ui_render'> {
  /** Id of the component. */
  readonly componentId: string;
  /** Props of the component; `{}` if the host product sent none. */
  readonly props: Readonly<Record<string, unknown>>;
  /** State of the last answer. Absent at the first rendering. */
  readonly state?: Readonly<Record<string, unknown>>;
  /** Where the component is shown. */
  readonly context: RenderContext;
  /** The user for whom it is rendered. */
  readonly auth?: Auth;
}

/** A component is to be rendered, after `action` if the user did something. */
export interface UIRenderEvent extends UIRenderedEvent {
  /** What the user did. */
  readonly action?: Action;
}

interface Setup<C> {
  /** Status after the change. */
  readonly status: InstallationStatus;
  /** The target before the change, credentials included. Absent at install. */
  readonly previous?: { readonly status: InstallationStatus; readonly configuration: Partial<C> };
}
interface Deleted<C> {
  /** The target before its deletion, credentials included. */
  readonly previous: { readonly configuration: Partial<C> };
}
interface InSpace {
  /** Id of the space. */
  readonly spaceId: string;
}
interface InSite {
  /** Id of the site. */
  readonly siteId: string;
}
interface PageView {
  /** Id of the page. */
  readonly pageId?: string;
  /** The person who viewed the page. */
  readonly visitor: Visitor;
  /** URL of the page. */
  readonly url: string;
  /** URL of the page before; may be empty. */
  readonly referrer: string;
}
interface GitSync {
  /** Id of the revision of the space. */
  readonly revisionId: string;
  /** Id of the Git commit. */
  readonly commitId: string;
}
interface Revision {
  /** Id of the new revision of the space. */
  readonly revisionId: string;
}
interface VisibilityChange {
  /** Visibility before the change. */
  readonly previousVisibility: string;
  /** Visibility after the change. */
  readonly visibility: string;
}
interface Feedback {
  readonly feedback: {
    /** The visitor's rating of the page. */
    readonly rating: 'bad' | 'ok' | 'good';
    /** The visitor's comment, at most 512 characters. */
    readonly comment?: string;
  };
}

/**
 * An event of a type that the product has declared (docs/contract/events.md#declared-types).
 *
 * @typeParam Data what the schema of the type says. `annex types` writes it
 */
export interface ProductEvent<Type extends string = string, Data = unknown> extends EventBase<Type> {
  /** Id of the installation that the call is for. */
  readonly installationId: string;
  /** The organization that it happened in. */
  readonly organizationId: string;
  /** When the event was accepted, as RFC 3339. */
  readonly createdAt: string;
  /** What happened. */
  readonly data: Data;
}

/** Event name → event: what the handlers in `events` receive. */
export interface RuntimeEvents {
  /** Types of the product, such as `invoice.paid`; or several of them, such as `invoice.*`. */
  // biome-ignore lint/suspicious/noExplicitAny: handlers of known types are among these
  [type: `${string}.${string}`]: ProductEvent<any, any>;
  /** Every type of the product that has no handler of its own. */
  '*': ProductEvent;
  /** A component was rendered. Its answer does not wait for this handler. */
  ui_render: UIRenderedEvent;
  /** The integration was installed, or the configuration or status of the installation changed. */
  installation_setup: EventBase<'installation_setup'> & Setup<AccountConfiguration>;
  /** The same for the installation in a space. */
  space_installation_setup: EventBase<'space_installation_setup'> & InSpace & Setup<SpaceConfiguration>;
  /** The same for the installation in a site. */
  site_installation_setup: EventBase<'site_installation_setup'> & InSite & Setup<SiteConfiguration>;
  /** The installation was deleted. The environment is that from before. */
  installation_deleted: EventBase<'installation_deleted'> & Deleted<AccountConfiguration>;
  /** The installation in a space was deleted. The environment is that from before. */
  space_installation_deleted: EventBase<'space_installation_deleted'> & InSpace & Deleted<SpaceConfiguration>;
  /** The installation in a site was deleted. The environment is that from before. */
  site_installation_deleted: EventBase<'site_installation_deleted'> & InSite & Deleted<SiteConfiguration>;
  /** A user viewed a space. Scope `space:metadata:read`. */
  space_view: Delivered<'space_view'> & InSpace & PageView;
  /** Content of a space changed. Scope `space:content:read`. */
  space_content_updated: Delivered<'space_content_updated'> & InSpace & Revision;
  /** The visibility of a space changed. Scope `space:metadata:read`. */
  space_visibility_updated: Delivered<'space_visibility_updated'> & InSpace & VisibilityChange;
  /** A Git sync of a space began. Scope `space:git:sync`. */
  space_gitsync_started: Delivered<'space_gitsync_started'> & InSpace & GitSync;
  /** A Git sync of a space ended. Scope `space:git:sync`. */
  space_gitsync_completed: Delivered<'space_gitsync_completed'> &
    InSpace &
    GitSync & {
      /** How the sync ended. */
      readonly state: 'success' | 'failure';
    };
  /** A user visited a page of a site. Scope `site:views:read`. */
  site_view: Delivered<'site_view'> & InSite & Partial<InSpace> & PageView;
  /** A user rated a page. Scope `site:views:read` or `page:feedback:read`. */
  page_feedback: Delivered<'page_feedback'> & InSite & Partial<InSpace> & PageView & Feedback;
}
