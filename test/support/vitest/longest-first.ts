/**
 * The order of test files: the longest first, so that none of them runs alone in the end. Vitest
 * itself knows durations only of files that it has run before.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * By name; neighbours run at the same time, so files that keep a core busy alternate with files
 * that mostly wait.
 */
const LONGEST = [
  'hostile-corpus-all',
  'slow-clients',
  'containment',
  'service-start',
  'hostile-corpus',
  'quarantine',
  'call-limits',
  'store-change-crash',
  'lifecycle-events',
  'tenant-fairness',
  'cell-limits',
  'delivery-crash',
  'many-installations',
  'delivery-power-loss',
  'readme',
  'types-command',
  'lifecycle-event-crash',
  'fuzz-cells',
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  return place === -1 ? LONGEST.length : place;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
