/**
 * The rule of fair shares: a holder has no more places than it leaves free for others. One holder
 * gets half of all places, four get a fifth each, and a new holder finds as many as the largest
 * has. Attack: a few organizations or senders that hold every place. This file counts nothing.
 */

/**
 * @param own places that the holder has
 * @param left places that are free after it has taken one more
 */
export const isFairPlace = (own: number, left: number): boolean =>
  // The first place of a holder may be the last: otherwise none could have the only one.
  own === 0 ? left >= 0 : own < left;
