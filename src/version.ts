/** Version of Annex, from the `package.json` of the clone or of the npm package. */
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

const { version } = JSON.parse(readFileSync(findPackageJSON('.', import.meta.url) ?? '', 'utf8')) as {
  version: string;
};

export const VERSION = version;
