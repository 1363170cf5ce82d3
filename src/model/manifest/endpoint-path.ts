/**
 * Form of paths below a public endpoint in a manifest: the source of a setting's choices
 * (`completion_url`) and the target of its button (`callback_url`).
 *
 * The host appends such a path to an installation's endpoint, and calls or opens the result.
 * Attack: a path that leads elsewhere: `https://evil.example`, `//evil.example`, `\\evil.example`
 * (the same to a browser), and `../{another installation's key}`, its dots written as `%2e` or not.
 * So the pattern is an allow-list.
 */

/** Longest such path. */
export const ENDPOINT_PATH_CHARS_MAX = 512;

/**
 * Segments of plain characters, none of them `.` or `..`; a leading and a trailing slash are
 * optional.
 */
export const ENDPOINT_PATH =
  /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))\/?(?:[A-Za-z0-9._~!$&'()*+,;=@-]+(?:\/[A-Za-z0-9._~!$&'()*+,;=@-]+)*\/?)?$/;

/** Describes `ENDPOINT_PATH`; follows "must be". */
export const ENDPOINT_PATH_WANTED =
  'a path below the endpoint of an installation, such as "/oauth": no scheme, no "//", no ".." and no query';
