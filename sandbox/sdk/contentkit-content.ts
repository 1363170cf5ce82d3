/**
 * Elements of ContentKit that show something (docs/contract/components.md#elements),
 * from the catalogue in `src/model/contentkit/contentkit.ts`. Types only.
 *
 * Generated: `npx vitest run test/unit/sdk/contentkit-elements.test.ts -u`.
 */
import type { Dynamic, ElementChildren, TextChildren } from './contentkit.ts';
import type { Press } from './contentkit-values.ts';

/** Tag → attributes. */
export interface ContentElements {
  /**
   * Text.
   *
   * @example <text>Hello</text>
   */
  text: {
    /**
     * Style of the text.
     *
     * @example style="bold"
     */
    readonly style?: 'bold' | 'italic' | 'code' | 'strikethrough' | undefined;
    /** Between the tags: text and `<text>`, `<link>`, `<image>`. */
    readonly children?: TextChildren;
  };
  /**
   * Link to a URL.
   *
   * @example <link target={{ url: 'https://example.com' }}>this page</link>
   */
  link: {
    /**
     * Destination of the link.
     *
     * @example target={{ url: 'https://example.com' }}
     */
    readonly target: {
      /** URL: http, https or mailto. */
      readonly url: Dynamic<string>;
    };
    /** Between the tags: text and `<text>`. */
    readonly children?: TextChildren;
  };
  /**
   * A remark.
   *
   * @example <hint>At most ten.</hint>
   */
  hint: {
    /** Between the tags: text and `<text>`, `<link>`, `<image>`. */
    readonly children?: TextChildren;
  };
  /**
   * Text in Markdown.
   *
   * @example <markdown content="Some **bold** text" />
   */
  markdown: {
    /**
     * The Markdown.
     *
     * @example content="Some **bold** text"
     */
    readonly content: Dynamic<string>;
  };
  /**
   * A picture.
   *
   * @example <image source={{ url: 'https://example.com/logo.png' }} aspectRatio={16 / 9} />
   */
  image: {
    /**
     * Location of the picture.
     *
     * @example source={{ url: 'https://example.com/logo.png' }}
     */
    readonly source: {
      /** URL of the picture: http or https. */
      readonly url: Dynamic<string>;
    };
    /**
     * Width divided by height; above 0.
     *
     * @example aspectRatio={16 / 9}
     */
    readonly aspectRatio: number;
  };
  /**
   * Code, to read or to edit.
   *
   * @example <codeblock content="const a = 1;" />
   */
  codeblock: {
    /**
     * The code.
     *
     * @example content="const a = 1;"
     */
    readonly content: Dynamic<string>;
    /**
     * Language for syntax highlighting.
     *
     * @example syntax="typescript"
     */
    readonly syntax?: string | undefined;
    /**
     * Whether line numbers are shown, or the number of the first line.
     *
     * @example lineNumbers={10}
     */
    readonly lineNumbers?: boolean | number | undefined;
    /**
     * Name of the member of the state that holds the code. With it, the code can be edited.
     *
     * @example state="code"
     */
    readonly state?: string | undefined;
    /**
     * Dispatched when the code changes.
     *
     * @example onContentChange={{ action: 'typed' }}
     */
    readonly onContentChange?: Press | undefined;
    /**
     * Buttons of the element.
     *
     * @example buttons={[<button label="Edit" onPress={{ action: 'edit' }} />]}
     */
    readonly buttons?: ElementChildren | undefined;
    /**
     * Elements above the code.
     *
     * @example header={<text>index.ts</text>}
     */
    readonly header?: ElementChildren | undefined;
    /**
     * Elements below the code.
     *
     * @example footer={<hint>Read only</hint>}
     */
    readonly footer?: ElementChildren | undefined;
  };
  /**
   * A web page in a frame.
   *
   * @example <webframe source={{ url: 'https://example.com/chart' }} />
   */
  webframe: {
    /**
     * Location of the page.
     *
     * @example source={{ url: 'https://example.com/chart' }}
     */
    readonly source: {
      /** URL of the page: http or https. */
      readonly url: Dynamic<string>;
    };
    /**
     * Width divided by height; above 0.
     *
     * @example aspectRatio={2}
     */
    readonly aspectRatio?: number | undefined;
    /**
     * Data that is sent to the page at first and after each change.
     *
     * @example data={{ range: element.dynamicState('range') }}
     */
    readonly data?: Readonly<Record<string, Dynamic<string>>> | undefined;
    /**
     * Buttons of the element.
     *
     * @example buttons={[<button label="Edit" onPress={{ action: 'edit' }} />]}
     */
    readonly buttons?: ElementChildren | undefined;
  };
}
