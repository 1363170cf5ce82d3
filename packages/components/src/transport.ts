/**
 * How a page gets drawings: the request and the answer of the render API
 * (docs/contract/components.md#rendering), as the host product's backend passes them on. Types
 * only.
 *
 * The page never holds a token: a transport asks the backend of the product, which adds its token
 * and posts to `/v1/…/render`. `fetch-transport.ts` has one for a backend that forwards both as
 * they are.
 */

import type { ChoicePage } from '../../../src/model/contentkit/choice-page.ts';

/** Any JSON object. */
export type JsonObject = { readonly [member: string]: unknown };

/** What the backend posts to `{target}/render`. It adds `auth` itself, if it does. */
export interface RenderRequest {
  readonly componentId: string;
  readonly props: JsonObject;
  /** State of the last answer; absent in the first request. */
  readonly state?: JsonObject;
  /** Where the component is shown. */
  readonly context?: JsonObject;
  /** What the user did, with bindings to client state resolved. Absent in the first request. */
  readonly action?: Action;
  /** Asks for a page of choices from this URL, in place of a drawing. */
  readonly choices?: { readonly url: string };
}

/** An action: its name, and any further members. */
export type Action = { readonly action: string } & JsonObject;

/** A drawing: what a component looks like now. */
export interface ElementRendering {
  readonly type: 'element';
  readonly state: JsonObject;
  readonly props: JsonObject;
  /** ContentKit: a `block`, a `modal` or a `configuration`. */
  readonly element: JsonObject;
  /** Whether its frames may get the claims of the visitor. */
  readonly canAccessVisitorClaims?: true;
}

/** The page of the product that the component is shown on, as frames get it. */
export interface ShownPage {
  readonly id: string;
  /** From the root of the site, without a slash at its beginning. */
  readonly path: string;
  readonly title: string;
}

/** The component is closed, and hands this value to its opener. */
export interface CompleteRendering {
  readonly type: 'complete';
  readonly returnValue?: unknown;
}

/** A page of choices (docs/contract/components.md#choices-from-a-url). */
export interface ChoicesRendering {
  readonly type: 'choices';
  readonly choices: ChoicePage;
}

/** The body of an answer with status 200. */
export type Rendering = ElementRendering | CompleteRendering | ChoicesRendering;

/** The body of any other answer. */
export interface RenderErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}

/** The answer of the render API. */
export interface RenderAnswer {
  readonly status: number;
  /** The parsed JSON: a `Rendering` for 200, a `RenderErrorBody` otherwise. It is checked. */
  readonly body: unknown;
  /** The header `Cache-Control`, if there is one. */
  readonly cacheControl?: string | null;
}

/**
 * Sends one request to the backend of the product. It rejects if there is no answer. The signal
 * ends a request whose component is gone.
 */
export type Transport = (request: RenderRequest, signal: AbortSignal) => Promise<RenderAnswer>;

/**
 * Reads one page of the choices of a `select` whose options are a URL
 * (docs/contract/components.md#choices-from-a-url). It answers the parsed JSON, which is checked.
 */
export type ChoiceReader = (url: string, signal: AbortSignal) => Promise<unknown>;
