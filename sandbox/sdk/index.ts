/**
 * `@annex/sdk`: what an integration imports.
 *
 * Bundled into every script that uses it, so it stays small and depends on nothing but the web platform.
 */
export {
  type ActionResult,
  Component,
  type ComponentDefinition,
  type ComponentElement,
  createComponent,
} from './component.ts';
export type {
  ComponentChildren,
  Confirm,
  Control,
  Dynamic,
  Element,
  Icon,
  Press,
  SelectOption,
} from './contentkit.ts';
export type { Context } from './context.ts';
export type {
  Configuration,
  Environment,
  Installation,
  InstallationStatus,
  IntegrationDetails,
  Urls,
} from './environment.ts';
export type {
  Action,
  Auth,
  FetchEvent,
  RenderContext,
  RuntimeEvents,
  UIRenderEvent,
  Visitor,
} from './event.ts';
export { ExposableError } from './exposable-error.ts';
export { createIntegration, type Integration, type IntegrationDefinition } from './integration.ts';
