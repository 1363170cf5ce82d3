/** The API as the console asks it. */
import { PageApi } from '../../ui/src/page-api.ts';

export { ApiError, at, type Items, withQuery } from '../../ui/src/page-api.ts';

export const { ask } = new PageApi('annex-console');
