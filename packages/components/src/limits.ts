/**
 * The bounds of a drawing in the browser. Each ends an attack by size: the service refuses most of
 * them already, and a page does not rely on it.
 */
import {
  BOUND_MARKDOWN_ELEMENTS_MAX,
  CHOICES_MAX,
  CONTROLS_MAX,
  DRAWING_DEPTH_MAX,
  DRAWING_ELEMENTS_MAX,
  MARKDOWN_CHARS_MAX,
  MARKDOWN_ELEMENTS_MAX,
} from '../../../src/model/contentkit/drawing-bounds.ts';

export const LIMITS = {
  /** As many as the service lets pass. */
  nodes: DRAWING_ELEMENTS_MAX,
  depth: DRAWING_DEPTH_MAX,
  markdownElements: MARKDOWN_ELEMENTS_MAX,
  boundMarkdownElements: BOUND_MARKDOWN_ELEMENTS_MAX,
  choices: CHOICES_MAX,
  controls: CONTROLS_MAX,
  /** Characters of all texts of a drawing. */
  drawingChars: 1_048_576,
  /**
   * Characters of one text. Attack: a text without blanks, which takes a browser long to lay out.
   */
  textChars: 20_000,
  /** Characters of a label, a title or a placeholder. */
  labelChars: 1_000,
  /** Characters of one `markdown`. */
  markdownChars: MARKDOWN_CHARS_MAX,
  /** Characters of one `codeblock`. */
  codeChars: 50_000,
  /** Characters of a field for text. One with more is shown in part, and cannot be edited. */
  fieldChars: 20_000,
  /** Lines of one `codeblock` that is read, and numbers of one that is edited. */
  codeLines: 2_000,
  /** Names of client state, of all drawings of a component. */
  stateKeys: 4_000,
  /** Actions that wait while another one runs. */
  waitingActions: 20,
  /** Lists of choices whose chosen names are read before they are opened. */
  namedSelects: 20,
  /** Modals above one another. */
  modals: 5,
  /** Answers that are cached. */
  cachedAnswers: 100,
  /** Nesting and values of an action, and of a message of a `webframe`. */
  dataDepth: 64,
  dataValues: 10_000,
  /** Characters of all texts in a message of a `webframe`. */
  messageChars: 65_536,
} as const;

/**
 * Work of one time slice. A node costs 1, and more with the size of its texts. A slice that takes
 * long makes the next ones smaller, a short one larger.
 */
export const SLICE = { cost: 50, costMin: 10, costMax: 150, shortMs: 5, longMs: 12 } as const;
