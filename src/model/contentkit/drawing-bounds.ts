/**
 * The bounds of a drawing: what the service refuses, and the renderer in a page
 * (`packages/components/`) does not draw. Both count by the same rule, so that a drawing that the
 * service lets pass is drawn whole.
 *
 * What is counted is what a page opens, not what it reads. Attack: 24 kB of Markdown, a table in a
 * quote whose short rows are filled up with cells, open 66,000 elements. Each count is linear in
 * the text, needs no parser, and is never less than what a parser opens.
 */

/** Nesting of elements, the root included, and of lists in one another. */
export const DRAWING_DEPTH_MAX = 64;
/** Elements and texts of one drawing, with those that `elementsOpened` adds. */
export const DRAWING_ELEMENTS_MAX = 10_000;
/** Characters of one `markdown` that are drawn, and counted. */
export const MARKDOWN_CHARS_MAX = 20_000;
/** Elements of one `markdown`: a page draws it in one piece. */
export const MARKDOWN_ELEMENTS_MAX = 4_000;
/** The same of one whose text is bound to client state, and known only when it is drawn. */
export const BOUND_MARKDOWN_ELEMENTS_MAX = 500;
/** What a `webframe` counts as. Attack: thousands of pages, each with memory of its own. */
const FRAME_ELEMENTS = 500;
/** Choices of one `select`. */
export const CHOICES_MAX = 1_000;
/** Entries of the menu of a block. */
export const CONTROLS_MAX = 50;
/**
 * Combining marks on one character, as many as the Stream-Safe Text Format of Unicode has. Attack:
 * thousands of them on one, whose time to draw grows with the square of their number.
 */
export const MARKS_MAX = 30;

const RUN_OF_MARKS = /\p{M}+/gu;

/** A text without the marks that are too many. */
export const withoutPiledMarks = (text: string): string =>
  text.replace(RUN_OF_MARKS, (marks) =>
    marks.length <= MARKS_MAX ? marks : [...marks].slice(0, MARKS_MAX).join(''),
  );

export const hasPiledMarks = (text: string): boolean => withoutPiledMarks(text).length < text.length;

/** Elements that a page opens for one of the catalogue, besides itself and those in it. */
export function elementsOpened(element: Readonly<Record<string, unknown>>): number {
  const { type, content, options, controls } = element;
  if (type === 'webframe') return FRAME_ELEMENTS;
  if (type === 'select') return Array.isArray(options) ? Math.min(options.length, CHOICES_MAX) : 0;
  if (type === 'block') return Array.isArray(controls) ? Math.min(controls.length, CONTROLS_MAX) : 0;
  if (type !== 'markdown') return 0;
  return typeof content === 'string' ? markdownElements(content) : BOUND_MARKDOWN_ELEMENTS_MAX;
}

/** Markers of quotes and lists before the text of a line. */
const MARKERS = /^(?:[ \t]*(?:>|[-+*](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)))*/;
const LIST_MARKER = /[-+*.)]/g;
const QUOTE_MARKER = />/g;
/** With the markers that may stand before it. */
const DELIMITER_ROW = /^[\s\d|:>+*.)-]+$/;
/** Other blanks make a paragraph. Attack: thousands of form feeds, which count nothing. */
const EMPTY = /^[ \t>]*$/;

/**
 * The most elements that a text in Markdown opens: for each line its quotes, its lists with their
 * items, and a paragraph; for each line of a table its row with all columns; and what its marks can
 * make of the text in it, at two marks for an element.
 */
export function markdownElements(text: string): number {
  let elements = 0;
  let columns = 0;
  let hasHead = false;
  for (const line of text.slice(0, MARKDOWN_CHARS_MAX).split(/\r\n|[\r\n]/)) {
    const [markers = ''] = MARKERS.exec(line) ?? [];
    const isEmpty = EMPTY.test(line);
    elements += (isEmpty ? 0 : 1) + count(markers, QUOTE_MARKER) + 2 * count(markers, LIST_MARKER);
    if (isEmpty) columns = 0;
    // A table of one column has its `|` in the head alone.
    if ((hasHead || line.includes('|')) && line.includes('-') && DELIMITER_ROW.test(line)) {
      columns = line.split('|').filter((cell) => cell.includes('-')).length;
      // The table with its parts; the row above is its head.
      elements += 4;
    }
    hasHead = line.includes('|');
    elements += columns;
    elements += Math.ceil(count(line, /[*_~`]/g) / 2) + count(line, /[[<]/g);
  }
  return elements;
}

const count = (text: string, mark: RegExp): number => text.match(mark)?.length ?? 0;
