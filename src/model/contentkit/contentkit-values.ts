/**
 * Schemas of the values of ContentKit attributes: texts, URLs, icons, actions, bindings to client
 * state (`docs/contract/components.md#values`). `contentkit.ts` says which element has which
 * attribute.
 *
 * Descriptions of schemas are public: authors see them in an editor, the host product in the JSON
 * Schema.
 */
import Type, { type TSchema } from 'typebox';

/** Prefix of references to definitions. */
const DEFINITIONS = '#/$defs/';

/** Refers to an element, or to a definition of this file, by its name. */
export const ref = (name: string, description?: string): TSchema =>
  Type.Ref(`${DEFINITIONS}${name}`, description === undefined ? {} : { description });

/** The name that a schema refers to; undefined where it is not a reference. */
export const referred = (schema: object): string | undefined =>
  '$ref' in schema && typeof schema.$ref === 'string' ? schema.$ref.slice(DEFINITIONS.length) : undefined;

const ICONS = [
  ...(['close', 'edit', 'github', 'gitlab', 'maximize', 'email', 'settings', 'search', 'delete'] as const),
  ...([
    'star',
    'warning',
    'link',
    'link-external',
    'eye',
    'eye-off',
    'lock',
    'check',
    'check-circle',
  ] as const),
] as const;

const BUTTON_STYLES = ['primary', 'secondary', 'danger'] as const;

/**
 * Attack: `javascript:`, `data:` or `file:` in a link, run or read by the page of the host product.
 * Nothing may precede the scheme, and no character that browsers ignore is allowed in the URL.
 */
const WEB_URL = '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\u0000-\\u0020\\u007f]+$';
const LINK_URL = '^(?:[Hh][Tt][Tt][Pp][Ss]?://|[Mm][Aa][Ii][Ll][Tt][Oo]:)[^\\s\\u0000-\\u0020\\u007f]+$';
/** Name of an action of the component. Names that begin with `@` belong to the platform. */
const OWN_ACTION = '^[^@]';

/** Host of a URL, with its port. Attack: a user name before it, or a path after it. */
const HOST = '^[^\\s\\u0000-\\u0020\\u007f/?#@\\\\]+$';
/** Attack: a path without its slash, which would continue the name of the host. */
const PATHNAME = '^/[^\\u0000-\\u001f\\u007f]*$';

/** Patterns of whole URLs. */
export const URL_PATTERNS: ReadonlySet<string> = new Set([WEB_URL, LINK_URL]);

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
const HARMLESS_SCHEMES: ReadonlySet<string> = new Set(['http', 'https', 'mailto']);
/** White space and control characters. */
const IGNORED = /[\s\p{Cc}]/gu;

/**
 * Whether a text that is no valid URL here has a scheme of its own, such as `javascript:`.
 * Characters that browsers ignore are ignored.
 */
export const isDangerousUrl = (url: string): boolean => {
  const [, scheme] = SCHEME.exec(url.replace(IGNORED, '')) ?? [];
  return scheme !== undefined && !HARMLESS_SCHEMES.has(scheme.toLowerCase());
};

/** Pattern → what it expects, in words that follow "must be". */
export const PATTERN_WORDS: ReadonlyMap<string, string> = new Map([
  [WEB_URL, 'an absolute URL with http or https'],
  [LINK_URL, 'an absolute URL with http, https or mailto'],
  [HOST, 'the host of a URL'],
  [PATHNAME, 'the path of a URL, from its `/`'],
  [OWN_ACTION, 'the name of an action of the component, or of one that the platform has'],
]);

/** An object with these members and no others. */
export const shape = (members: Record<string, TSchema>, description: string): TSchema =>
  Type.Object(members, { description, additionalProperties: false });

/** Any JSON object. */
export const anyObject = (description: string): TSchema =>
  Type.Object({}, { description, additionalProperties: Type.Unknown() });

export const text = (description: string, rule: { maxLength?: number; minLength?: number } = {}): TSchema =>
  Type.String({ description, ...rule });

export const flag = (description: string): TSchema => Type.Boolean({ description });

/** A value, or a binding to client state. */
export const dynamic = (schema: TSchema, description: string): TSchema =>
  Type.Union([schema, ref('binding')], { description });

export const webUrl = (description: string): TSchema =>
  dynamic(Type.String({ pattern: WEB_URL }), description);
