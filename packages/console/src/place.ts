/** The place in the console. */
import { placesBelow } from '../../ui/src/place.ts';

export type { Place } from '../../ui/src/place.ts';

export const { place, addressOf, go, follow } = placesBelow('/console/');
