/**
 * Where the programs of a PostgreSQL server are: Debian keeps them in a folder for each version,
 * outside of the search path. Nothing is started here.
 */
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const DEBIAN = '/usr/lib/postgresql';
const NEEDED = ['initdb', 'postgres'];

/** Folder of `initdb` and `postgres`, of the newest version; undefined if there is none. */
export function postgresBinaries(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : [];
  const folders = [
    ...versions.toSorted((one, other) => Number(other) - Number(one)).map((v) => join(DEBIAN, v, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  return folders.find((folder) => NEEDED.every((name) => existsSync(join(folder, name))));
}