export const linkUrl = (description: string): TSchema =>
  dynamic(Type.String({ pattern: LINK_URL }), description);

/** An object `{url}`: the location of a picture, a page or a link target. */
export const source = (url: TSchema, description: string): TSchema => shape({ url }, description);

/** A web URL, or its parts, of which those of the query may be bindings. */
export const webAddress = (description: string): TSchema =>
  Type.Union(
    [
      Type.String({ pattern: WEB_URL }),
      ref('binding'),
      shape(
        {
          host: Type.String({ description: 'Host, with its port if it has one.', pattern: HOST }),
          pathname: Type.Optional(Type.String({ description: 'Path, from its `/`.', pattern: PATHNAME })),
          query: Type.Optional(
            Type.Object(
              {},
              {
                description: 'Parameters of the query.',
                additionalProperties: dynamic(Type.String(), 'A text.'),
              },
            ),
          ),
        },
        'Parts of an https URL.',
      ),
    ],
    { description },
  );

export const icon = (description: string): TSchema => ref('icon', description);
export const press = (description: string): TSchema => ref('press', description);
export const buttonStyle = Type.Enum([...BUTTON_STYLES], { description: 'Prominence of the button.' });

/** An action that the platform carries out. Further members are data of the component. */
const builtIn = (action: string, members: Record<string, TSchema>, description: string): TSchema =>
  Type.Object(
    { action: Type.Literal(action), ...members },
    { description, additionalProperties: Type.Unknown() },
  );

const BUILT_IN_ACTIONS: readonly TSchema[] = [
  builtIn(
    '@ui.modal.open',
    {
      componentId: text('Id of the component that renders the modal.', { minLength: 1 }),
      props: anyObject('Props of that component.'),
    },
    'Opens a modal.',
  ),
  builtIn(
    '@ui.modal.close',
    { returnValue: Type.Optional(anyObject('Value for the opener of the modal.')) },
    'Closes the modal.',
  ),
  builtIn('@ui.url.open', { url: linkUrl('URL to open: http, https or mailto.') }, 'Opens a URL.'),
  builtIn(
    '@link.unfurl',
    { url: webUrl('URL to turn into a block: http or https.') },
    'Turns a URL into a block.',
  ),
  builtIn(
    '@editor.node.updateProps',
    { props: anyObject('Props that replace those of the block.') },
    'Replaces the props of the block in the document.',
  ),
];

/** Definitions that elements refer to, by name. */
export const VALUES: Readonly<Record<string, TSchema>> = {
  binding: shape(
    { $state: text('Name of the client state.', { minLength: 1 }) },
    'A binding: replaced by the value of client state before an action is dispatched. The scheme of a URL has to be checked then.',
  ),
  icon: Type.Enum([...ICONS], { description: 'An icon of the platform.' }),
  press: Type.Union(
    [
      ...BUILT_IN_ACTIONS,
      Type.Object(
        {
          action: Type.String({
            description: 'Name of the action; it does not begin with `@`.',
            pattern: OWN_ACTION,
          }),
        },
        {
          description: 'An action of the component, with any further members.',
          additionalProperties: Type.Unknown(),
        },
      ),
    ],
    {
      description: 'Action of an element: one of the component, or one that the platform carries out (`@…`).',
    },
  ),
  confirm: shape(
    {
      title: text('Heading of the question.', { maxLength: 100 }),
      text: text('Text of the question.', { maxLength: 300 }),
      confirm: text('Label of the button that confirms.', { maxLength: 30 }),
      style: Type.Optional(buttonStyle),
    },
    'A question before an action is dispatched.',
  ),
  control: shape(
    {
      label: text('Label of the entry.'),
      icon: Type.Optional(icon('Before the label.')),
      onPress: press('Dispatched when the entry is chosen.'),
      confirm: Type.Optional(ref('confirm', 'Question before the action is dispatched.')),
    },
    "An entry of a block's menu.",
  ),
  option: shape(
    {
      id: text('Value in the state.'),
      label: text('Label of the choice.'),
      icon: Type.Optional(icon('Before the label.')),
    },
    'A choice of a `<select>`.',
  ),
  choiceSource: shape(
    { source: text('Name of the source.') },
    'A source of choices of the product. Where the product has none of this name, the list is empty.',
  ),
};
