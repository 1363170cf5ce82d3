/**
 * `…/storage`: the values that code of an integration keeps, for an installation and for all of
 * them (docs/contract/storage.md).
 *
 * Values are for runtime tokens alone: code that uses the SDK reaches them without HTTP, any other
 * by these routes. People see keys and sizes, and remove keys; no route shows them a value. Each
 * stored value has a version, which is its `ETag`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type, { type TProperties } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import { unpassable } from '../../../model/canonical-json.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import {
  isRuntime,
  mayInstallFor,
  mayPublish,
  mayReadIntegrationLog,
  mayReadLog,
  mayUseStorage,
  type Principal,
  type TokenRight,
} from '../../../model/principal.ts';
import {
  checkKey,
  checkPrefix,
  checkValue,
  EXPIRES_IN_S_MAX,
  type StorageArea,
} from '../../../model/stored-value.ts';
import { unknownInstallation, unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { type StorageChange, type StoredText, storedOrThrown } from '../../store/storage/storage.ts';
import type { ListedEntry } from '../../store/storage/storage-rows.ts';
import { actorOf, principalOf, runtimeOf } from './authenticate.ts';
import type { Control } from './control.ts';
import { IfMatch, IfNoneMatch, isKnownTag, requiredTags } from './entity-tag.ts';
import { INSTALLATION, INSTALLATION_PARAMS } from './installations/targets.ts';
import { PageOf, pageAnswer, pageQuery, pageRequest } from './lists.ts';
import { type Counter, type Route, route } from './route.ts';
import { closed, isoTime, isoTimeIfAny, Name, NoQuery, named, optional, Time } from './schemas.ts';

const MS_PER_S = 1_000;
/** Of a character that a client escapes: `a` may be sent as `\u0061`. */
const ESCAPED_BYTES_MAX = 6;
/** White space around a value. */
const REST_BYTES_MAX = 4 * 1024;
/** Of a cursor, which holds a key in base64; a longer key than by default has a longer one. */
const CURSOR_CHARS_MAX = 8 * 1024;

const StoredKeyView = named('StoredKey', {
  key: Type.String(),
  kind: Type.Enum(['json', 'bytes']),
  bytes: Type.Integer({ description: 'Size of key and value together.' }),
  version: Type.Integer(),
  expiresAt: Type.Optional(Time),
  updatedAt: Time,
});

const StorageView = Type.Object({
  ...PageOf(StoredKeyView).properties,
  usage: named('StorageUsage', {
    keys: Type.Integer(),
    keysMax: Type.Integer({ description: 'The limit `storageKeys`.' }),
    bytes: Type.Integer({ description: 'Size of all keys and values together.' }),
    bytesMax: Type.Integer({ description: 'The limit `storageBytes`.' }),
  }),
});

const ListQuery = Type.Object(
  {
    ...pageQuery(CURSOR_CHARS_MAX),
    prefix: optional(Type.String(), 'Only keys that begin with it.'),
  },
  { additionalProperties: false },
);

const PutQuery = Type.Object(
  {
    expiresIn: optional(
      Type.Number({ exclusiveMinimum: 0, maximum: EXPIRES_IN_S_MAX }),
      'Seconds until it expires; never, if absent.',
    ),
  },
  { additionalProperties: false },
);

const VersionView = named('StoredVersion', { version: Type.Integer() });

