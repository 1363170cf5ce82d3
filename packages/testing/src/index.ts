/** `@annex/testing`: runs an integration in a real isolate, for its tests. */
export type { Delivery, LogLine } from '../../client/src/index.ts';
export type { App } from './app.ts';
export type { Component, ContentKitElement, Values } from './component.ts';
export type { Duration } from './duration.ts';
export type { Answer, Mocks, SentRequest } from './fetch-table.ts';
export type { DeclaredMembers, EventMembers, InstallOptions, RenderOptions } from './installation.ts';
export { Installation } from './installation.ts';
export { type LoadOptions, load } from './load.ts';
