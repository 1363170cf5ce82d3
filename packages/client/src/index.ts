/** `@annex/client`: the API of an Annex service for the host product, typed. */
export { Annex, type AnnexOptions } from './annex.ts';
export { AnnexError, type ClientErrorCode } from './annex-error.ts';
export type * from './generated.ts';
export { VERSION } from './generated.ts';
export type { Page } from './paging.ts';
export type { Answer, Reply } from './reply.ts';
export type { FollowOptions, Options, RequestParts } from './request.ts';
export { versionsAgree } from './version.ts';
export * from './webhook.ts';