const IncrementBody = Type.Optional(
  closed('StoredIncrement', {
    by: Type.Optional(
      Type.Integer({ default: 1, minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
    ),
  }),
);
const SumView = named('StoredSum', { value: Type.Integer(), version: Type.Integer() });

/** A body of either type. */
const Value = Type.Unsafe<Uint8Array>({
  description: 'The value: `application/json`, or `application/octet-stream`.',
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
});
const NotModified = Type.Unsafe<undefined>({
  type: 'null',
  description: 'The value is the one of `If-None-Match`.',
});

const Key = Type.String({ description: 'Percent-encoded, also its slashes.' });

const PutHeaders = Type.Object({ ...IfMatch.properties, ...IfNoneMatch.properties });

/** Whose values a path names. */
interface Level {
  readonly tag: 'installations' | 'integrations';
  readonly path: `/${string}`;
  readonly params: TProperties;
  /** Which people need to remove a value. */
  readonly right: TokenRight;
  readonly of: string;
}

const LEVELS: readonly Level[] = [
  {
    ...{ tag: 'installations', path: `${INSTALLATION}/storage`, params: INSTALLATION_PARAMS },
    right: 'install',
    of: 'an installation',
  },
  {
    ...{ tag: 'integrations', path: '/integrations/:name/storage', params: { name: Name } },
    right: 'publish',
    of: 'an integration, shared by its installations',
  },
];

/** Code is bounded by its fetches, and its quota; what people remove is an entry of the audit. */
const countedOfPeople: Counter = async (request, control) => {
  if (!isRuntime(principalOf(request))) control.rates.order(request);
};

const readsOf = ({ tag, path, params, of }: Level): Route[] => [
  route({
    name: `${tag}.listStoredKeys`,
    at: `GET ${path}`,
    summary: `List the keys that code has stored for ${of}, by key`,
    description: 'Without their values.',
    forRuntime: true,
    params,
    query: ListQuery,
    answer: StorageView,
    async handle(request, control) {
      const { prefix = '' } = request.query;
      checkPrefix(prefix, control.limits, 'query.prefix');
      const { area, limits } = await readableArea(control, request);
      const page = await control.storage.list(area, { ...pageRequest(request.query, ANY_KEY), prefix });
      const { keys, bytes } = await control.storage.usage(area);
      const { storageKeys: keysMax, storageBytes: bytesMax } = limits;
      return { ...pageAnswer(page, keyView), usage: { keys, keysMax, bytes, bytesMax } };
    },
  }),
  route({
    name: `${tag}.getStoredValue`,
    at: `GET ${path}/:key`,
    summary: `Read a value that code has stored for ${of}`,
    description:
      'Only for runtime tokens. The `ETag` is its version; `annex-expires-at` says when it expires.',
    forRuntime: true,
    params: { ...params, key: Key },
    query: NoQuery,
    headers: IfNoneMatch,
    answer: Value,
    answers: { 304: NotModified },
    async handle(request, control, reply) {
      const { area, key } = await ownValue(control, request);
      const found = await control.storage.get(area, key);
      if (found === undefined) throw unknownKey();
      tagReply(reply, found.version);
      if (found.expiresAt !== undefined) reply.header('annex-expires-at', isoTime(found.expiresAt));
      if (isKnownTag(request, tagOf(found.version))) return reply.code(304).send(undefined);
      if (found.kind === 'json')
        return reply.type('application/json; charset=utf-8').send(Buffer.from(found.text));
      return reply.type('application/octet-stream').send(Buffer.from(found.text, 'base64'));
    },
  }),
];

const changesOf = ({ tag, path, params, right, of }: Level): Route[] => [
  route({
    name: `${tag}.putStoredValue`,
    at: `PUT ${path}/:key`,
    summary: `Store a value for ${of}`,
    description:
      'Only for runtime tokens. JSON, or bytes as `application/octet-stream`. Stored when it is answered.',
    forRuntime: true,
    rate: 'calls',
    params: { ...params, key: Key },
    query: PutQuery,
    headers: PutHeaders,
    body: Type.Unknown({ description: 'Any JSON value; or bytes.' }),
    bodyBytesMax: ({ storageValueBytes }) => ESCAPED_BYTES_MAX * storageValueBytes + REST_BYTES_MAX,
    bodyLimit: 'storageValueBytes',
    takesBytes: true,
    answer: VersionView,
    async handle(request, control, reply) {
      const { area, key, limits } = await ownValue(control, request);
      const { expiresIn } = request.query;
      const { value, valueBytes } = valueIn(request.body, control.limits);
      const change = {
        ...({ do: 'put', value, valueBytes } as const),
        ...(expiresIn !== undefined && { expiresInMs: Math.ceil(expiresIn * MS_PER_S) }),
        ifVersion: await expectedVersion(control, request, { area, key }),
      };
      const { version } = storedOrThrown(area, key, await control.storage.change(area, key, change, limits));
      tagReply(reply, version);
      return { version };
    },
  }),
  route({
    name: `${tag}.deleteStoredValue`,
    at: `DELETE ${path}/:key`,
    right,
    summary: `Delete a value that code has stored for ${of}`,
    description: 'Also where there is none, for runtime tokens; 404 for others.',
    forRuntime: true,
    rate: countedOfPeople,
    params: { ...params, key: Key },
    query: NoQuery,
    headers: IfMatch,
    async handle(request, control) {
      if (!isRuntime(principalOf(request))) return removedByPerson(control, request);
      const { area, key, limits } = await ownValue(control, request);
      const ifVersion = await expectedVersion(control, request, { area, key });
      const change: StorageChange = { do: 'delete', ifVersion };
      storedOrThrown(area, key, await control.storage.change(area, key, change, limits));
    },
  }),
];

const incrementOf = ({ tag, path, params, of }: Level): Route =>
  route({
    name: `${tag}.incrementStoredValue`,
    at: `POST ${path}/:key/increment`,
    summary: `Add to a whole number that is stored for ${of}`,
    description: 'Only for runtime tokens. A number that is not there yet begins at 0.',
    forRuntime: true,
    rate: 'calls',
    params: { ...params, key: Key },
    query: NoQuery,
    body: IncrementBody,
    bodyBytesMax: REST_BYTES_MAX,
    answer: SumView,
    async handle(request, control, reply) {
      const { area, key, limits } = await ownValue(control, request);
      const { by = 1 } = request.body as { readonly by?: number };
      const change: StorageChange = { do: 'increment', by };
      const answer = await control.storage.change(area, key, change, limits);
      const { number = 0, version } = storedOrThrown(area, key, answer);
      tagReply(reply, version);
      return { value: number, version };
    },
  });

export const STORAGE_ROUTES = LEVELS.flatMap((level) => [
  ...readsOf(level),
  ...changesOf(level),
  incrementOf(level),
]);

/** The keys of this list: `checkKey` has checked each when it was stored. */
const ANY_KEY = /^[^\0]+$/;

const keyView = ({ kind, expiresAt, updatedAt, ...rest }: ListedEntry) => ({
  ...rest,
  kind,
  expiresAt: isoTimeIfAny(expiresAt ?? undefined),
  updatedAt: isoTime(updatedAt),
});

const tagOf = (version: number): string => `"${version}"`;
const tagReply = (reply: FastifyReply, version: number): FastifyReply => reply.header('etag', tagOf(version));

const unknownKey = (): AnnexError => new AnnexError('STORED_VALUE_UNKNOWN', 'There is no value of this key.');

interface Params {
  readonly name: string;
  readonly id?: string;
  readonly key?: string;
}

interface Area {
  readonly area: StorageArea;
  readonly limits: Limits;
}

/**
 * The area of the path, for code of its integration.
 *
 * @throws AnnexError TOKEN_FORBIDDEN, INTEGRATION_UNKNOWN, INSTALLATION_UNKNOWN
 */
async function ownArea({ targets }: Control, request: FastifyRequest): Promise<Area> {
  const principal = runtimeOf(request, 'Stored values are for runtime tokens alone');
  const { name: integration, id } = request.params as Params;
  const named = { integration, ...(id !== undefined && { installationId: id }) };
  const target = !mayUseStorage(principal, named)
    ? undefined
    : id === undefined
      ? await targets.ofIntegration(integration)
      : await targets.named(wholeInstallation(id));
  if (target?.integration !== integration) throw unknown(request);
  return { area: { ...named, since: target.since }, limits: target.limits };
}

/** The same with the key of the path. @throws AnnexError REQUEST_INVALID, REQUEST_TOO_LARGE */
async function ownValue(control: Control, request: FastifyRequest): Promise<Area & { readonly key: string }> {
  const own = await ownArea(control, request);
  return { ...own, key: keyIn(request, control.limits) };
}

function keyIn(request: FastifyRequest, limits: Limits): string {
  const { key = '' } = request.params as Params;
  checkKey(key, limits, 'path.key');
  return key;
}

function unknown({ params }: FastifyRequest): AnnexError {
  const { name, id } = params as Params;
  return id === undefined ? unknownIntegration(name) : unknownInstallation(id);
}

/** The area of the path, for its code, and for whoever may read the log of the same code. */
async function readableArea(control: Control, request: FastifyRequest): Promise<Area> {
  if (isRuntime(principalOf(request))) return ownArea(control, request);
  const { area, limits } = await areaOfPeople(control, request, (principal, { owner, installedIn }) =>
    installedIn === undefined
      ? mayReadIntegrationLog(principal, owner)
      : mayReadLog(principal, installedIn, owner),
  );
  return { area, limits };
}

interface Owners {
  /** The organization that owns the integration. */
  readonly owner: string;
  /** The one that has installed it; absent for the area of the integration. */
  readonly installedIn?: string;
}

/** @throws AnnexError INTEGRATION_UNKNOWN, INSTALLATION_UNKNOWN */
async function areaOfPeople(
  { registry, installations, targets }: Control,
  request: FastifyRequest,
  may: (principal: Principal, owners: Owners) => boolean,
): Promise<Area & Owners> {
  const { name, id } = request.params as Params;
  const integration = await registry.integration(name);
  const found = id === undefined ? undefined : await installations.read(wholeInstallation(id));
  const target = await targets.ofIntegration(name);
  const isThere = id === undefined || found?.integration === name;
  if (integration === undefined || target === undefined || !isThere) throw unknown(request);
  const owners = {
    owner: integration.organization,
    ...(found && { installedIn: found.organization }),
  };
  if (!may(principalOf(request), owners)) throw unknown(request);
  const area = { integration: name, since: target.since, ...(id !== undefined && { installationId: id }) };
  return { area, limits: target.limits, ...owners };
}

async function removedByPerson(control: Control, request: FastifyRequest): Promise<void> {
  const key = keyIn(request, control.limits);
  const { area, owner, installedIn } = await areaOfPeople(control, request, (principal, owners) =>
    owners.installedIn === undefined
      ? mayPublish(principal, owners.owner)
      : mayInstallFor(principal, owners.installedIn),
  );
  const removed = await control.storage.remove(
    { ...area, organization: installedIn ?? owner },
    key,
    actorOf(request),
  );
  if (!removed) throw unknownKey();
}

/** @throws AnnexError REQUEST_INVALID, REQUEST_TOO_LARGE */
function valueIn(body: unknown, limits: Limits): { readonly value: StoredText; readonly valueBytes: number } {
  if (body === undefined)
    throw new AnnexError(
      'REQUEST_INVALID',
      'body is missing: send JSON, with "Content-Type: application/json", or bytes, with "application/octet-stream".',
    );
  if (Buffer.isBuffer(body)) {
    checkValue(body.byteLength, limits);
    return { value: { kind: 'bytes', text: body.toString('base64') }, valueBytes: body.byteLength };
  }
  const unfit = unpassable(body);
  if (unfit !== undefined) throw new AnnexError('REQUEST_INVALID', `body ${unfit}.`);
  const text = JSON.stringify(body);
  const valueBytes = Buffer.byteLength(text);
  checkValue(valueBytes, limits);
  return { value: { kind: 'json', text }, valueBytes };
}

/**
 * The version that a change needs, by `If-Match` or `If-None-Match: *`; undefined for any.
 *
 * @throws AnnexError REQUEST_INVALID, STORED_VALUE_CHANGED
 */
async function expectedVersion(
  { storage }: Control,
  request: FastifyRequest,
  { area, key }: { readonly area: StorageArea; readonly key: string },
): Promise<number | undefined> {
  const absent = requiredTags(request, 'if-none-match');
  const match = requiredTags(request, 'if-match');
  if (absent !== undefined) {
    if (absent !== '*' || match !== undefined)
      throw new AnnexError('REQUEST_INVALID', 'headers.if-none-match must be * here, and without if-match.');
    return 0;
  }
  if (match === undefined) return undefined;
  // One of several, or any: what it is now is what the change needs.
  const version = (await storage.get(area, key))?.version ?? 0;
  if (version > 0 && (match === '*' || match.includes(tagOf(version)))) return version;
  return storedOrThrown(area, key, { kind: 'changed', version }).version;
}
