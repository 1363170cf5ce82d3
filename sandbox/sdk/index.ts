/**
 * `@annex/sdk`: what an integration imports (docs/contract/runtime.md#sdk).
 *
 * Bundled into every script that uses it, so it stays small and depends on nothing but the web
 * platform.
 */
export {
  type Api,
  type ApiAnswer,
  ApiError,
  type ApiOptions,
  type ApiRoute,
  type QueuedTask,
} from './api.ts';
export type {
  ApiConfigurationForm,
  ApiInstallation,
  ApiIntegration,
  ApiRoutes,
  ApiSiteInstallation,
  ApiSpaceInstallation,
} from './api-routes.ts';
export {
  type ActionResult,
  type Binding,
  Component,
  type ComponentDefinition,
  type ComponentElement,
  createComponent,
} from './component.ts';
export {
  ContentSource,
  type ContentSourceDefinition,
  type ContentSourceInput,
  createContentSource,
} from './content-source.ts';
export type { ComponentChildren, Dynamic, Element, ElementChildren, TextChildren } from './contentkit.ts';
export type { Confirm, Control, Icon, Press, SelectOption } from './contentkit-values.ts';
export type { Context } from './context.ts';
export { deliverTo, type WebhookDelivery } from './deliver-to.ts';
export type {
  Environment,
  Installation,
  InstallationStatus,
  IntegrationDetails,
  SiteInstallation,
  SpaceInstallation,
  Urls,
} from './environment.ts';
export type {
  Action,
  Auth,
  CallEvent,
  CallInput,
  ContentComputeEvent,
  FetchEvent,
  ProductEvent,
  PublishedScriptEvent,
  RenderContext,
  RuntimeEvents,
  TaskEvent,
  UIRenderEvent,
  UIRenderedEvent,
  Visitor,
  VisitorAuthenticationEvent,
} from './event.ts';
export { ExposableError } from './exposable-error.ts';
export {
  type CallHandler,
  createIntegration,
  type Integration,
  type IntegrationDefinition,
} from './integration.ts';
export type {
  AccountConfiguration,
  CallName,
  ComponentId,
  Configuration,
  ManifestTypes,
  OAuthCredentials,
  Secrets,
  SiteConfiguration,
  SpaceConfiguration,
  TargetConfiguration,
} from './manifest-types.ts';
export { createOAuthHandler, type OAuthOptions } from './oauth.ts';
export type {
  ExtractedCredentials,
  OAuthClient,
  OAuthClientCredentials,
  OAuthConfig,
  OAuthParameters,
  OAuthSetting,
  OAuthTokenResponse,
} from './oauth-provider.ts';
export { getOAuthToken, type OAuthTokenOptions } from './oauth-token.ts';
export { type RecentIds, recentIds } from './recent-ids.js';
export { RetryAfter } from './retry-after.ts';
export {
  type JsonValue,
  type ListOptions,
  type PutOptions,
  type StorableValue,
  type Storage,
  StorageError,
  type StoredEntry,
  type StoredKey,
} from './storage.ts';
export {
  endpointPath,
  endpointURL,
  type QueryValue,
  readQuery,
  resolveInEndpoint,
  safeRedirect,
  withQuery,
} from './url.ts';
export {
  type CheckedSignature,
  checkSignature,
  type RawBody,
  type SignatureFault,
  type SignatureOptions,
  verifySignature,
} from './verify-signature.js';
