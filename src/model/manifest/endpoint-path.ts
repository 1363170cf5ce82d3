/**
 * Paths below a public endpoint, as a manifest names them: where a setting's choices come from (`completion_url`) and where
 * its button leads (`callback_url`).
 *
 * The host joins such a path to an installation's endpoint and calls or opens the result, so the path must not be able to
 * lead anywhere else: `https://evil.example`, `//evil.example`, `\\evil.example` (a browser reads it as the same), and
 * `../{another installation's key}`, with its dots written as `%2e` or not. What is allowed is listed, not what is forbidden.
 */

/** Longest such path. */
export const ENDPOINT_PATH_CHARS_MAX = 512;

/** Segments of plain characters, none of them `.` or `..`; with a slash before, behind, or without. */
export const ENDPOINT_PATH =
  /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))\/?(?:[A-Za-z0-9._~!$&'()*+,;=@-]+(?:\/[A-Za-z0-9._~!$&'()*+,;=@-]+)*\/?)?$/;

/** Says what `ENDPOINT_PATH` wants, to follow "must be". */
export const ENDPOINT_PATH_WANTED =
  'a path below the endpoint of an installation, such as "/oauth": no scheme, no "//", no ".." and no query';
