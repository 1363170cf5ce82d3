/** `@annex/client`: the API of an Annex service for the host product, typed. */
export { Annex, type AnnexOptions } from './annex.ts';
export { AnnexError, type ClientErrorCode } from './annex-error.ts';
export type * from './generated.ts';
export type { Page } from './paging.ts';
export type { Answer, Options, Reply, RequestParts, Send } from './request.ts';
