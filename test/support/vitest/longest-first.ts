/**
 * The order of the files: those that take longest first, so that none of them is left for the end, where nobody works beside
 * it any more. Vitest alone knows how long a file takes only where it has run before.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** By name, each with those beside it that it disturbs least: one that keeps a core busy, one that mostly waits. */
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
