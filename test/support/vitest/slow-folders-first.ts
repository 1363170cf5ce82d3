/**
 * The order of test files: the folders of the slowest files first, so that none of these runs alone
 * in the end. Within a folder Vitest's own order holds: by the durations that it knows from an
 * earlier run, else by size.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const FOLDERS = ['test/slow/', 'test/security/', 'test/service/'];

const placeOf = ({ moduleId, project }: TestSpecification): number => {
  const path = relative(project.config.root, moduleId);
  const place = FOLDERS.findIndex((folder) => path.startsWith(folder));
  return place === -1 ? FOLDERS.length : place;
};

export class SlowFoldersFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
