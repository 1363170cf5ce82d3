/**
 * Every route of the API as a method, with the types of its request and its answer, from the
 * service's description at `/v1/openapi.json`.
 *
 * Generated: `npx vitest run test/service/client/generated-client.test.ts -u`.
 */

import { type Page, pagedItems } from './paging.ts';
import type { Reply } from './reply.ts';
import type { FollowOptions, Options, Requests } from './request.ts';

/** The API, by noun. */
export class Routes {
  readonly integrations: IntegrationsRoutes;
  readonly images: ImagesRoutes;
  readonly versions: VersionsRoutes;
  readonly limits: LimitsRoutes;
  readonly secrets: SecretsRoutes;
  readonly installations: InstallationsRoutes;
  readonly spaces: SpacesRoutes;
  readonly sites: SitesRoutes;
  readonly webhooks: WebhooksRoutes;
  readonly installLinks: InstallLinksRoutes;
  readonly tokens: TokensRoutes;
  readonly consoleLinks: ConsoleLinksRoutes;
  readonly statementKeys: StatementKeysRoutes;
  readonly levelNames: LevelNamesRoutes;
  readonly blocks: BlocksRoutes;
  readonly logs: LogsRoutes;
  readonly audit: AuditRoutes;
  readonly events: EventsRoutes;
  readonly eventTypes: EventTypesRoutes;
  readonly tasks: TasksRoutes;
  readonly deliveries: DeliveriesRoutes;
  readonly notices: NoticesRoutes;
  readonly schedules: SchedulesRoutes;
  readonly organizations: OrganizationsRoutes;
  readonly portalLinks: PortalLinksRoutes;
  readonly activity: ActivityRoutes;
  readonly settings: SettingsRoutes;

  constructor(requests: Requests) {
    this.integrations = new IntegrationsRoutes(requests);
    this.images = new ImagesRoutes(requests);
    this.versions = new VersionsRoutes(requests);
    this.limits = new LimitsRoutes(requests);
    this.secrets = new SecretsRoutes(requests);
    this.installations = new InstallationsRoutes(requests);
    this.spaces = new SpacesRoutes(requests);
    this.sites = new SitesRoutes(requests);
    this.webhooks = new WebhooksRoutes(requests);
    this.installLinks = new InstallLinksRoutes(requests);
    this.tokens = new TokensRoutes(requests);
    this.consoleLinks = new ConsoleLinksRoutes(requests);
    this.statementKeys = new StatementKeysRoutes(requests);
    this.levelNames = new LevelNamesRoutes(requests);
    this.blocks = new BlocksRoutes(requests);
    this.logs = new LogsRoutes(requests);
    this.audit = new AuditRoutes(requests);
    this.events = new EventsRoutes(requests);
    this.eventTypes = new EventTypesRoutes(requests);
    this.tasks = new TasksRoutes(requests);
    this.deliveries = new DeliveriesRoutes(requests);
    this.notices = new NoticesRoutes(requests);
    this.schedules = new SchedulesRoutes(requests);
    this.organizations = new OrganizationsRoutes(requests);
    this.portalLinks = new PortalLinksRoutes(requests);
    this.activity = new ActivityRoutes(requests);
    this.settings = new SettingsRoutes(requests);
  }
}

/** `annex.integrations`. */
export class IntegrationsRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List integrations, by name.
   *
   * `GET /v1/integrations`
   */
  list(query: IntegrationsListQuery = {}, options?: Options): Reply<Page<Integration>> {
    return this.#requests.send('GET', '/v1/integrations', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(
    query: Omit<IntegrationsListQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<Integration> {
    return pagedItems<Omit<IntegrationsListQuery, 'cursor' | 'page'>, Integration>(query, (page) =>
      this.list(page, options),
    );
  }

  /**
   * Publish a version and activate it. Parts: `manifest` (YAML), `secrets` (JSON object of
   * values for secrets that have none yet; with `overwriteSecrets` `true` they replace stored
   * ones), `env` (name of an environment), and `files` (relative paths as filenames), one
   * `archive` (.tar, .tar.gz), or one ready `script` (ES module). 422 lists every problem at
   * once. Where public integrations are reviewed, a version may wait.
   *
   * `POST /v1/integrations`
   */
  publish(form: FormData | Upload, options?: Options): Reply<Published> {
    return this.#requests.send('POST', '/v1/integrations', { form, options });
  }

  /**
   * Read an integration. With the members of the manifest of its active version. Images are
   * public URLs.
   *
   * `GET /v1/integrations/{name}`
   */
  get(integration: string, options?: Options): Reply<WholeIntegration> {
    return this.#requests.send('GET', '/v1/integrations/{name}', { path: { name: integration }, options });
  }

  /**
   * Delete an integration. With its versions, images and secrets. 409 if it is installed,
   * unless `cascade=true`. The name becomes free.
   *
   * `DELETE /v1/integrations/{name}`
   */
  delete(integration: string, query: IntegrationsDeleteQuery = {}, options?: Options): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}', {
      path: { name: integration },
      query,
      answer: 'none',
      options,
    });
  }

  /**
   * List the spaces of all installations. By installation, then by id.
   *
   * `GET /v1/integrations/{name}/spaces`
   */
  listSpaces(
    integration: string,
    query: IntegrationsListSpacesQuery = {},
    options?: Options,
  ): Reply<Page<InstallationInSpace>> {
    return this.#requests.send('GET', '/v1/integrations/{name}/spaces', {
      path: { name: integration },
      query,
      options,
    });
  }

  /** The items of all pages of `listSpaces`, read page by page as they are needed. */
  allSpaces(
    integration: string,
    query: Omit<IntegrationsListSpacesQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<InstallationInSpace> {
    return pagedItems<Omit<IntegrationsListSpacesQuery, 'cursor' | 'page'>, InstallationInSpace>(
      query,
      (page) => this.listSpaces(integration, page, options),
    );
  }

  /**
   * List the sites of all installations. By installation, then by id.
   *
   * `GET /v1/integrations/{name}/sites`
   */
  listSites(
    integration: string,
    query: IntegrationsListSitesQuery = {},
    options?: Options,
  ): Reply<Page<InstallationInSite>> {
    return this.#requests.send('GET', '/v1/integrations/{name}/sites', {
      path: { name: integration },
      query,
      options,
    });
  }

  /** The items of all pages of `listSites`, read page by page as they are needed. */
  allSites(
    integration: string,
    query: Omit<IntegrationsListSitesQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<InstallationInSite> {
    return pagedItems<Omit<IntegrationsListSitesQuery, 'cursor' | 'page'>, InstallationInSite>(
      query,
      (page) => this.listSites(integration, page, options),
    );
  }

  /**
   * Draw a component of an integration, after an action if one is sent. At the target that is
   * named. Otherwise at the own target of an installation token, and for an integration token
   * at the integration itself, without an installation.
   *
   * `POST /v1/integrations/{name}/render`
   */
  render(integration: string, body: RenderAt, options?: Options): Reply<Rendering> {
    return this.#requests.send('POST', '/v1/integrations/{name}/render', {
      path: { name: integration },
      body,
      options,
    });
  }

  /**
   * Draw a component of an integration in its initial state. At the target that is named.
   * Otherwise at the own target of an installation token, and for an integration token at the
   * integration itself, without an installation.
   *
   * `GET /v1/integrations/{name}/render`
   */
  getRendering(
    integration: string,
    query: IntegrationsGetRenderingQuery,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<Rendering>;
  getRendering(
    integration: string,
    query: IntegrationsGetRenderingQuery,
    options: Options & IfNoneMatch,
  ): Reply<Rendering | undefined>;
  getRendering(
    integration: string,
    query: IntegrationsGetRenderingQuery,
    options?: Options & IfNoneMatch,
  ): Reply<Rendering | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/render', {
      path: { name: integration },
      query,
      headers: { 'if-none-match': options?.ifNoneMatch },
      options,
    });
  }

  /**
   * List the keys that code has stored for an integration, shared by its installations, by
   * key. Without their values.
   *
   * `GET /v1/integrations/{name}/storage`
   */
  listStoredKeys(
    integration: string,
    query: IntegrationsListStoredKeysQuery = {},
    options?: Options,
  ): Reply<
    Page<StoredKey> & {
      readonly usage: StorageUsage;
    }
  > {
    return this.#requests.send('GET', '/v1/integrations/{name}/storage', {
      path: { name: integration },
      query,
      options,
    });
  }

  /** The items of all pages of `listStoredKeys`, read page by page as they are needed. */
  allStoredKeys(
    integration: string,
    query: Omit<IntegrationsListStoredKeysQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<StoredKey> {
    return pagedItems<Omit<IntegrationsListStoredKeysQuery, 'cursor' | 'page'>, StoredKey>(query, (page) =>
      this.listStoredKeys(integration, page, options),
    );
  }

  /**
   * Read a value that code has stored for an integration, shared by its installations. Only
   * for runtime tokens. The `ETag` is its version; `annex-expires-at` says when it expires.
   *
   * @param key Percent-encoded, also its slashes.
   * `GET /v1/integrations/{name}/storage/{key}`
   */
  getStoredValue(
    integration: string,
    key: string,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<Blob>;
  getStoredValue(integration: string, key: string, options: Options & IfNoneMatch): Reply<Blob | undefined>;
  getStoredValue(integration: string, key: string, options?: Options & IfNoneMatch): Reply<Blob | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/storage/{key}', {
      path: { name: integration, key },
      headers: { 'if-none-match': options?.ifNoneMatch },
      answer: 'blob',
      options,
    });
  }

  /**
   * Delete a value that code has stored for an integration, shared by its installations. Also
   * where there is none, for runtime tokens; 404 for others.
   *
   * @param key Percent-encoded, also its slashes.
   * `DELETE /v1/integrations/{name}/storage/{key}`
   */
  deleteStoredValue(integration: string, key: string, options?: Options & IfMatch): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}/storage/{key}', {
      path: { name: integration, key },
      headers: { 'if-match': options?.ifMatch },
      answer: 'none',
      options,
    });
  }

  /**
   * Store a value for an integration, shared by its installations. Only for runtime tokens.
   * JSON, or bytes as `application/octet-stream`. Stored when it is answered.
   *
   * @param key Percent-encoded, also its slashes.
   * `PUT /v1/integrations/{name}/storage/{key}`
   */
  putStoredValue(
    integration: string,
    key: string,
    body: unknown,
    options?: Options &
      IntegrationsPutStoredValueQuery &
      IfMatch &
      IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<StoredVersion>;
  putStoredValue(
    integration: string,
    key: string,
    body: unknown,
    options: Options & IntegrationsPutStoredValueQuery & IfMatch & IfNoneMatch,
  ): Reply<StoredVersion | undefined>;
  putStoredValue(
    integration: string,
    key: string,
    body: unknown,
    options?: Options & IntegrationsPutStoredValueQuery & IfMatch & IfNoneMatch,
  ): Reply<StoredVersion | undefined> {
    return this.#requests.send('PUT', '/v1/integrations/{name}/storage/{key}', {
      path: { name: integration, key },
      query: { expiresIn: options?.expiresIn },
      body,
      headers: { 'if-match': options?.ifMatch, 'if-none-match': options?.ifNoneMatch },
      options,
    });
  }

  /**
   * Add to a whole number that is stored for an integration, shared by its installations. Only
   * for runtime tokens. A number that is not there yet begins at 0.
   *
   * @param key Percent-encoded, also its slashes.
   * `POST /v1/integrations/{name}/storage/{key}/increment`
   */
  incrementStoredValue(
    integration: string,
    key: string,
    body: StoredIncrement = {},
    options?: Options,
  ): Reply<StoredSum> {
    return this.#requests.send('POST', '/v1/integrations/{name}/storage/{key}/increment', {
      path: { name: integration, key },
      body,
      options,
    });
  }

  /**
   * List the schedules of an integration’s own endpoint.
   *
   * `GET /v1/integrations/{name}/schedules`
   */
  listSchedules(integration: string, options?: Options): Reply<Schedules> {
    return this.#requests.send('GET', '/v1/integrations/{name}/schedules', {
      path: { name: integration },
      options,
    });
  }

  /**
   * Run a schedule of an integration’s own endpoint now.
   *
   * `POST /v1/integrations/{name}/schedules/{schedule}/run`
   */
  runSchedule(integration: string, schedule: string, options?: Options): Reply<StartedRun> {
    return this.#requests.send('POST', '/v1/integrations/{name}/schedules/{schedule}/run', {
      path: { name: integration, schedule },
      options,
    });
  }

  /**
   * Check an upload as a publish does, and store nothing. The parts of a publish. 422 lists
   * every problem at once.
   *
   * `POST /v1/integrations/check`
   */
  check(form: FormData | Upload, options?: Options): Reply<Checked> {
    return this.#requests.send('POST', '/v1/integrations/check', { form, options });
  }
}

/** `annex.images`. */
export class ImagesRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Read an image of an integration. An icon, preview or other image of the active version, by
   * its path from the manifest.
   *
   * @param path Path from the folder of the manifest, with slashes.
   * `GET /v1/integrations/{name}/images/{path}`
   */
  get(
    integration: string,
    path: string,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<Blob>;
  get(integration: string, path: string, options: Options & IfNoneMatch): Reply<Blob | undefined>;
  get(integration: string, path: string, options?: Options & IfNoneMatch): Reply<Blob | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/images/{path}', {
      path: { name: integration, path },
      headers: { 'if-none-match': options?.ifNoneMatch },
      answer: 'blob',
      options,
    });
  }
}

/** `annex.versions`. */
export class VersionsRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List versions, newest first.
   *
   * `GET /v1/integrations/{name}/versions`
   */
  list(integration: string, query: VersionsListQuery = {}, options?: Options): Reply<Page<Version>> {
    return this.#requests.send('GET', '/v1/integrations/{name}/versions', {
      path: { name: integration },
      query,
      options,
    });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(
    integration: string,
    query: Omit<VersionsListQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<Version> {
    return pagedItems<Omit<VersionsListQuery, 'cursor' | 'page'>, Version>(query, (page) =>
      this.list(integration, page, options),
    );
  }

  /**
   * Read a version with the members of its manifest. Images are paths as in the manifest.
   *
   * `GET /v1/integrations/{name}/versions/{version}`
   */
  get(integration: string, version: number, options?: Options): Reply<WholeVersion> {
    return this.#requests.send('GET', '/v1/integrations/{name}/versions/{version}', {
      path: { name: integration, version },
      options,
    });
  }

  /**
   * Activate a version. Calls that start after the answer run this version. Secrets keep their
   * values. Installations keep their status until they are edited, even if the version
   * declares other properties. Of an integration that is reviewed, only an approved version is
   * activated.
   *
   * `POST /v1/integrations/{name}/versions/{version}/activate`
   */
  activate(integration: string, version: number, options?: Options): Reply<VersionsActivateAnswer> {
    return this.#requests.send('POST', '/v1/integrations/{name}/versions/{version}/activate', {
      path: { name: integration, version },
      options,
    });
  }

  /**
   * Approve a version. It becomes the active one, with the visibility of its manifest. Does
   * nothing if it is approved already.
   *
   * `POST /v1/integrations/{name}/versions/{version}/approve`
   */
  approve(integration: string, version: number, options?: Options): Reply<ReviewedVersion> {
    return this.#requests.send('POST', '/v1/integrations/{name}/versions/{version}/approve', {
      path: { name: integration, version },
      options,
    });
  }

  /**
   * Refuse a version. Its owner reads the reason. A version that was approved before is not
   * activated again.
   *
   * `POST /v1/integrations/{name}/versions/{version}/refuse`
   */
  refuse(integration: string, version: number, body: Refusal, options?: Options): Reply<ReviewedVersion> {
    return this.#requests.send('POST', '/v1/integrations/{name}/versions/{version}/refuse', {
      path: { name: integration, version },
      body,
      options,
    });
  }

  /**
   * Read the source map of a version. For a tracker of errors: from positions of the script,
   * which are those of an error's `stack`, to the files of the upload. It has no text of these
   * files.
   *
   * `GET /v1/integrations/{name}/versions/{version}/source-map`
   */
  getSourceMap(integration: string, version: number, options?: Options): Reply<SourceMap> {
    return this.#requests.send('GET', '/v1/integrations/{name}/versions/{version}/source-map', {
      path: { name: integration, version },
      options,
    });
  }

  /**
   * Read the script of a version. As it runs in an isolate: the bundle of the upload. Its last
   * line names its source map.
   *
   * `GET /v1/integrations/{name}/versions/{version}/script`
   */
  getScript(integration: string, version: number, options?: Options): Reply<string> {
    return this.#requests.send('GET', '/v1/integrations/{name}/versions/{version}/script', {
      path: { name: integration, version },
      answer: 'text',
      options,
    });
  }
}

/** `annex.limits`. */
export class LimitsRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Read the limits of an integration.
   *
   * `GET /v1/integrations/{name}/limits`
   */
  get(integration: string, options?: Options): Reply<IntegrationLimits> {
    return this.#requests.send('GET', '/v1/integrations/{name}/limits', {
      path: { name: integration },
      options,
    });
  }

  /**
   * Lower the limits of an integration. Replaces all limits that were lowered before. They
   * apply to calls that start after the answer.
   *
   * `PUT /v1/integrations/{name}/limits`
   */
  set(
    integration: string,
    body: Readonly<Record<string, unknown>>,
    options?: Options,
  ): Reply<IntegrationLimits> {
    return this.#requests.send('PUT', '/v1/integrations/{name}/limits', {
      path: { name: integration },
      body,
      options,
    });
  }

  /**
   * Reset the limits of an integration to those of the deployment.
   *
   * `DELETE /v1/integrations/{name}/limits`
   */
  delete(integration: string, options?: Options): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}/limits', {
      path: { name: integration },
      answer: 'none',
      options,
    });
  }
}

/** `annex.secrets`. */
export class SecretsRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List the secrets of an integration, by name. Without their values, which are never shown.
   *
   * `GET /v1/integrations/{name}/secrets`
   */
  list(integration: string, options?: Options): Reply<IntegrationSecrets> {
    return this.#requests.send('GET', '/v1/integrations/{name}/secrets', {
      path: { name: integration },
      options,
    });
  }

  /**
   * Set secrets of an integration. Sets all the named secrets or none; the active version must
   * declare each. Calls that start after the answer see the new values.
   *
   * `PUT /v1/integrations/{name}/secrets`
   */
  set(
    integration: string,
    body: Readonly<Record<string, unknown>>,
    options?: Options,
  ): Reply<IntegrationSecrets> {
    return this.#requests.send('PUT', '/v1/integrations/{name}/secrets', {
      path: { name: integration },
      body,
      options,
    });
  }

  /**
   * Remove a secret that the active version does not declare.
   *
   * `DELETE /v1/integrations/{name}/secrets/{secret}`
   */
  delete(integration: string, secret: string, options?: Options): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}/secrets/{secret}', {
      path: { name: integration, secret },
      answer: 'none',
      options,
    });
  }
}

/** `annex.installations`. */
export class InstallationsRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Install into an organization.
   *
   * `POST /v1/integrations/{name}/installations`
   */
  create(integration: string, body: Install, options?: Options): Reply<Installation> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations', {
      path: { name: integration },
      body,
      options,
    });
  }

  /**
   * List installations.
   *
   * `GET /v1/integrations/{name}/installations`
   */
  list(
    integration: string,
    query: InstallationsListQuery = {},
    options?: Options,
  ): Reply<Page<Installation>> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations', {
      path: { name: integration },
      query,
      options,
    });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(
    integration: string,
    query: Omit<InstallationsListQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<Installation> {
    return pagedItems<Omit<InstallationsListQuery, 'cursor' | 'page'>, Installation>(query, (page) =>
      this.list(integration, page, options),
    );
  }

  /**
   * List the installations of all integrations. By id. An organization sees its own.
   *
   * `GET /v1/installations`
   */
  listWhere(query: InstallationsListWhereQuery = {}, options?: Options): Reply<Page<Installation>> {
    return this.#requests.send('GET', '/v1/installations', { query, options });
  }

  /** The items of all pages of `listWhere`, read page by page as they are needed. */
  allWhere(
    query: Omit<InstallationsListWhereQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<Installation> {
    return pagedItems<Omit<InstallationsListWhereQuery, 'cursor' | 'page'>, Installation>(query, (page) =>
      this.listWhere(page, options),
    );
  }

  /**
   * Read an installation.
   *
   * `GET /v1/integrations/{name}/installations/{id}`
   */
  get(
    integration: string,
    installationId: string,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<Installation>;
  get(
    integration: string,
    installationId: string,
    options: Options & IfNoneMatch,
  ): Reply<Installation | undefined>;
  get(
    integration: string,
    installationId: string,
    options?: Options & IfNoneMatch,
  ): Reply<Installation | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}', {
      path: { name: integration, id: installationId },
      headers: { 'if-none-match': options?.ifNoneMatch },
      options,
    });
  }

  /**
   * Edit an installation. Members that are left out stay as they are. If the resulting
   * configuration is valid, a pending installation becomes active; otherwise `problems` lists
   * what is missing. An edit that makes an active one invalid gets 422, unless a runtime token
   * replaces the configuration: the installation becomes pending.
   *
   * `PATCH /v1/integrations/{name}/installations/{id}`
   */
  update(
    integration: string,
    installationId: string,
    body: InstallationEdit,
    options?: Options & InstallationsUpdateQuery & IfMatch,
  ): Reply<Installation> {
    return this.#requests.send('PATCH', '/v1/integrations/{name}/installations/{id}', {
      path: { name: integration, id: installationId },
      query: { configuration: options?.configuration },
      body,
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Uninstall: remove an installation with all its data.
   *
   * `DELETE /v1/integrations/{name}/installations/{id}`
   */
  delete(integration: string, installationId: string, options?: Options & IfMatch): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}/installations/{id}', {
      path: { name: integration, id: installationId },
      headers: { 'if-match': options?.ifMatch },
      answer: 'none',
      options,
    });
  }

  /**
   * Pause an installation. Until it is resumed, it gets no events and its endpoint answers
   * 503.
   *
   * `POST /v1/integrations/{name}/installations/{id}/pause`
   */
  pause(integration: string, installationId: string, options?: Options & IfMatch): Reply<Installation> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/pause', {
      path: { name: integration, id: installationId },
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Resume an installation. Makes it active, or pending if its configuration is not valid.
   *
   * `POST /v1/integrations/{name}/installations/{id}/resume`
   */
  resume(integration: string, installationId: string, options?: Options & IfMatch): Reply<Installation> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/resume', {
      path: { name: integration, id: installationId },
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Read the webhook secret of an installation.
   *
   * `GET /v1/integrations/{name}/installations/{id}/webhook-secret`
   */
  getWebhookSecret(integration: string, installationId: string, options?: Options): Reply<WebhookSecret> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/webhook-secret', {
      path: { name: integration, id: installationId },
      options,
    });
  }

  /**
   * Rotate the webhook secret of an installation. At once, or with an overlap in which each
   * webhook has two signatures, the new one first. A rotation during an overlap ends that
   * overlap: the replaced secret becomes the previous one, and the earlier one stops signing.
   *
   * `POST /v1/integrations/{name}/installations/{id}/webhook-secret/rotate`
   */
  rotateWebhookSecret(
    integration: string,
    installationId: string,
    body: WebhookSecretRotation,
    options?: Options,
  ): Reply<WebhookSecret> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/webhook-secret/rotate', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Test the webhook of an installation. Accepts an example event, as the host product would
   * post it, for this target only.
   *
   * `POST /v1/integrations/{name}/installations/{id}/webhook-test`
   */
  testWebhook(
    integration: string,
    installationId: string,
    body: WebhookToTest = {},
    options?: Options,
  ): Reply<WebhookTest> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/webhook-test', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Read the names of the own headers of the webhook of an installation.
   *
   * `GET /v1/integrations/{name}/installations/{id}/webhook-headers`
   */
  getWebhookHeaders(integration: string, installationId: string, options?: Options): Reply<WebhookHeaders> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/webhook-headers', {
      path: { name: integration, id: installationId },
      options,
    });
  }

  /**
   * Set the own headers of the webhook of an installation. Replaces all of them. Requests to
   * the origin that the URL of the webhook has now carry them; after a change to another
   * origin they are set again.
   *
   * `PUT /v1/integrations/{name}/installations/{id}/webhook-headers`
   */
  setWebhookHeaders(
    integration: string,
    installationId: string,
    body: WebhookHeadersToSet,
    options?: Options,
  ): Reply<WebhookHeaders> {
    return this.#requests.send('PUT', '/v1/integrations/{name}/installations/{id}/webhook-headers', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Remove the own headers of the webhook of an installation.
   *
   * `DELETE /v1/integrations/{name}/installations/{id}/webhook-headers`
   */
  deleteWebhookHeaders(integration: string, installationId: string, options?: Options): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}/installations/{id}/webhook-headers', {
      path: { name: integration, id: installationId },
      answer: 'none',
      options,
    });
  }

  /**
   * Read the state of the webhook of an installation.
   *
   * `GET /v1/integrations/{name}/installations/{id}/webhook`
   */
  getWebhook(integration: string, installationId: string, options?: Options): Reply<WebhookWithTypes> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/webhook', {
      path: { name: integration, id: installationId },
      options,
    });
  }

  /**
   * Disable the webhook of an installation. Nothing is posted to its receiver until it is
   * enabled; its deliveries are held meanwhile.
   *
   * `POST /v1/integrations/{name}/installations/{id}/webhook/disable`
   */
  disableWebhook(
    integration: string,
    installationId: string,
    body: WebhookDisabling = {},
    options?: Options,
  ): Reply<WholeWebhook> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/webhook/disable', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Enable the webhook of an installation. What the operator or the host product has disabled,
   * only a token of that kind enables. With `replay`, what was held is delivered: a bounded
   * number for each request, a few at a time, and one at a time while the receiver fails.
   *
   * `POST /v1/integrations/{name}/installations/{id}/webhook/enable`
   */
  enableWebhook(
    integration: string,
    installationId: string,
    body: WebhookEnabling = {},
    options?: Options,
  ): Reply<EnabledWebhook> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/webhook/enable', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Read the configuration of an installation as a form.
   *
   * `GET /v1/integrations/{name}/installations/{id}/configuration`
   */
  getConfiguration(integration: string, installationId: string, options?: Options): Reply<ConfigurationForm> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/configuration', {
      path: { name: integration, id: installationId },
      options,
    });
  }

  /**
   * Save fields of the configuration of an installation. Sets what the form has, and leaves
   * all else as it is. An edit that makes an active installation invalid gets 422.
   *
   * `PATCH /v1/integrations/{name}/installations/{id}/configuration`
   */
  saveConfiguration(
    integration: string,
    installationId: string,
    body: ConfigurationToSave,
    options?: Options & IfMatch,
  ): Reply<ConfigurationForm> {
    return this.#requests.send('PATCH', '/v1/integrations/{name}/installations/{id}/configuration', {
      path: { name: integration, id: installationId },
      body,
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Create a token for a page that configures an installation. It reads and saves this form,
   * gets the options of its properties, and draws the component of its settings.
   *
   * `POST /v1/integrations/{name}/installations/{id}/ui-tokens`
   */
  createUiToken(
    integration: string,
    installationId: string,
    body: UiTokenToCreate = {},
    options?: Options,
  ): Reply<UiToken> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/ui-tokens', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Get a runtime token of an installation. For code of the integration. It expires as the
   * tokens of a call do.
   *
   * `POST /v1/integrations/{name}/installations/{id}/tokens`
   */
  createToken(integration: string, installationId: string, options?: Options): Reply<InstallationToken> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/tokens', {
      path: { name: integration, id: installationId },
      options,
    });
  }

  /**
   * Lease the credentials of an installation to renew them.
   *
   * `POST /v1/integrations/{name}/installations/{id}/credentials/lease`
   */
  leaseCredentials(
    integration: string,
    installationId: string,
    body: LeaseRequest,
    options?: Options,
  ): Reply<CredentialsLease> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/credentials/lease', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Release the lease of the credentials of an installation.
   *
   * `DELETE /v1/integrations/{name}/installations/{id}/credentials/lease/{lease}`
   */
  releaseCredentials(
    integration: string,
    installationId: string,
    lease: string,
    options?: Options,
  ): Reply<void> {
    return this.#requests.send(
      'DELETE',
      '/v1/integrations/{name}/installations/{id}/credentials/lease/{lease}',
      { path: { name: integration, id: installationId, lease }, answer: 'none', options },
    );
  }

  /**
   * Report that no provider renews the credentials of an installation any more. The product is
   * told once, until other credentials are stored.
   *
   * `POST /v1/integrations/{name}/installations/{id}/credentials/lost`
   */
  reportLostConnection(
    integration: string,
    installationId: string,
    body: LostConnection,
    options?: Options & IfMatch,
  ): Reply<void> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/credentials/lost', {
      path: { name: integration, id: installationId },
      body,
      headers: { 'if-match': options?.ifMatch },
      answer: 'none',
      options,
    });
  }

  /**
   * Spend the state of an OAuth flow of an installation.
   *
   * `POST /v1/integrations/{name}/installations/{id}/credentials/states`
   */
  spendState(
    integration: string,
    installationId: string,
    body: StateToSpend,
    options?: Options,
  ): Reply<SpentState> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/credentials/states', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Get the options of a property of an installation from the integration. Calls the
   * `completion_url` of the property at the endpoint, with `?search=` if sent. It must answer
   * `[{"label", "value"}]`.
   *
   * `POST /v1/integrations/{name}/installations/{id}/completions`
   */
  getCompletions(
    integration: string,
    installationId: string,
    body: CompletionsRequest,
    options?: Options,
  ): Reply<Completions> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/completions', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Draw a component of an installation, after an action if one is sent.
   *
   * `POST /v1/integrations/{name}/installations/{id}/render`
   */
  render(integration: string, installationId: string, body: Render, options?: Options): Reply<Rendering> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/render', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * Draw a component of an installation in its initial state. Answers with an `ETag`. Clients
   * may cache it for as long as the component allows.
   *
   * `GET /v1/integrations/{name}/installations/{id}/render`
   */
  getRendering(
    integration: string,
    installationId: string,
    query: InstallationsGetRenderingQuery,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<Rendering>;
  getRendering(
    integration: string,
    installationId: string,
    query: InstallationsGetRenderingQuery,
    options: Options & IfNoneMatch,
  ): Reply<Rendering | undefined>;
  getRendering(
    integration: string,
    installationId: string,
    query: InstallationsGetRenderingQuery,
    options?: Options & IfNoneMatch,
  ): Reply<Rendering | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/render', {
      path: { name: integration, id: installationId },
      query,
      headers: { 'if-none-match': options?.ifNoneMatch },
      options,
    });
  }

  /**
   * Have an installation compute content.
   *
   * @param source `sourceId` of a content source.
   * `POST /v1/integrations/{name}/installations/{id}/content-sources/{source}/compute`
   */
  computeContent<Answer = unknown>(
    integration: string,
    installationId: string,
    source: string,
    body: Computation,
    options?: Options,
  ): Reply<Answer> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/content-sources/{source}/compute',
      { path: { name: integration, id: installationId, source }, body, options },
    );
  }

  /**
   * Ask an installation what its code answers. The manifest declares the calls. A call ends
   * when its client disconnects.
   *
   * @param call `name` of a call of the manifest.
   * `POST /v1/integrations/{name}/installations/{id}/calls/{call}`
   */
  call<Answer = unknown>(
    integration: string,
    installationId: string,
    call: string,
    body: CallInput,
    options?: Options,
  ): Reply<Answer> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/calls/{call}', {
      path: { name: integration, id: installationId, call },
      body,
      options,
    });
  }

  /**
   * List the keys that code has stored for an installation, by key. Without their values.
   *
   * `GET /v1/integrations/{name}/installations/{id}/storage`
   */
  listStoredKeys(
    integration: string,
    installationId: string,
    query: InstallationsListStoredKeysQuery = {},
    options?: Options,
  ): Reply<
    Page<StoredKey> & {
      readonly usage: StorageUsage;
    }
  > {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/storage', {
      path: { name: integration, id: installationId },
      query,
      options,
    });
  }

  /** The items of all pages of `listStoredKeys`, read page by page as they are needed. */
  allStoredKeys(
    integration: string,
    installationId: string,
    query: Omit<InstallationsListStoredKeysQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<StoredKey> {
    return pagedItems<Omit<InstallationsListStoredKeysQuery, 'cursor' | 'page'>, StoredKey>(query, (page) =>
      this.listStoredKeys(integration, installationId, page, options),
    );
  }

  /**
   * Read a value that code has stored for an installation. Only for runtime tokens. The `ETag`
   * is its version; `annex-expires-at` says when it expires.
   *
   * @param key Percent-encoded, also its slashes.
   * `GET /v1/integrations/{name}/installations/{id}/storage/{key}`
   */
  getStoredValue(
    integration: string,
    installationId: string,
    key: string,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<Blob>;
  getStoredValue(
    integration: string,
    installationId: string,
    key: string,
    options: Options & IfNoneMatch,
  ): Reply<Blob | undefined>;
  getStoredValue(
    integration: string,
    installationId: string,
    key: string,
    options?: Options & IfNoneMatch,
  ): Reply<Blob | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/storage/{key}', {
      path: { name: integration, id: installationId, key },
      headers: { 'if-none-match': options?.ifNoneMatch },
      answer: 'blob',
      options,
    });
  }

  /**
   * Delete a value that code has stored for an installation. Also where there is none, for
   * runtime tokens; 404 for others.
   *
   * @param key Percent-encoded, also its slashes.
   * `DELETE /v1/integrations/{name}/installations/{id}/storage/{key}`
   */
  deleteStoredValue(
    integration: string,
    installationId: string,
    key: string,
    options?: Options & IfMatch,
  ): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}/installations/{id}/storage/{key}', {
      path: { name: integration, id: installationId, key },
      headers: { 'if-match': options?.ifMatch },
      answer: 'none',
      options,
    });
  }

  /**
   * Store a value for an installation. Only for runtime tokens. JSON, or bytes as
   * `application/octet-stream`. Stored when it is answered.
   *
   * @param key Percent-encoded, also its slashes.
   * `PUT /v1/integrations/{name}/installations/{id}/storage/{key}`
   */
  putStoredValue(
    integration: string,
    installationId: string,
    key: string,
    body: unknown,
    options?: Options &
      InstallationsPutStoredValueQuery &
      IfMatch &
      IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<StoredVersion>;
  putStoredValue(
    integration: string,
    installationId: string,
    key: string,
    body: unknown,
    options: Options & InstallationsPutStoredValueQuery & IfMatch & IfNoneMatch,
  ): Reply<StoredVersion | undefined>;
  putStoredValue(
    integration: string,
    installationId: string,
    key: string,
    body: unknown,
    options?: Options & InstallationsPutStoredValueQuery & IfMatch & IfNoneMatch,
  ): Reply<StoredVersion | undefined> {
    return this.#requests.send('PUT', '/v1/integrations/{name}/installations/{id}/storage/{key}', {
      path: { name: integration, id: installationId, key },
      query: { expiresIn: options?.expiresIn },
      body,
      headers: { 'if-match': options?.ifMatch, 'if-none-match': options?.ifNoneMatch },
      options,
    });
  }

  /**
   * Add to a whole number that is stored for an installation. Only for runtime tokens. A
   * number that is not there yet begins at 0.
   *
   * @param key Percent-encoded, also its slashes.
   * `POST /v1/integrations/{name}/installations/{id}/storage/{key}/increment`
   */
  incrementStoredValue(
    integration: string,
    installationId: string,
    key: string,
    body: StoredIncrement = {},
    options?: Options,
  ): Reply<StoredSum> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/storage/{key}/increment', {
      path: { name: integration, id: installationId, key },
      body,
      options,
    });
  }
}

/** `annex.spaces`. */
export class SpacesRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Read an installation in a space.
   *
   * @param space Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/spaces/{space}`
   */
  get(
    integration: string,
    installationId: string,
    space: string,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<InstallationInSpace>;
  get(
    integration: string,
    installationId: string,
    space: string,
    options: Options & IfNoneMatch,
  ): Reply<InstallationInSpace | undefined>;
  get(
    integration: string,
    installationId: string,
    space: string,
    options?: Options & IfNoneMatch,
  ): Reply<InstallationInSpace | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/spaces/{space}', {
      path: { name: integration, id: installationId, space },
      headers: { 'if-none-match': options?.ifNoneMatch },
      options,
    });
  }

  /**
   * Edit an installation in a space. Members that are left out stay as they are. If the
   * resulting configuration is valid, a pending installation becomes active; otherwise
   * `problems` lists what is missing. An edit that makes an active one invalid gets 422,
   * unless a runtime token replaces the configuration: the installation becomes pending.
   *
   * @param space Id of a space or a site of the host product.
   * `PATCH /v1/integrations/{name}/installations/{id}/spaces/{space}`
   */
  update(
    integration: string,
    installationId: string,
    space: string,
    body: PlaceEdit,
    options?: Options & SpacesUpdateQuery & IfMatch,
  ): Reply<InstallationInSpace> {
    return this.#requests.send('PATCH', '/v1/integrations/{name}/installations/{id}/spaces/{space}', {
      path: { name: integration, id: installationId, space },
      query: { configuration: options?.configuration },
      body,
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Uninstall: remove an installation in a space with all its data.
   *
   * @param space Id of a space or a site of the host product.
   * `DELETE /v1/integrations/{name}/installations/{id}/spaces/{space}`
   */
  delete(
    integration: string,
    installationId: string,
    space: string,
    options?: Options & IfMatch,
  ): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}/installations/{id}/spaces/{space}', {
      path: { name: integration, id: installationId, space },
      headers: { 'if-match': options?.ifMatch },
      answer: 'none',
      options,
    });
  }

  /**
   * Pause an installation in a space. Until it is resumed, it gets no events and its endpoint
   * answers 503.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/pause`
   */
  pause(
    integration: string,
    installationId: string,
    space: string,
    options?: Options & IfMatch,
  ): Reply<InstallationInSpace> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/spaces/{space}/pause', {
      path: { name: integration, id: installationId, space },
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Resume an installation in a space. Makes it active, or pending if its configuration is not
   * valid.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/resume`
   */
  resume(
    integration: string,
    installationId: string,
    space: string,
    options?: Options & IfMatch,
  ): Reply<InstallationInSpace> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/spaces/{space}/resume', {
      path: { name: integration, id: installationId, space },
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Install into a space.
   *
   * `POST /v1/integrations/{name}/installations/{id}/spaces`
   */
  create(
    integration: string,
    installationId: string,
    body: InstallInSpace,
    options?: Options,
  ): Reply<InstallationInSpace> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/spaces', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * List the spaces of an installation, by id.
   *
   * `GET /v1/integrations/{name}/installations/{id}/spaces`
   */
  list(
    integration: string,
    installationId: string,
    query: SpacesListQuery = {},
    options?: Options,
  ): Reply<Page<InstallationInSpace>> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/spaces', {
      path: { name: integration, id: installationId },
      query,
      options,
    });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(
    integration: string,
    installationId: string,
    query: Omit<SpacesListQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<InstallationInSpace> {
    return pagedItems<Omit<SpacesListQuery, 'cursor' | 'page'>, InstallationInSpace>(query, (page) =>
      this.list(integration, installationId, page, options),
    );
  }

  /**
   * Read the webhook secret of an installation in a space.
   *
   * @param space Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-secret`
   */
  getWebhookSecret(
    integration: string,
    installationId: string,
    space: string,
    options?: Options,
  ): Reply<WebhookSecret> {
    return this.#requests.send(
      'GET',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-secret',
      { path: { name: integration, id: installationId, space }, options },
    );
  }

  /**
   * Rotate the webhook secret of an installation in a space. At once, or with an overlap in
   * which each webhook has two signatures, the new one first. A rotation during an overlap
   * ends that overlap: the replaced secret becomes the previous one, and the earlier one stops
   * signing.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-secret/rotate`
   */
  rotateWebhookSecret(
    integration: string,
    installationId: string,
    space: string,
    body: WebhookSecretRotation,
    options?: Options,
  ): Reply<WebhookSecret> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-secret/rotate',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Test the webhook of an installation in a space. Accepts an example event, as the host
   * product would post it, for this target only.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-test`
   */
  testWebhook(
    integration: string,
    installationId: string,
    space: string,
    body: WebhookToTest = {},
    options?: Options,
  ): Reply<WebhookTest> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-test',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Read the names of the own headers of the webhook of an installation in a space.
   *
   * @param space Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-headers`
   */
  getWebhookHeaders(
    integration: string,
    installationId: string,
    space: string,
    options?: Options,
  ): Reply<WebhookHeaders> {
    return this.#requests.send(
      'GET',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-headers',
      { path: { name: integration, id: installationId, space }, options },
    );
  }

  /**
   * Set the own headers of the webhook of an installation in a space. Replaces all of them.
   * Requests to the origin that the URL of the webhook has now carry them; after a change to
   * another origin they are set again.
   *
   * @param space Id of a space or a site of the host product.
   * `PUT /v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-headers`
   */
  setWebhookHeaders(
    integration: string,
    installationId: string,
    space: string,
    body: WebhookHeadersToSet,
    options?: Options,
  ): Reply<WebhookHeaders> {
    return this.#requests.send(
      'PUT',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-headers',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Remove the own headers of the webhook of an installation in a space.
   *
   * @param space Id of a space or a site of the host product.
   * `DELETE /v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-headers`
   */
  deleteWebhookHeaders(
    integration: string,
    installationId: string,
    space: string,
    options?: Options,
  ): Reply<void> {
    return this.#requests.send(
      'DELETE',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/webhook-headers',
      { path: { name: integration, id: installationId, space }, answer: 'none', options },
    );
  }

  /**
   * Read the state of the webhook of an installation in a space.
   *
   * @param space Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/spaces/{space}/webhook`
   */
  getWebhook(
    integration: string,
    installationId: string,
    space: string,
    options?: Options,
  ): Reply<WebhookWithTypes> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/spaces/{space}/webhook', {
      path: { name: integration, id: installationId, space },
      options,
    });
  }

  /**
   * Disable the webhook of an installation in a space. Nothing is posted to its receiver until
   * it is enabled; its deliveries are held meanwhile.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/webhook/disable`
   */
  disableWebhook(
    integration: string,
    installationId: string,
    space: string,
    body: WebhookDisabling = {},
    options?: Options,
  ): Reply<WholeWebhook> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/webhook/disable',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Enable the webhook of an installation in a space. What the operator or the host product
   * has disabled, only a token of that kind enables. With `replay`, what was held is
   * delivered: a bounded number for each request, a few at a time, and one at a time while the
   * receiver fails.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/webhook/enable`
   */
  enableWebhook(
    integration: string,
    installationId: string,
    space: string,
    body: WebhookEnabling = {},
    options?: Options,
  ): Reply<EnabledWebhook> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/webhook/enable',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Read the configuration of an installation in a space as a form.
   *
   * @param space Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/spaces/{space}/configuration`
   */
  getConfiguration(
    integration: string,
    installationId: string,
    space: string,
    options?: Options,
  ): Reply<ConfigurationForm> {
    return this.#requests.send(
      'GET',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/configuration',
      { path: { name: integration, id: installationId, space }, options },
    );
  }

  /**
   * Save fields of the configuration of an installation in a space. Sets what the form has,
   * and leaves all else as it is. An edit that makes an active installation invalid gets 422.
   *
   * @param space Id of a space or a site of the host product.
   * `PATCH /v1/integrations/{name}/installations/{id}/spaces/{space}/configuration`
   */
  saveConfiguration(
    integration: string,
    installationId: string,
    space: string,
    body: ConfigurationToSave,
    options?: Options & IfMatch,
  ): Reply<ConfigurationForm> {
    return this.#requests.send(
      'PATCH',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/configuration',
      {
        path: { name: integration, id: installationId, space },
        body,
        headers: { 'if-match': options?.ifMatch },
        options,
      },
    );
  }

  /**
   * Create a token for a page that configures an installation in a space. It reads and saves
   * this form, gets the options of its properties, and draws the component of its settings.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/ui-tokens`
   */
  createUiToken(
    integration: string,
    installationId: string,
    space: string,
    body: UiTokenToCreate = {},
    options?: Options,
  ): Reply<UiToken> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/ui-tokens',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Lease the credentials of an installation in a space to renew them.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/credentials/lease`
   */
  leaseCredentials(
    integration: string,
    installationId: string,
    space: string,
    body: LeaseRequest,
    options?: Options,
  ): Reply<CredentialsLease> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/credentials/lease',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Release the lease of the credentials of an installation in a space.
   *
   * @param space Id of a space or a site of the host product.
   * `DELETE
   *   /v1/integrations/{name}/installations/{id}/spaces/{space}/credentials/lease/{lease}`
   */
  releaseCredentials(
    integration: string,
    installationId: string,
    space: string,
    lease: string,
    options?: Options,
  ): Reply<void> {
    return this.#requests.send(
      'DELETE',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/credentials/lease/{lease}',
      { path: { name: integration, id: installationId, space, lease }, answer: 'none', options },
    );
  }

  /**
   * Report that no provider renews the credentials of an installation in a space any more. The
   * product is told once, until other credentials are stored.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/credentials/lost`
   */
  reportLostConnection(
    integration: string,
    installationId: string,
    space: string,
    body: LostConnection,
    options?: Options & IfMatch,
  ): Reply<void> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/credentials/lost',
      {
        path: { name: integration, id: installationId, space },
        body,
        headers: { 'if-match': options?.ifMatch },
        answer: 'none',
        options,
      },
    );
  }

  /**
   * Spend the state of an OAuth flow of an installation in a space.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/credentials/states`
   */
  spendState(
    integration: string,
    installationId: string,
    space: string,
    body: StateToSpend,
    options?: Options,
  ): Reply<SpentState> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/credentials/states',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Get the options of a property of an installation in a space from the integration. Calls
   * the `completion_url` of the property at the endpoint, with `?search=` if sent. It must
   * answer `[{"label", "value"}]`.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/completions`
   */
  getCompletions(
    integration: string,
    installationId: string,
    space: string,
    body: CompletionsRequest,
    options?: Options,
  ): Reply<Completions> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/completions',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Draw a component of an installation in a space, after an action if one is sent.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/render`
   */
  render(
    integration: string,
    installationId: string,
    space: string,
    body: Render,
    options?: Options,
  ): Reply<Rendering> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/spaces/{space}/render', {
      path: { name: integration, id: installationId, space },
      body,
      options,
    });
  }

  /**
   * Draw a component of an installation in a space in its initial state. Answers with an
   * `ETag`. Clients may cache it for as long as the component allows.
   *
   * @param space Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/spaces/{space}/render`
   */
  getRendering(
    integration: string,
    installationId: string,
    space: string,
    query: SpacesGetRenderingQuery,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<Rendering>;
  getRendering(
    integration: string,
    installationId: string,
    space: string,
    query: SpacesGetRenderingQuery,
    options: Options & IfNoneMatch,
  ): Reply<Rendering | undefined>;
  getRendering(
    integration: string,
    installationId: string,
    space: string,
    query: SpacesGetRenderingQuery,
    options?: Options & IfNoneMatch,
  ): Reply<Rendering | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/spaces/{space}/render', {
      path: { name: integration, id: installationId, space },
      query,
      headers: { 'if-none-match': options?.ifNoneMatch },
      options,
    });
  }

  /**
   * Have an installation in a space sign in a visitor. Answers with what the integration
   * answers, normally a redirect. It needs the scope `site:visitor:auth`.
   *
   * @param space Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/visitor-authentication`
   */
  authenticateVisitor(
    integration: string,
    installationId: string,
    space: string,
    body: Visit,
    options?: Options,
  ): Reply<AnsweredVisit> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/visitor-authentication',
      { path: { name: integration, id: installationId, space }, body, options },
    );
  }

  /**
   * Have an installation in a space compute content.
   *
   * @param space Id of a space or a site of the host product.
   * @param source `sourceId` of a content source.
   * `POST
   *   /v1/integrations/{name}/installations/{id}/spaces/{space}/content-sources/{source}/compute`
   */
  computeContent<Answer = unknown>(
    integration: string,
    installationId: string,
    space: string,
    source: string,
    body: Computation,
    options?: Options,
  ): Reply<Answer> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/content-sources/{source}/compute',
      { path: { name: integration, id: installationId, space, source }, body, options },
    );
  }

  /**
   * Ask an installation in a space what its code answers. The manifest declares the calls. A
   * call ends when its client disconnects.
   *
   * @param space Id of a space or a site of the host product.
   * @param call `name` of a call of the manifest.
   * `POST /v1/integrations/{name}/installations/{id}/spaces/{space}/calls/{call}`
   */
  call<Answer = unknown>(
    integration: string,
    installationId: string,
    space: string,
    call: string,
    body: CallInput,
    options?: Options,
  ): Reply<Answer> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/spaces/{space}/calls/{call}',
      { path: { name: integration, id: installationId, space, call }, body, options },
    );
  }
}

/** `annex.sites`. */
export class SitesRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Read an installation in a site.
   *
   * @param site Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/sites/{site}`
   */
  get(
    integration: string,
    installationId: string,
    site: string,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<InstallationInSite>;
  get(
    integration: string,
    installationId: string,
    site: string,
    options: Options & IfNoneMatch,
  ): Reply<InstallationInSite | undefined>;
  get(
    integration: string,
    installationId: string,
    site: string,
    options?: Options & IfNoneMatch,
  ): Reply<InstallationInSite | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/sites/{site}', {
      path: { name: integration, id: installationId, site },
      headers: { 'if-none-match': options?.ifNoneMatch },
      options,
    });
  }

  /**
   * Edit an installation in a site. Members that are left out stay as they are. If the
   * resulting configuration is valid, a pending installation becomes active; otherwise
   * `problems` lists what is missing. An edit that makes an active one invalid gets 422,
   * unless a runtime token replaces the configuration: the installation becomes pending.
   *
   * @param site Id of a space or a site of the host product.
   * `PATCH /v1/integrations/{name}/installations/{id}/sites/{site}`
   */
  update(
    integration: string,
    installationId: string,
    site: string,
    body: PlaceEdit,
    options?: Options & SitesUpdateQuery & IfMatch,
  ): Reply<InstallationInSite> {
    return this.#requests.send('PATCH', '/v1/integrations/{name}/installations/{id}/sites/{site}', {
      path: { name: integration, id: installationId, site },
      query: { configuration: options?.configuration },
      body,
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Uninstall: remove an installation in a site with all its data.
   *
   * @param site Id of a space or a site of the host product.
   * `DELETE /v1/integrations/{name}/installations/{id}/sites/{site}`
   */
  delete(
    integration: string,
    installationId: string,
    site: string,
    options?: Options & IfMatch,
  ): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}/installations/{id}/sites/{site}', {
      path: { name: integration, id: installationId, site },
      headers: { 'if-match': options?.ifMatch },
      answer: 'none',
      options,
    });
  }

  /**
   * Pause an installation in a site. Until it is resumed, it gets no events and its endpoint
   * answers 503.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/pause`
   */
  pause(
    integration: string,
    installationId: string,
    site: string,
    options?: Options & IfMatch,
  ): Reply<InstallationInSite> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/sites/{site}/pause', {
      path: { name: integration, id: installationId, site },
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Resume an installation in a site. Makes it active, or pending if its configuration is not
   * valid.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/resume`
   */
  resume(
    integration: string,
    installationId: string,
    site: string,
    options?: Options & IfMatch,
  ): Reply<InstallationInSite> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/sites/{site}/resume', {
      path: { name: integration, id: installationId, site },
      headers: { 'if-match': options?.ifMatch },
      options,
    });
  }

  /**
   * Install into a site.
   *
   * `POST /v1/integrations/{name}/installations/{id}/sites`
   */
  create(
    integration: string,
    installationId: string,
    body: InstallInSite,
    options?: Options,
  ): Reply<InstallationInSite> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/sites', {
      path: { name: integration, id: installationId },
      body,
      options,
    });
  }

  /**
   * List the sites of an installation, by id.
   *
   * `GET /v1/integrations/{name}/installations/{id}/sites`
   */
  list(
    integration: string,
    installationId: string,
    query: SitesListQuery = {},
    options?: Options,
  ): Reply<Page<InstallationInSite>> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/sites', {
      path: { name: integration, id: installationId },
      query,
      options,
    });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(
    integration: string,
    installationId: string,
    query: Omit<SitesListQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<InstallationInSite> {
    return pagedItems<Omit<SitesListQuery, 'cursor' | 'page'>, InstallationInSite>(query, (page) =>
      this.list(integration, installationId, page, options),
    );
  }

  /**
   * Read the webhook secret of an installation in a site.
   *
   * @param site Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/sites/{site}/webhook-secret`
   */
  getWebhookSecret(
    integration: string,
    installationId: string,
    site: string,
    options?: Options,
  ): Reply<WebhookSecret> {
    return this.#requests.send(
      'GET',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/webhook-secret',
      { path: { name: integration, id: installationId, site }, options },
    );
  }

  /**
   * Rotate the webhook secret of an installation in a site. At once, or with an overlap in
   * which each webhook has two signatures, the new one first. A rotation during an overlap
   * ends that overlap: the replaced secret becomes the previous one, and the earlier one stops
   * signing.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/webhook-secret/rotate`
   */
  rotateWebhookSecret(
    integration: string,
    installationId: string,
    site: string,
    body: WebhookSecretRotation,
    options?: Options,
  ): Reply<WebhookSecret> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/webhook-secret/rotate',
      { path: { name: integration, id: installationId, site }, body, options },
    );
  }

  /**
   * Test the webhook of an installation in a site. Accepts an example event, as the host
   * product would post it, for this target only.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/webhook-test`
   */
  testWebhook(
    integration: string,
    installationId: string,
    site: string,
    body: WebhookToTest = {},
    options?: Options,
  ): Reply<WebhookTest> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/webhook-test',
      { path: { name: integration, id: installationId, site }, body, options },
    );
  }

  /**
   * Read the names of the own headers of the webhook of an installation in a site.
   *
   * @param site Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/sites/{site}/webhook-headers`
   */
  getWebhookHeaders(
    integration: string,
    installationId: string,
    site: string,
    options?: Options,
  ): Reply<WebhookHeaders> {
    return this.#requests.send(
      'GET',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/webhook-headers',
      { path: { name: integration, id: installationId, site }, options },
    );
  }

  /**
   * Set the own headers of the webhook of an installation in a site. Replaces all of them.
   * Requests to the origin that the URL of the webhook has now carry them; after a change to
   * another origin they are set again.
   *
   * @param site Id of a space or a site of the host product.
   * `PUT /v1/integrations/{name}/installations/{id}/sites/{site}/webhook-headers`
   */
  setWebhookHeaders(
    integration: string,
    installationId: string,
    site: string,
    body: WebhookHeadersToSet,
    options?: Options,
  ): Reply<WebhookHeaders> {
    return this.#requests.send(
      'PUT',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/webhook-headers',
      { path: { name: integration, id: installationId, site }, body, options },
    );
  }

  /**
   * Remove the own headers of the webhook of an installation in a site.
   *
   * @param site Id of a space or a site of the host product.
   * `DELETE /v1/integrations/{name}/installations/{id}/sites/{site}/webhook-headers`
   */
  deleteWebhookHeaders(
    integration: string,
    installationId: string,
    site: string,
    options?: Options,
  ): Reply<void> {
    return this.#requests.send(
      'DELETE',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/webhook-headers',
      { path: { name: integration, id: installationId, site }, answer: 'none', options },
    );
  }

  /**
   * Read the state of the webhook of an installation in a site.
   *
   * @param site Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/sites/{site}/webhook`
   */
  getWebhook(
    integration: string,
    installationId: string,
    site: string,
    options?: Options,
  ): Reply<WebhookWithTypes> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/sites/{site}/webhook', {
      path: { name: integration, id: installationId, site },
      options,
    });
  }

  /**
   * Disable the webhook of an installation in a site. Nothing is posted to its receiver until
   * it is enabled; its deliveries are held meanwhile.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/webhook/disable`
   */
  disableWebhook(
    integration: string,
    installationId: string,
    site: string,
    body: WebhookDisabling = {},
    options?: Options,
  ): Reply<WholeWebhook> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/webhook/disable',
      { path: { name: integration, id: installationId, site }, body, options },
    );
  }

  /**
   * Enable the webhook of an installation in a site. What the operator or the host product has
   * disabled, only a token of that kind enables. With `replay`, what was held is delivered: a
   * bounded number for each request, a few at a time, and one at a time while the receiver
   * fails.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/webhook/enable`
   */
  enableWebhook(
    integration: string,
    installationId: string,
    site: string,
    body: WebhookEnabling = {},
    options?: Options,
  ): Reply<EnabledWebhook> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/webhook/enable',
      { path: { name: integration, id: installationId, site }, body, options },
    );
  }

  /**
   * Read the configuration of an installation in a site as a form.
   *
   * @param site Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/sites/{site}/configuration`
   */
  getConfiguration(
    integration: string,
    installationId: string,
    site: string,
    options?: Options,
  ): Reply<ConfigurationForm> {
    return this.#requests.send(
      'GET',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/configuration',
      { path: { name: integration, id: installationId, site }, options },
    );
  }

  /**
   * Save fields of the configuration of an installation in a site. Sets what the form has, and
   * leaves all else as it is. An edit that makes an active installation invalid gets 422.
   *
   * @param site Id of a space or a site of the host product.
   * `PATCH /v1/integrations/{name}/installations/{id}/sites/{site}/configuration`
   */
  saveConfiguration(
    integration: string,
    installationId: string,
    site: string,
    body: ConfigurationToSave,
    options?: Options & IfMatch,
  ): Reply<ConfigurationForm> {
    return this.#requests.send(
      'PATCH',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/configuration',
      {
        path: { name: integration, id: installationId, site },
        body,
        headers: { 'if-match': options?.ifMatch },
        options,
      },
    );
  }

  /**
   * Create a token for a page that configures an installation in a site. It reads and saves
   * this form, gets the options of its properties, and draws the component of its settings.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/ui-tokens`
   */
  createUiToken(
    integration: string,
    installationId: string,
    site: string,
    body: UiTokenToCreate = {},
    options?: Options,
  ): Reply<UiToken> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/sites/{site}/ui-tokens', {
      path: { name: integration, id: installationId, site },
      body,
      options,
    });
  }

  /**
   * Lease the credentials of an installation in a site to renew them.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/credentials/lease`
   */
  leaseCredentials(
    integration: string,
    installationId: string,
    site: string,
    body: LeaseRequest,
    options?: Options,
  ): Reply<CredentialsLease> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/credentials/lease',
      { path: { name: integration, id: installationId, site }, body, options },
    );
  }

  /**
   * Release the lease of the credentials of an installation in a site.
   *
   * @param site Id of a space or a site of the host product.
   * `DELETE /v1/integrations/{name}/installations/{id}/sites/{site}/credentials/lease/{lease}`
   */
  releaseCredentials(
    integration: string,
    installationId: string,
    site: string,
    lease: string,
    options?: Options,
  ): Reply<void> {
    return this.#requests.send(
      'DELETE',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/credentials/lease/{lease}',
      { path: { name: integration, id: installationId, site, lease }, answer: 'none', options },
    );
  }

  /**
   * Report that no provider renews the credentials of an installation in a site any more. The
   * product is told once, until other credentials are stored.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/credentials/lost`
   */
  reportLostConnection(
    integration: string,
    installationId: string,
    site: string,
    body: LostConnection,
    options?: Options & IfMatch,
  ): Reply<void> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/credentials/lost',
      {
        path: { name: integration, id: installationId, site },
        body,
        headers: { 'if-match': options?.ifMatch },
        answer: 'none',
        options,
      },
    );
  }

  /**
   * Spend the state of an OAuth flow of an installation in a site.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/credentials/states`
   */
  spendState(
    integration: string,
    installationId: string,
    site: string,
    body: StateToSpend,
    options?: Options,
  ): Reply<SpentState> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/credentials/states',
      { path: { name: integration, id: installationId, site }, body, options },
    );
  }

  /**
   * Get the options of a property of an installation in a site from the integration. Calls the
   * `completion_url` of the property at the endpoint, with `?search=` if sent. It must answer
   * `[{"label", "value"}]`.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/completions`
   */
  getCompletions(
    integration: string,
    installationId: string,
    site: string,
    body: CompletionsRequest,
    options?: Options,
  ): Reply<Completions> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/completions',
      { path: { name: integration, id: installationId, site }, body, options },
    );
  }

  /**
   * Draw a component of an installation in a site, after an action if one is sent.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/render`
   */
  render(
    integration: string,
    installationId: string,
    site: string,
    body: Render,
    options?: Options,
  ): Reply<Rendering> {
    return this.#requests.send('POST', '/v1/integrations/{name}/installations/{id}/sites/{site}/render', {
      path: { name: integration, id: installationId, site },
      body,
      options,
    });
  }

  /**
   * Draw a component of an installation in a site in its initial state. Answers with an
   * `ETag`. Clients may cache it for as long as the component allows.
   *
   * @param site Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/sites/{site}/render`
   */
  getRendering(
    integration: string,
    installationId: string,
    site: string,
    query: SitesGetRenderingQuery,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<Rendering>;
  getRendering(
    integration: string,
    installationId: string,
    site: string,
    query: SitesGetRenderingQuery,
    options: Options & IfNoneMatch,
  ): Reply<Rendering | undefined>;
  getRendering(
    integration: string,
    installationId: string,
    site: string,
    query: SitesGetRenderingQuery,
    options?: Options & IfNoneMatch,
  ): Reply<Rendering | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/sites/{site}/render', {
      path: { name: integration, id: installationId, site },
      query,
      headers: { 'if-none-match': options?.ifNoneMatch },
      options,
    });
  }

  /**
   * Get the published script of an installation in a site. Answers JavaScript with an `ETag`.
   * The integration needs the scope `site:script:inject`.
   *
   * @param site Id of a space or a site of the host product.
   * `GET /v1/integrations/{name}/installations/{id}/sites/{site}/script`
   */
  getScript(
    integration: string,
    installationId: string,
    site: string,
    options?: Options & IfNoneMatch & { readonly ifNoneMatch?: undefined },
  ): Reply<string>;
  getScript(
    integration: string,
    installationId: string,
    site: string,
    options: Options & IfNoneMatch,
  ): Reply<string | undefined>;
  getScript(
    integration: string,
    installationId: string,
    site: string,
    options?: Options & IfNoneMatch,
  ): Reply<string | undefined> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/sites/{site}/script', {
      path: { name: integration, id: installationId, site },
      headers: { 'if-none-match': options?.ifNoneMatch },
      answer: 'text',
      options,
    });
  }

  /**
   * Have an installation in a site sign in a visitor. Answers with what the integration
   * answers, normally a redirect. It needs the scope `site:visitor:auth`.
   *
   * @param site Id of a space or a site of the host product.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/visitor-authentication`
   */
  authenticateVisitor(
    integration: string,
    installationId: string,
    site: string,
    body: Visit,
    options?: Options,
  ): Reply<AnsweredVisit> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/visitor-authentication',
      { path: { name: integration, id: installationId, site }, body, options },
    );
  }

  /**
   * Have an installation in a site compute content.
   *
   * @param site Id of a space or a site of the host product.
   * @param source `sourceId` of a content source.
   * `POST
   *   /v1/integrations/{name}/installations/{id}/sites/{site}/content-sources/{source}/compute`
   */
  computeContent<Answer = unknown>(
    integration: string,
    installationId: string,
    site: string,
    source: string,
    body: Computation,
    options?: Options,
  ): Reply<Answer> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/content-sources/{source}/compute',
      { path: { name: integration, id: installationId, site, source }, body, options },
    );
  }

  /**
   * Ask an installation in a site what its code answers. The manifest declares the calls. A
   * call ends when its client disconnects.
   *
   * @param site Id of a space or a site of the host product.
   * @param call `name` of a call of the manifest.
   * `POST /v1/integrations/{name}/installations/{id}/sites/{site}/calls/{call}`
   */
  call<Answer = unknown>(
    integration: string,
    installationId: string,
    site: string,
    call: string,
    body: CallInput,
    options?: Options,
  ): Reply<Answer> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/sites/{site}/calls/{call}',
      { path: { name: integration, id: installationId, site, call }, body, options },
    );
  }
}

/** `annex.webhooks`. */
export class WebhooksRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List webhooks that are failing or disabled. By installation and place. An organization
   * sees those of its own installations.
   *
   * `GET /v1/webhooks`
   */
  list(query: WebhooksListQuery = {}, options?: Options): Reply<Page<Webhook>> {
    return this.#requests.send('GET', '/v1/webhooks', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(query: Omit<WebhooksListQuery, 'cursor' | 'page'> = {}, options?: Options): AsyncIterable<Webhook> {
    return pagedItems<Omit<WebhooksListQuery, 'cursor' | 'page'>, Webhook>(query, (page) =>
      this.list(page, options),
    );
  }
}

/** `annex.installLinks`. */
export class InstallLinksRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Create an install link. Replaces an earlier link, whose token becomes invalid.
   *
   * `POST /v1/integrations/{name}/install-link`
   */
  create(integration: string, options?: Options): Reply<NewInstallLink> {
    return this.#requests.send('POST', '/v1/integrations/{name}/install-link', {
      path: { name: integration },
      options,
    });
  }

  /**
   * Delete the install link. Installations that were made with it stay.
   *
   * `DELETE /v1/integrations/{name}/install-link`
   */
  delete(integration: string, options?: Options): Reply<void> {
    return this.#requests.send('DELETE', '/v1/integrations/{name}/install-link', {
      path: { name: integration },
      answer: 'none',
      options,
    });
  }

  /**
   * Read the integration of an install link.
   *
   * `GET /v1/install-links/{token}`
   */
  get(token: string, options?: Options): Reply<InstallLink> {
    return this.#requests.send('GET', '/v1/install-links/{token}', { path: { token }, options });
  }
}

/** `annex.tokens`. */
export class TokensRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Create a token.
   *
   * `POST /v1/tokens`
   */
  create(body: TokenToCreate, options?: Options): Reply<NewToken> {
    return this.#requests.send('POST', '/v1/tokens', { body, options });
  }

  /**
   * List tokens.
   *
   * `GET /v1/tokens`
   */
  list(query: TokensListQuery = {}, options?: Options): Reply<Page<Token>> {
    return this.#requests.send('GET', '/v1/tokens', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(query: Omit<TokensListQuery, 'cursor' | 'page'> = {}, options?: Options): AsyncIterable<Token> {
    return pagedItems<Omit<TokensListQuery, 'cursor' | 'page'>, Token>(query, (page) =>
      this.list(page, options),
    );
  }

  /**
   * Revoke a token.
   *
   * `DELETE /v1/tokens/{id}`
   */
  delete(tokenId: string, options?: Options): Reply<void> {
    return this.#requests.send('DELETE', '/v1/tokens/{id}', {
      path: { id: tokenId },
      answer: 'none',
      options,
    });
  }

  /**
   * Introspect a runtime token. A token that is forged, expired, or of something deleted is
   * answered with `{"active": false}`.
   *
   * `POST /v1/tokens/introspect`
   */
  introspect(body: TokenToIntrospect, options?: Options): Reply<Introspection> {
    return this.#requests.send('POST', '/v1/tokens/introspect', { body, options });
  }
}

/** `annex.consoleLinks`. */
export class ConsoleLinksRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Make a link that signs in to the console once. Whoever opens it first, within ten minutes,
   * has a session with the rights of the token of this request. The session ends after twelve
   * hours, or with that token.
   *
   * `POST /v1/console-links`
   */
  create(options?: Options): Reply<ConsoleLink> {
    return this.#requests.send('POST', '/v1/console-links', { options });
  }
}

/** `annex.statementKeys`. */
export class StatementKeysRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Rotate the keys of statements. The next key signs statements to the product's API from now
   * on; the one before stays published.
   *
   * `POST /v1/statement-keys/rotate`
   */
  rotate(body: StatementKeysRotateBody = {}, options?: Options): Reply<StatementKeys> {
    return this.#requests.send('POST', '/v1/statement-keys/rotate', { body, options });
  }
}

/** `annex.levelNames`. */
export class LevelNamesRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Read the product's words for spaces and sites. For what people see. A level without a word
   * keeps its name.
   *
   * `GET /v1/level-names`
   */
  get(options?: Options): Reply<LevelNames> {
    return this.#requests.send('GET', '/v1/level-names', { options });
  }
}

/** `annex.blocks`. */
export class BlocksRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List the blocks that can be inserted in a space, by integration. Blocks of all
   * integrations that are installed and active there. Icons are public URLs.
   *
   * `GET /v1/blocks`
   */
  list(query: BlocksListQuery, options?: Options): Reply<Page<InstalledBlock>> {
    return this.#requests.send('GET', '/v1/blocks', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(query: Omit<BlocksListQuery, 'cursor' | 'page'>, options?: Options): AsyncIterable<InstalledBlock> {
    return pagedItems<Omit<BlocksListQuery, 'cursor' | 'page'>, InstalledBlock>(query, (page) =>
      this.list(page, options),
    );
  }

  /**
   * Unfurl a URL to a block. Calls the blocks whose `urlUnfurl` matches, the most specific
   * first, and answers with the first that returns an element.
   *
   * `POST /v1/blocks/unfurl`
   */
  unfurl(body: Unfurl, options?: Options): Reply<BlocksUnfurlAnswer> {
    return this.#requests.send('POST', '/v1/blocks/unfurl', { body, options });
  }

  /**
   * Write blocks as Markdown. Each as a code block of the language that its manifest names.
   *
   * `POST /v1/blocks/markdown`
   */
  toMarkdown(body: BlocksToMarkdown, options?: Options): Reply<MarkdownOfBlocks> {
    return this.#requests.send('POST', '/v1/blocks/markdown', { body, options });
  }

  /**
   * Find the blocks in Markdown. Finds code blocks whose language is that of an installed
   * block. If two blocks have the same language, the first of the menu is used.
   *
   * `POST /v1/blocks/parse`
   */
  parseMarkdown(body: MarkdownToParse, options?: Options): Reply<BlocksOfMarkdown> {
    return this.#requests.send('POST', '/v1/blocks/parse', { body, options });
  }
}

/** `annex.logs`. */
export class LogsRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List the log of an installation, newest line first, or follow it. Name an installation, or
   * an integration for the log of its own endpoint. With "Accept: text/event-stream" or
   * `follow=true`, the answer is server-sent events: one for each line, as lines are written.
   *
   * `GET /v1/logs`
   */
  list(query: LogsListQuery = {}, options?: Options): Reply<Page<LogLine>> {
    return this.#requests.send('GET', '/v1/logs', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(query: Omit<LogsListQuery, 'cursor' | 'page'> = {}, options?: Options): AsyncIterable<LogLine> {
    return pagedItems<Omit<LogsListQuery, 'cursor' | 'page'>, LogLine>(query, (page) =>
      this.list(page, options),
    );
  }

  /**
   * What is written from now on, as it is written. Connects again after a break, and continues
   * after the last event.
   *
   * `GET /v1/logs` with `Accept: text/event-stream`
   */
  follow(
    query: Omit<LogsListQuery, 'cursor' | 'page'> = {},
    options?: FollowOptions,
  ): AsyncIterable<LogLine> {
    return this.#requests.follow('/v1/logs', { query }, options);
  }
}

/** `annex.audit`. */
export class AuditRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List changes, newest first. A page may hold fewer than `limit`, or none, and still have a
   * `next`.
   *
   * `GET /v1/audit`
   */
  list(query: AuditListQuery = {}, options?: Options): Reply<Page<AuditEntry>> {
    return this.#requests.send('GET', '/v1/audit', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(query: Omit<AuditListQuery, 'cursor' | 'page'> = {}, options?: Options): AsyncIterable<AuditEntry> {
    return pagedItems<Omit<AuditListQuery, 'cursor' | 'page'>, AuditEntry>(query, (page) =>
      this.list(page, options),
    );
  }
}

/** `annex.events`. */
export class EventsRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Post one product event, or a batch. Answered with 202 when the events and their deliveries
   * are stored. An `eventId` that was accepted before is answered as before, with 200, if the
   * event is the same, and with a conflict if it is not. Of a batch, all events are accepted
   * or none.
   *
   * `POST /v1/events`
   */
  post(
    body:
      | PostedEvent
      | {
          readonly events: readonly PostedEvent[];
        },
    options?: Options,
  ): Reply<PostedMany | Posted> {
    return this.#requests.send('POST', '/v1/events', {
      body,
      idempotentBy: ['events[].eventId', 'eventId'],
      options,
    });
  }

  /**
   * List events, newest first. Product events of one organization, or of all. A page may have
   * fewer than `limit` items, or none, and still have a `next`. With `installation`: the
   * lifecycle events of one installation.
   *
   * `GET /v1/events`
   */
  list(query: EventsListQuery = {}, options?: Options): Reply<Page<LifecycleEvent> | Page<ProductEvent>> {
    return this.#requests.send('GET', '/v1/events', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(
    query: Omit<EventsListQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<LifecycleEvent | ProductEvent> {
    return pagedItems<Omit<EventsListQuery, 'cursor' | 'page'>, LifecycleEvent | ProductEvent>(
      query,
      (page) => this.list(page, options),
    );
  }

  /**
   * Read an event and its outcome.
   *
   * `GET /v1/events/{id}`
   */
  get(eventId: string, options?: Options): Reply<LifecycleEvent | TracedEvent> {
    return this.#requests.send('GET', '/v1/events/{id}', { path: { id: eventId }, options });
  }
}

/** `annex.eventTypes`. */
export class EventTypesRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List the event types of the product. Those that were declared. The types of the
   * specification exist always, and are not among them.
   *
   * `GET /v1/event-types`
   */
  list(options?: Options): Reply<EventTypes> {
    return this.#requests.send('GET', '/v1/event-types', { options });
  }

  /**
   * Read an event type.
   *
   * `GET /v1/event-types/{type}`
   */
  get(type: string, options?: Options): Reply<EventType> {
    return this.#requests.send('GET', '/v1/event-types/{type}', { path: { type }, options });
  }

  /**
   * Declare an event type, or change it. A change is refused if the sample or one of the last
   * 1,000 events of the type would not fit it, unless `force` is true.
   *
   * `PUT /v1/event-types/{type}`
   */
  set(
    type: string,
    body: EventTypeToDeclare,
    options?: Options & EventTypesSetQuery,
  ): Reply<EventTypeChange> {
    return this.#requests.send('PUT', '/v1/event-types/{type}', {
      path: { type },
      query: { force: options?.force, dryRun: options?.dryRun },
      body,
      options,
    });
  }

  /**
   * Delete an event type. Refused while an active version handles it, a webhook selects it or
   * deliveries of it are pending, unless `force` is true.
   *
   * `DELETE /v1/event-types/{type}`
   */
  delete(type: string, query: EventTypesDeleteQuery = {}, options?: Options): Reply<EventTypeChange> {
    return this.#requests.send('DELETE', '/v1/event-types/{type}', { path: { type }, query, options });
  }
}

/** `annex.tasks`. */
export class TasksRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Queue a task. Only for runtime tokens. The task comes back as an event `task` of the
   * target of the token, at least once.
   *
   * `POST /v1/integrations/{name}/tasks`
   */
  queue(integration: string, body: TaskToQueue, options?: Options): Reply<void> {
    return this.#requests.send('POST', '/v1/integrations/{name}/tasks', {
      path: { name: integration },
      body,
      answer: 'none',
      options,
    });
  }
}

/** `annex.deliveries`. */
export class DeliveriesRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List deliveries, newest first, or follow them. An organization sees those to its own
   * installations, and tasks at the own level of integrations that it owns. A page may have
   * fewer than `limit` items, or none, and still have a `next`: each request searches a
   * bounded number of deliveries. With "Accept: text/event-stream" or `follow=true`, the
   * answer is server-sent events: one for each change of a delivery, as it is committed.
   *
   * `GET /v1/deliveries`
   */
  list(query: DeliveriesListQuery = {}, options?: Options): Reply<Page<Delivery>> {
    return this.#requests.send('GET', '/v1/deliveries', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(query: Omit<DeliveriesListQuery, 'cursor' | 'page'> = {}, options?: Options): AsyncIterable<Delivery> {
    return pagedItems<Omit<DeliveriesListQuery, 'cursor' | 'page'>, Delivery>(query, (page) =>
      this.list(page, options),
    );
  }

  /**
   * What is written from now on, as it is written. Connects again after a break, and continues
   * after the last event.
   *
   * `GET /v1/deliveries` with `Accept: text/event-stream`
   */
  follow(
    query: Omit<DeliveriesListQuery, 'cursor' | 'page'> = {},
    options?: FollowOptions,
  ): AsyncIterable<DeliveryChange> {
    return this.#requests.follow('/v1/deliveries', { query }, options);
  }

  /**
   * Read a delivery with its attempts and its payload.
   *
   * `GET /v1/deliveries/{id}`
   */
  get(deliveryId: string, options?: Options): Reply<WholeDelivery> {
    return this.#requests.send('GET', '/v1/deliveries/{id}', { path: { id: deliveryId }, options });
  }

  /**
   * Redeliver a finished delivery.
   *
   * `POST /v1/deliveries/{id}/redeliver`
   */
  redeliver(deliveryId: string, options?: Options): Reply<Delivery> {
    return this.#requests.send('POST', '/v1/deliveries/{id}/redeliver', {
      path: { id: deliveryId },
      options,
    });
  }

  /**
   * Cancel a pending delivery.
   *
   * `POST /v1/deliveries/{id}/cancel`
   */
  cancel(deliveryId: string, options?: Options): Reply<Delivery> {
    return this.#requests.send('POST', '/v1/deliveries/{id}/cancel', { path: { id: deliveryId }, options });
  }

  /**
   * Replay many deliveries. Those of one installation that failed, or that have `state`: a
   * bounded number for each request, oldest first.
   *
   * `POST /v1/deliveries/replay`
   */
  replay(body: Replay, options?: Options & DeliveriesReplayQuery): Reply<Replayed> {
    return this.#requests.send('POST', '/v1/deliveries/replay', {
      query: { dryRun: options?.dryRun },
      body,
      options,
    });
  }
}

/** `annex.notices`. */
export class NoticesRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List notices to the host product, newest first.
   *
   * `GET /v1/notices`
   */
  list(query: NoticesListQuery = {}, options?: Options): Reply<Page<Notice>> {
    return this.#requests.send('GET', '/v1/notices', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(query: Omit<NoticesListQuery, 'cursor' | 'page'> = {}, options?: Options): AsyncIterable<Notice> {
    return pagedItems<Omit<NoticesListQuery, 'cursor' | 'page'>, Notice>(query, (page) =>
      this.list(page, options),
    );
  }
}

/** `annex.schedules`. */
export class SchedulesRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List the schedules of an installation.
   *
   * `GET /v1/integrations/{name}/installations/{id}/schedules`
   */
  list(integration: string, installationId: string, options?: Options): Reply<Schedules> {
    return this.#requests.send('GET', '/v1/integrations/{name}/installations/{id}/schedules', {
      path: { name: integration, id: installationId },
      options,
    });
  }

  /**
   * Run a schedule of an installation now. The next run stays. Refused while a run is in
   * flight.
   *
   * `POST /v1/integrations/{name}/installations/{id}/schedules/{schedule}/run`
   */
  run(integration: string, installationId: string, schedule: string, options?: Options): Reply<StartedRun> {
    return this.#requests.send(
      'POST',
      '/v1/integrations/{name}/installations/{id}/schedules/{schedule}/run',
      { path: { name: integration, id: installationId, schedule }, options },
    );
  }
}

/** `annex.organizations`. */
export class OrganizationsRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * List the declared organizations, by id.
   *
   * `GET /v1/organizations`
   */
  list(query: OrganizationsListQuery = {}, options?: Options): Reply<Page<Organization>> {
    return this.#requests.send('GET', '/v1/organizations', { query, options });
  }

  /** The items of all pages of `list`, read page by page as they are needed. */
  all(
    query: Omit<OrganizationsListQuery, 'cursor' | 'page'> = {},
    options?: Options,
  ): AsyncIterable<Organization> {
    return pagedItems<Omit<OrganizationsListQuery, 'cursor' | 'page'>, Organization>(query, (page) =>
      this.list(page, options),
    );
  }

  /**
   * Read a declared organization.
   *
   * @param organizationId Id or subdomain of an organization of the host product.
   * `GET /v1/organizations/{id}`
   */
  get(organizationId: string, options?: Options): Reply<Organization> {
    return this.#requests.send('GET', '/v1/organizations/{id}', { path: { id: organizationId }, options });
  }

  /**
   * Declare an organization, or replace its declaration. Refused if the subdomain is that of
   * another organization, or the id of one that is in use.
   *
   * @param organizationId Id or subdomain of an organization of the host product.
   * `PUT /v1/organizations/{id}`
   */
  set(organizationId: string, body: OrganizationToDeclare, options?: Options): Reply<Organization> {
    return this.#requests.send('PUT', '/v1/organizations/{id}', {
      path: { id: organizationId },
      body,
      options,
    });
  }

  /**
   * Delete the declaration of an organization. What it owns and has installed stays, by its
   * id.
   *
   * @param organizationId Id or subdomain of an organization of the host product.
   * `DELETE /v1/organizations/{id}`
   */
  delete(organizationId: string, options?: Options): Reply<void> {
    return this.#requests.send('DELETE', '/v1/organizations/{id}', {
      path: { id: organizationId },
      answer: 'none',
      options,
    });
  }
}

/** `annex.portalLinks`. */
export class PortalLinksRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Make a link that opens the portal of an organization once. Whoever opens it first, within
   * ten minutes, has a session that sees this organization alone. The session ends with its
   * time, or with the token of this request.
   *
   * `POST /v1/portal-links`
   */
  create(body: PortalLinkToCreate, options?: Options): Reply<PortalLink> {
    return this.#requests.send('POST', '/v1/portal-links', { body, options });
  }
}

/** `annex.activity`. */
export class ActivityRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Read what the service did in the last day.
   *
   * `GET /v1/activity`
   */
  read(options?: Options): Reply<Activity> {
    return this.#requests.send('GET', '/v1/activity', { options });
  }
}

/** `annex.settings`. */
export class SettingsRoutes {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Read the settings in force of the node that answers.
   *
   * `GET /v1/settings`
   */
  read(options?: Options): Reply<Settings> {
    return this.#requests.send('GET', '/v1/settings', { options });
  }
}

export interface Activity {
  /** Of a point. */
  readonly stepSeconds: number;
  /** Oldest first. A step in which no node ran is absent. */
  readonly points: readonly {
    readonly at: string;
    readonly calls: number;
    /** Calls that ended in another outcome than `ok`. */
    readonly errors: number;
    /** Half of the wall times of calls, at most a fifth too high; absent without calls. */
    readonly p50Ms?: number | undefined;
    /** 99 % of the wall times of calls, at most a fifth too high; absent without calls. */
    readonly p99Ms?: number | undefined;
    readonly delivered: number;
    readonly failed: number;
    /** Pending deliveries, at most, like the following. */
    readonly waiting: number;
    readonly cells: number;
    /** Resident memory of the cells. */
    readonly cellBytes: number;
    /** Installations that are suspected or in quarantine. */
    readonly contained: number;
  }[];
}

export interface AnsweredVisit {
  readonly status: number;
  /** Names and values in their order; a name can occur more than once. */
  readonly headers: readonly (readonly string[])[];
  /** As UTF-8; absent if the answer has none. */
  readonly body?: string | undefined;
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly action: string;
  readonly actor: {
    /** Kind of the token. */
    readonly kind: string;
    /** Id of the token; runtime tokens have none, and that of another organization is not shown. */
    readonly token?: string | undefined;
  };
  /**
   * Address of the client. Absent for an integration's own code; an organization sees it for
   * its own tokens only.
   */
  readonly address?: string | undefined;
  readonly requestId: string;
  readonly organization?: string | undefined;
  readonly integration?: string | undefined;
  readonly installation?: string | undefined;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  /** Names of the members that changed, never values. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface AuditListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  /** Id or subdomain of an organization of the host product. */
  readonly organization?: string | undefined;
  readonly integration?: string | undefined;
  readonly installation?: string | undefined;
  readonly action?:
    | 'integration.publish'
    | 'integration.activate'
    | 'integration.delete'
    | 'integration.limits'
    | 'integration.approve'
    | 'integration.refuse'
    | 'integration.secrets'
    | 'install-link.create'
    | 'install-link.delete'
    | 'installation.create'
    | 'installation.edit'
    | 'installation.pause'
    | 'installation.resume'
    | 'installation.delete'
    | 'token.create'
    | 'token.revoke'
    | 'token.recover'
    | 'delivery.redeliver'
    | 'delivery.replay'
    | 'delivery.cancel'
    | 'webhook.disable'
    | 'webhook.enable'
    | 'webhook.headers'
    | 'event-type.declare'
    | 'event-type.change'
    | 'event-type.delete'
    | 'webhook.reveal'
    | 'webhook.rotate'
    | 'webhook.test'
    | 'statement-keys.rotate'
    | 'organization.declare'
    | 'organization.change'
    | 'organization.delete'
    | 'storage.delete'
    | 'schedule.run'
    | 'ui-token.create'
    | undefined;
}

/** HTTP Basic authentication, as `Authorization`. */
export interface BasicAuthentication {
  readonly username: string;
  readonly password: string;
}

export interface Block {
  readonly id: string;
  readonly title: string;
  readonly description?: string | undefined;
  readonly icon?: string | undefined;
  readonly urlUnfurl?: readonly string[] | undefined;
  readonly markdown?:
    | {
        readonly codeblock: string;
        readonly body: string;
      }
    | undefined;
}

export interface BlocksListQuery {
  /** Id or subdomain of an organization of the host product. */
  readonly organization: string;
  /**
   * Id of the space; without it, only blocks that are available in every space of the
   * organization.
   */
  readonly space?: string | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
}

export interface BlocksOfMarkdown {
  /** In the order of the document. All other lines are ordinary Markdown. */
  readonly blocks: readonly {
    readonly integration: string;
    readonly installation: string;
    /** Present if the space installation draws it. */
    readonly space?: string | undefined;
    readonly componentId: string;
    /** Props to render the block with. */
    readonly props: Readonly<Record<string, unknown>>;
    /** Line of the opening fence, from 1. */
    readonly firstLine: number;
    /** Line of the closing fence. */
    readonly lastLine: number;
  }[];
}

export interface BlocksToMarkdown {
  /** Id or subdomain of an organization of the host product. */
  readonly organization: string;
  /**
   * Id of the space; without it, only blocks that are available in every space of the
   * organization.
   */
  readonly space?: string | undefined;
  readonly blocks: readonly {
    readonly integration: string;
    readonly componentId: string;
    /** Props of the block, as the document stores them. */
    readonly props: Readonly<Record<string, unknown>>;
  }[];
}

export interface BlocksUnfurlAnswer {
  readonly integration: string;
  readonly installation: string;
  /** Present if the space installation draws it. */
  readonly space?: string | undefined;
  readonly componentId: string;
  readonly type: 'element';
  /** State to send with the next action. */
  readonly state: Readonly<Record<string, unknown>>;
  /** Props to send with the next action. */
  readonly props: Readonly<Record<string, unknown>>;
  /** ContentKit to show, as `/v1/contentkit.schema.json` describes it. */
  readonly element: Readonly<Record<string, unknown>>;
  /**
   * Whether its frames may get the claims of the visitor: by the scope `site:visitor:claims`,
   * unless the code declines.
   */
  readonly canAccessVisitorClaims?: boolean | undefined;
}

/** What the code gets, of any members. */
export interface CallInput {
  readonly [member: string]: unknown;
}

export interface Checked {
  readonly integration: string;
  /** Size of the script that would be stored. */
  readonly scriptBytes: number;
  readonly warnings: readonly Problem[];
}

export interface Completions {
  readonly options: readonly {
    readonly label: string;
    readonly value: string;
  }[];
}

export interface CompletionsRequest {
  readonly property: string;
  /** The text that the user has typed. */
  readonly search?: string | undefined;
}

/** Members that are not listed are passed on. */
export interface Computation {
  readonly type: 'content_compute_revision' | 'content_compute_document';
  /** Props of the source, or of the page. */
  readonly props?: Readonly<Record<string, unknown>> | undefined;
  /** Values of what the source depends on. */
  readonly dependencies?: Readonly<Record<string, unknown>> | undefined;
}

export interface ConfigurationField {
  readonly name: string;
  readonly type: 'string' | 'number' | 'boolean' | 'button';
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly required: boolean;
  readonly default?: unknown | undefined;
  /** Options of a dropdown. */
  readonly enum?: readonly string[] | undefined;
  /** Option → its title, where options have titles. */
  readonly titles?: Readonly<Record<string, string>> | undefined;
  /** Several options may be chosen: the value is a list. */
  readonly multiple?: boolean | undefined;
  /** The integration supplies the options, at `…/completions`. */
  readonly completion?: boolean | undefined;
  readonly button_text?: string | undefined;
  /** Absolute URL that the button opens. */
  readonly callback_url?: string | undefined;
  /** Absent if nothing is set, and for sealed properties. */
  readonly value?: unknown | undefined;
  /** The property has credentials, which are never shown. */
  readonly sealed?: boolean | undefined;
  /** Whether a sealed property has a value. */
  readonly isSet?: boolean | undefined;
  /** Whether the provider refuses its credentials for good: connect again. */
  readonly isLost?: boolean | undefined;
  /** Name of the account that is connected, where the code stores one. */
  readonly account?: string | undefined;
}

export interface ConfigurationForm {
  readonly level: 'organization' | 'space' | 'site';
  /** The product's word for the level, where it has one. */
  readonly levelName?: string | undefined;
  readonly status: 'active' | 'pending' | 'paused';
  /** Component that draws the configuration, instead of a form. */
  readonly componentId?: string | undefined;
  /** In the manifest's order. */
  readonly properties?: readonly ConfigurationField[] | undefined;
  /** Problems that make the configuration invalid. */
  readonly problems?:
    | readonly {
        readonly property: string;
        readonly message: string;
        readonly hint?: string | undefined;
      }[]
    | undefined;
}

export interface ConfigurationProblem {
  readonly property: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export interface ConfigurationToSave {
  /** Values of fields; null removes one, and disconnects `oauth_credentials`. */
  readonly configuration: Readonly<Record<string, unknown>>;
}

export interface ConsoleLink {
  /** Path and fragment, on the control listener. */
  readonly url: string;
  readonly expiresAt: string;
}

export interface CredentialsLease {
  /** Absent while another call holds the lease: try again. */
  readonly lease?: string | undefined;
  readonly expiresAt?: string | undefined;
  /** The present `oauth_credentials`. */
  readonly credentials?: Readonly<Record<string, unknown>> | undefined;
}

export interface DeclaredEvent {
  /** A type that was declared, such as `invoice.paid`. */
  readonly type: string;
  /** Receivers recognize a repeated event by it. Annex makes one if it is absent. */
  readonly eventId?: string | undefined;
  /**
   * The organization that the space or site belongs to. Only its installations receive the
   * event.
   */
  readonly organization: string;
  /** Only this installation receives the event. */
  readonly installationId?: string | undefined;
  /** The space in which it happened. */
  readonly space?: string | undefined;
  /** The site in which it happened. */
  readonly site?: string | undefined;
  /** What happened. It fits the schema of the type. */
  readonly data: unknown;
}

export interface DeliveriesListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  /** Id of a space or a site of the host product. */
  readonly space?: string | undefined;
  /** Id of a space or a site of the host product. */
  readonly site?: string | undefined;
  readonly type?: string | undefined;
  /** Accepted at this time or later. */
  readonly from?: string | undefined;
  /** Accepted before this time. */
  readonly to?: string | undefined;
  readonly installation?: string | undefined;
  /** Lists the tasks at the own level of this integration. */
  readonly integration?: string | undefined;
  /** Id or subdomain of an organization of the host product. */
  readonly organization?: string | undefined;
  /** `eventId` of an event. */
  readonly event?: string | undefined;
  readonly state?: 'pending' | 'delivered' | 'unhandled' | 'failed' | 'canceled' | 'held' | undefined;
}

export interface DeliveriesReplayQuery {
  /** Count them, and change none. */
  readonly dryRun?: boolean | undefined;
}

export interface Delivery {
  /** Also the request id of its lines in the log of the installation. */
  readonly id: string;
  /** By which a receiver recognizes an event that it gets twice. */
  readonly eventId: string;
  readonly type: string;
  /**
   * `handler`: a call of the code. `webhook`: an HTTP post, whose payload and destination the
   * code decides.
   */
  readonly kind: 'handler' | 'webhook' | 'notice';
  readonly integration: string;
  /** The organization that installed; for a task at the level of the integration, its owner. */
  readonly organization: string;
  /** Absent for a task at the level of the integration. */
  readonly installation?: string | undefined;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  /**
   * `pending`: not attempted yet, or to be retried. `delivered`: the handler or the receiver
   * accepted it. `unhandled`: the code does not handle it, or is not subscribed. `failed`:
   * final failure, or out of retries. `canceled`: the target was paused or removed, or the
   * delivery was canceled by request. `held`: its webhook is disabled; it is kept for a
   * replay.
   */
  readonly state: 'pending' | 'delivered' | 'unhandled' | 'failed' | 'canceled' | 'held';
  /** Number of calls or requests made. */
  readonly attempts: number;
  /** Retries used since it was accepted or last redelivered. */
  readonly retries: number;
  /**
   * How an attempt ended, such as `answered 200`, `timeout`, `tls` or `blocked`; for a
   * delivery, its last attempt.
   */
  readonly outcome?: string | undefined;
  readonly createdAt: string;
  /**
   * Time of the next attempt while pending. If it has passed, the attempt is in flight or
   * waits for its turn.
   */
  readonly dueAt?: string | undefined;
  readonly finishedAt?: string | undefined;
}

export interface DeliveryAttempt {
  readonly number: number;
  readonly at: string;
  readonly durationMs: number;
  /** `fault`: a failure of Annex itself, which uses up no retry. */
  readonly result: 'succeeded' | 'failed' | 'fault';
  /**
   * How an attempt ended, such as `answered 200`, `timeout`, `tls` or `blocked`; for a
   * delivery, its last attempt.
   */
  readonly outcome: string;
  /** URL of the post, without its query. */
  readonly destination?: string | undefined;
  /** Status of the answer. */
  readonly status?: number | undefined;
  /** Beginning of the body of the receiver's answer. */
  readonly response?: string | undefined;
  /** Whether the answer was longer than what was read. */
  readonly truncated?: boolean | undefined;
  /** Of the outcome `tls`: why, such as `the certificate has expired`, where that is known. */
  readonly reason?: string | undefined;
}

export interface DeliveryChange {
  /** By which a change that comes twice is recognized. */
  readonly id: string;
  /** `attempted`: an attempt ended, and the delivery is pending still. */
  readonly change:
    | 'accepted'
    | 'attempted'
    | 'redelivered'
    | 'delivered'
    | 'unhandled'
    | 'failed'
    | 'canceled'
    | 'held';
  readonly at: string;
  readonly delivery: Delivery;
  readonly attempt?: DeliveryAttempt | undefined;
}

export interface EnabledWebhook {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  readonly integration: string;
  readonly organization: string;
  /**
   * `failing`: its receiver has failed and accepted nothing since. `disabled`: nothing is
   * posted, and its deliveries are held.
   */
  readonly state: 'healthy' | 'failing' | 'disabled';
  /** When the state began; absent where it never was another. */
  readonly since?: string | undefined;
  /** When its receiver first failed, and how. */
  readonly failing?:
    | {
        readonly since: string;
        readonly outcome: string;
      }
    | undefined;
  readonly disabled?:
    | {
        /** Kind of the token with which it was disabled; `service`: Annex itself. */
        readonly by: string;
        /**
         * `failing`: for longer than the operator allows. `gone`: its receiver answered 410.
         * `request`: it was asked for.
         */
        readonly reason: 'failing' | 'gone' | 'request';
        readonly note?: string | undefined;
      }
    | undefined;
  /**
   * While it is failing: how the last attempts at its deliveries ended, of those that it has
   * not accepted; the most frequent first.
   */
  readonly outcomes?: readonly WebhookOutcome[] | undefined;
  /** Deliveries that are held for a replay; counted up to 10,000. */
  readonly held: number;
  /** Number of held deliveries that are pending again. */
  readonly replayed?: number | undefined;
  /**
   * Present if more are held: send it as `cursor` of `POST /v1/deliveries/replay`, with the
   * state `held`.
   */
  readonly next?: string | undefined;
}

export interface EventScope {
  /** Such as `invoices:read`. Manifests request it. */
  readonly name: string;
  /** What it allows, for who installs. */
  readonly description?: string | undefined;
}

/** An event type that the product has declared. */
export interface EventType {
  /** Its name, such as `invoice.paid`. */
  readonly type: string;
  /** As users see it: "Invoice paid". */
  readonly title: string;
  /** When it happens, and what it says. */
  readonly description?: string | undefined;
  /** Where it happens. */
  readonly level: 'organization' | 'space' | 'site';
  /** JSON Schema of `data`. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly scope?: EventScope | undefined;
  /** Whether users may select it for webhooks. */
  readonly webhook: boolean;
  /** An example of `data`, for tests and documentation. It fits the schema. */
  readonly sample?: unknown | undefined;
  readonly deprecated: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface EventTypeChange {
  readonly type: string;
  readonly change: 'added' | 'changed' | 'unchanged' | 'removed';
}

/** An event type of the product. */
export interface EventTypeToDeclare {
  /** As users see it: "Invoice paid". */
  readonly title: string;
  /** When it happens, and what it says. */
  readonly description?: string | undefined;
  /** Where it happens. */
  readonly level: 'organization' | 'space' | 'site';
  /** JSON Schema of `data`, draft 2020-12; any object by default. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
  readonly scope?: EventScope | undefined;
  /** Whether users may select it for webhooks; `false` by default. */
  readonly webhook?: boolean | undefined;
  /** An example of `data`, for tests and documentation. It fits the schema. */
  readonly sample?: unknown | undefined;
  /** Still posted, but no longer offered to who does not use it yet. */
  readonly deprecated?: boolean | undefined;
}

export interface EventTypes {
  /** By name. */
  readonly items: readonly EventType[];
}

export interface EventTypesDeleteQuery {
  /** Also where stored events do not fit it, or somebody uses it. */
  readonly force?: boolean | undefined;
  /** Check the change, and make none. */
  readonly dryRun?: boolean | undefined;
}

export interface EventTypesSetQuery {
  /** Also where stored events do not fit it, or somebody uses it. */
  readonly force?: boolean | undefined;
  /** Check the change, and make none. */
  readonly dryRun?: boolean | undefined;
}

export interface EventsListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  /** Id or subdomain of an organization of the host product. */
  readonly organization?: string | undefined;
  readonly type?: string | undefined;
  /** Accepted at this time or later. */
  readonly from?: string | undefined;
  /** Accepted before this time. */
  readonly to?: string | undefined;
  /** Lists the lifecycle events of this installation instead of product events. */
  readonly installation?: string | undefined;
}

export interface IfMatch {
  /** Change it only if its `ETag` is one of these; otherwise 412. */
  readonly ifMatch?: string | undefined;
}

export interface IfNoneMatch {
  /**
   * Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412
   * for a change.
   */
  readonly ifNoneMatch?: string | undefined;
}

export interface Install {
  /** Id or subdomain of an organization of the host product. */
  readonly organization: string;
  readonly externalIds?: readonly string[] | undefined;
  readonly space_selection?: 'all' | 'selected' | undefined;
  readonly site_selection?: 'all' | 'selected' | undefined;
  /** Token of the install link of an unlisted integration. */
  readonly installToken?: string | undefined;
}

export interface InstallInSite {
  /** Id of a space or a site of the host product. */
  readonly site: string;
  readonly externalIds?: readonly string[] | undefined;
}

export interface InstallInSpace {
  /** Id of a space or a site of the host product. */
  readonly space: string;
  readonly externalIds?: readonly string[] | undefined;
}

export interface InstallLink {
  readonly integration: string;
  readonly title: string;
  readonly description: string;
  readonly visibility: 'private' | 'unlisted' | 'public';
  /** The owner of the integration. */
  readonly organization: string;
}

export interface Installation {
  readonly id: string;
  readonly integration: string;
  readonly organization: string;
  readonly target: InstallationTarget;
  readonly status: 'active' | 'pending' | 'paused';
  /** Without the properties that `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  /** Names of properties that are set and never shown. */
  readonly sealed?: readonly string[] | undefined;
  readonly externalIds: readonly string[];
  readonly urls: InstallationUrls;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly space_selection: 'all' | 'selected';
  readonly site_selection: 'all' | 'selected';
  /** Number of spaces that it was added to. */
  readonly spaces: number;
  /**
   * Problems that make the configuration invalid, by property; absent if there are none, and
   * in lists.
   */
  readonly problems?: readonly ConfigurationProblem[] | undefined;
  /** Webhooks of its spaces and sites, in lists, while one is failing or disabled. */
  readonly webhooks?: WebhookNumbers | undefined;
}

export interface InstallationEdit {
  /**
   * Properties to set; null unsets one. Others are removed where the edit replaces, and stay
   * where it merges.
   */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  readonly externalIds?: readonly string[] | undefined;
  readonly space_selection?: 'all' | 'selected' | undefined;
  readonly site_selection?: 'all' | 'selected' | undefined;
}

export interface InstallationInSite {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly site: string;
  readonly integration: string;
  readonly organization: string;
  readonly target: InstallationTarget;
  readonly status: 'active' | 'pending' | 'paused';
  /** Without the properties that `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  /** Names of properties that are set and never shown. */
  readonly sealed?: readonly string[] | undefined;
  readonly externalIds: readonly string[];
  readonly urls: InstallationUrls;
  readonly createdAt: string;
  readonly updatedAt: string;
  /**
   * Problems that make the configuration invalid, by property; absent if there are none, and
   * in lists.
   */
  readonly problems?: readonly ConfigurationProblem[] | undefined;
  /** Its webhook, in lists, while that is failing or disabled. */
  readonly webhook?: WebhookHealth | undefined;
}

export interface InstallationInSpace {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly space: string;
  readonly integration: string;
  readonly organization: string;
  readonly target: InstallationTarget;
  readonly status: 'active' | 'pending' | 'paused';
  /** Without the properties that `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  /** Names of properties that are set and never shown. */
  readonly sealed?: readonly string[] | undefined;
  readonly externalIds: readonly string[];
  readonly urls: InstallationUrls;
  readonly createdAt: string;
  readonly updatedAt: string;
  /**
   * Problems that make the configuration invalid, by property; absent if there are none, and
   * in lists.
   */
  readonly problems?: readonly ConfigurationProblem[] | undefined;
  /** Its webhook, in lists, while that is failing or disabled. */
  readonly webhook?: WebhookHealth | undefined;
}

export interface InstallationTarget {
  readonly organization: string;
}

export interface InstallationToken {
  /** A runtime token of the installation, of kind `installation`. */
  readonly token: string;
}

export interface InstallationUrls {
  /** The record in the API. */
  readonly location: string;
  /** The page in the host product. */
  readonly app?: string | undefined;
  readonly publicEndpoint: string;
  /** The endpoint on the origin without cookies. */
  readonly publicContentEndpoint: string;
}

export interface InstallationsGetRenderingQuery {
  readonly componentId: string;
  /** Its props. As JSON. */
  readonly props?: string | undefined;
  /** Where it is shown. As JSON. */
  readonly context?: string | undefined;
}

export interface InstallationsListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  readonly externalId?: string | undefined;
}

export interface InstallationsListStoredKeysQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  /** Only keys that begin with it. */
  readonly prefix?: string | undefined;
}

export interface InstallationsListWhereQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  readonly externalId?: string | undefined;
  /** Id or subdomain of an organization of the host product. */
  readonly organization?: string | undefined;
  readonly integration?: string | undefined;
  readonly status?: 'active' | 'pending' | 'paused' | undefined;
}

export interface InstallationsPutStoredValueQuery {
  /** Seconds until it expires; never, if absent. */
  readonly expiresIn?: number | undefined;
}

export interface InstallationsUpdateQuery {
  /**
   * What happens to properties that are not in the body: they stay (`merge`) or are removed
   * (`replace`). By default `replace` for runtime tokens, `merge` for others.
   */
  readonly configuration?: 'merge' | 'replace' | undefined;
}

export interface InstalledBlock {
  readonly integration: string;
  readonly installation: string;
  /** Present if the space installation draws it. */
  readonly space?: string | undefined;
  readonly componentId: string;
  readonly title: string;
  readonly description?: string | undefined;
  readonly icon?: string | undefined;
  readonly urlUnfurl?: readonly string[] | undefined;
  readonly markdown?:
    | {
        readonly codeblock: string;
        readonly body: string;
      }
    | undefined;
}

export interface Integration {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The owner. */
  readonly organization: string;
  readonly visibility: 'private' | 'unlisted' | 'public';
  /** The active version. */
  readonly version: number;
  /**
   * The newest version that waits for the operator's approval. Shown to the owner and the
   * operator.
   */
  readonly waitingVersion?: number | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface IntegrationLimits {
  readonly limits: LimitValues;
  readonly deployment: LimitValues;
  /** Names of the limits that are below the deployment's. */
  readonly lowered: readonly string[];
}

export interface IntegrationSecrets {
  readonly items: readonly Secret[];
}

export interface IntegrationsDeleteQuery {
  /** Deletes its installations too, without lifecycle events. */
  readonly cascade?: boolean | undefined;
}

export interface IntegrationsGetRenderingQuery {
  readonly componentId: string;
  /** Its props. As JSON. */
  readonly props?: string | undefined;
  /** Where it is shown. As JSON. */
  readonly context?: string | undefined;
  /** The installation; by default the own target of the token. */
  readonly installationId?: string | undefined;
  /** Id of a space or a site of the host product. */
  readonly spaceId?: string | undefined;
  /** Id of a space or a site of the host product. */
  readonly siteId?: string | undefined;
}

export interface IntegrationsListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  /**
   * Only those with a version that waits for the operator's approval; of an organization, its
   * own.
   */
  readonly review?: 'waiting' | undefined;
}

export interface IntegrationsListSitesQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  readonly externalId?: string | undefined;
}

export interface IntegrationsListSpacesQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  readonly externalId?: string | undefined;
}

export interface IntegrationsListStoredKeysQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  /** Only keys that begin with it. */
  readonly prefix?: string | undefined;
}

export interface IntegrationsPutStoredValueQuery {
  /** Seconds until it expires; never, if absent. */
  readonly expiresIn?: number | undefined;
}

export interface Introspection {
  /** The other members are present if this is true. */
  readonly active: boolean;
  readonly kind?: 'integration' | 'installation' | undefined;
  /** Its name. */
  readonly integration?: string | undefined;
  /** Its id. */
  readonly installation?: string | undefined;
  /** The organization that installed. */
  readonly organization?: string | undefined;
  /** The space of the call that the token was made for. */
  readonly space?: string | undefined;
  /** The site of the call that the token was made for. */
  readonly site?: string | undefined;
  /** Of the version that runs. */
  readonly scopes?: readonly string[] | undefined;
  readonly expiresAt?: string | undefined;
}

export interface LeaseRequest {
  /** A lease that the call holds, to extend it. */
  readonly lease?: string | undefined;
}

export interface LevelNames {
  readonly space?: string | undefined;
  readonly site?: string | undefined;
}

/** A lifecycle event of an installation. */
export interface LifecycleEvent {
  /** `eventId` of the event, and the request id of its lines in the log. */
  readonly id: string;
  readonly type: string;
  readonly integration: string;
  /** The organization that installed. */
  readonly organization: string;
  readonly installation: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  /**
   * `pending`: to be delivered, or retried; for a paused target, after it is resumed.
   * `delivered`: its handler ended well. `unhandled`: no handler. `failed`: its handler
   * failed, or it could not be delivered; final. `canceled`: the target was removed.
   */
  readonly state: 'pending' | 'delivered' | 'unhandled' | 'failed' | 'canceled';
  /** Number of calls made. */
  readonly attempts: number;
  /** Outcome of the last call. */
  readonly outcome?: string | undefined;
  readonly createdAt: string;
  readonly finishedAt?: string | undefined;
}

/** The limit that was exceeded. */
export interface LimitMet {
  /** The name ends with the unit. */
  readonly name: string;
  readonly max: number;
  /** The value that was reached, if known. */
  readonly used?: number | undefined;
}

export interface LimitValues {
  readonly requestBodyBytes: number;
  readonly responseBodyBytes: number;
  readonly envelopePartBytes: number;
  readonly isolateHeapMib: number;
  readonly wasmModuleBytes: number;
  readonly callCpuMs: number;
  readonly callWallMs: number;
  readonly firstByteMs: number;
  readonly fetchesPerCall: number;
  readonly fetchesInFlightPerCall: number;
  readonly fetchRequestBodyBytes: number;
  readonly fetchResponseBodyBytes: number;
  readonly fetchRedirects: number;
  readonly fetchMs: number;
  readonly fetchesInFlightPerInstallation: number;
  readonly timersPerCall: number;
  readonly logLinesPerCall: number;
  readonly logBytesPerCall: number;
  readonly callsInFlightPerInstallation: number;
  readonly callsWaitingPerInstallation: number;
  readonly storageValueBytes: number;
  readonly storageOperationsPerCall: number;
  readonly storageBytes: number;
  readonly storageKeys: number;
}

export interface LogLine {
  readonly id: string;
  readonly installation?: string | undefined;
  /** For a line of its own endpoint. */
  readonly integration?: string | undefined;
  readonly version: number;
  readonly requestId: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
  readonly at: string;
}

export interface LogsListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  readonly installation?: string | undefined;
  readonly integration?: string | undefined;
  /** This level and those above it. */
  readonly level?: 'debug' | 'info' | 'warn' | 'error' | undefined;
}

export interface LostConnection {
  /** The lease with which the renewal was refused. */
  readonly lease: string;
}

export interface MarkdownOfBlocks {
  /** In the order of the request. */
  readonly blocks: readonly {
    /** A code block; absent if the block has no `markdown` or is not installed. */
    readonly markdown?: string | undefined;
  }[];
}

export interface MarkdownToParse {
  /** Id or subdomain of an organization of the host product. */
  readonly organization: string;
  /**
   * Id of the space; without it, only blocks that are available in every space of the
   * organization.
   */
  readonly space?: string | undefined;
  /** A document. */
  readonly markdown: string;
}

export interface NewInstallLink {
  readonly integration: string;
  /** Shown only here; send it as `installToken` to install. */
  readonly token: string;
}

export interface NewToken {
  readonly id: string;
  /** What its maker called it. */
  readonly name?: string | undefined;
  readonly kind: 'admin' | 'platform' | 'organization';
  readonly organization?: string | undefined;
  /** What it is narrowed to; absent if it has all rights of its kind. */
  readonly rights?:
    | readonly (
        | 'read'
        | 'publish'
        | 'install'
        | 'render'
        | 'call'
        | 'events:post'
        | 'envelopes:send'
        | 'deliveries'
        | 'introspect'
        | 'operate'
      )[]
    | undefined;
  readonly createdAt: string;
  readonly expiresAt?: string | undefined;
  /** To the minute; absent if it was never used. */
  readonly lastUsedAt?: string | undefined;
  /** Shown here and never again. */
  readonly token: string;
}

export interface Notice {
  readonly id: string;
  readonly type:
    | 'webhook.failing'
    | 'webhook.recovered'
    | 'webhook.disabled'
    | 'connection.lost'
    | 'connection.restored'
    | 'installation.pending'
    | 'integration.published'
    | 'integration.quarantined'
    | 'integration.submitted'
    | 'integration.approved'
    | 'integration.refused';
  readonly createdAt: string;
  /** The one that installed; of an integration as a whole, its owner. */
  readonly organization: string;
  readonly integration: string;
  readonly installation?: string | undefined;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  /** A few facts, by type. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** Of its post; absent without `--notify-url`, and once the delivery is not kept any more. */
  readonly delivery?:
    | {
        readonly id: string;
        readonly state: 'pending' | 'delivered' | 'unhandled' | 'failed' | 'canceled' | 'held';
        readonly attempts: number;
        readonly outcome?: string | undefined;
      }
    | undefined;
}

export interface NoticesListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  /** Accepted at this time or later. */
  readonly from?: string | undefined;
  /** Accepted before this time. */
  readonly to?: string | undefined;
  readonly type?:
    | 'webhook.failing'
    | 'webhook.recovered'
    | 'webhook.disabled'
    | 'connection.lost'
    | 'connection.restored'
    | 'installation.pending'
    | 'integration.published'
    | 'integration.quarantined'
    | 'integration.submitted'
    | 'integration.approved'
    | 'integration.refused'
    | undefined;
}

export interface Organization {
  readonly id: string;
  /**
   * Another name for it in manifests: a label of DNS in lower case, and of no other
   * organization.
   */
  readonly subdomain?: string | undefined;
  /** For people. */
  readonly title?: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface OrganizationToDeclare {
  /**
   * Another name for it in manifests: a label of DNS in lower case, and of no other
   * organization.
   */
  readonly subdomain?: string | undefined;
  /** For people. */
  readonly title?: string | undefined;
}

export interface OrganizationsListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
}

/** A user gave feedback on a page. */
export interface PageFeedback {
  readonly type: 'page_feedback';
  /** Receivers recognize a repeated event by it. Annex makes one if it is absent. */
  readonly eventId?: string | undefined;
  /**
   * The organization that the space or site belongs to. Only its installations receive the
   * event.
   */
  readonly organization: string;
  /** Only this installation receives the event. */
  readonly installationId?: string | undefined;
  /** The site in which it happened. */
  readonly siteId: string;
  readonly spaceId?: string | undefined;
  readonly pageId?: string | undefined;
  readonly feedback: {
    readonly rating: 'bad' | 'ok' | 'good';
    readonly comment?: string | undefined;
  };
  readonly visitor: Visitor;
  readonly url: string;
  /** Empty where there is none. */
  readonly referrer: string;
  readonly [member: string]: unknown;
}

export interface PlaceEdit {
  /**
   * Properties to set; null unsets one. Others are removed where the edit replaces, and stay
   * where it merges.
   */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  readonly externalIds?: readonly string[] | undefined;
}

export interface PortalLink {
  /** Path and fragment, on the control listener. */
  readonly url: string;
  readonly expiresAt: string;
}

export interface PortalLinkToCreate {
  /** Id or subdomain of an organization of the host product. */
  readonly organization: string;
  /** What the session sees, in this order; by default all. */
  readonly views?: readonly ('integrations' | 'webhooks' | 'activity')[] | undefined;
  /** Seconds that the session lasts; 3600 by default. */
  readonly expiresIn?: number | undefined;
  /** How it looks. */
  readonly theme?: PortalTheme | undefined;
  /** Where the product is: the portal links back to it. */
  readonly returnUrl?: string | undefined;
  /** Language; by default that of the customer's browser. */
  readonly locale?: 'en' | 'de' | undefined;
}

/** How it looks. */
export interface PortalTheme {
  /** Name of the product. */
  readonly name?: string | undefined;
  /** By default that of the customer's system. */
  readonly scheme?: 'light' | 'dark' | undefined;
  /** Colour of actions, `#rrggbb`, where the scheme is light. */
  readonly accent?: string | undefined;
  /** The same where it is dark. */
  readonly darkAccent?: string | undefined;
  /** A `data:` URL of an image. */
  readonly logo?: string | undefined;
}

export interface Posted {
  readonly eventId: string;
  /**
   * Number of targets that get it. 0 is not an error: no installation has a handler or a
   * webhook for it.
   */
  readonly deliveries: number;
}

export type PostedEvent =
  | SpaceView
  | SpaceContentUpdated
  | SpaceVisibilityUpdated
  | SpaceGitsyncStarted
  | SpaceGitsyncCompleted
  | SiteView
  | PageFeedback
  | DeclaredEvent;

export interface PostedMany {
  /** In the order of the request. */
  readonly events: readonly {
    readonly eventId: string;
    /**
     * Number of targets that get it. 0 is not an error: no installation has a handler or a
     * webhook for it.
     */
    readonly deliveries: number;
    /** It was accepted before; this is the earlier answer. */
    readonly known?: boolean | undefined;
  }[];
}

export interface Problem {
  readonly severity: 'error' | 'warning';
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Property of a configuration. */
  readonly property?: string | undefined;
  /** Path in the ContentKit tree that a component returned. */
  readonly path?: string | undefined;
  /** JSON pointer into the data of an event, or into a declaration. */
  readonly pointer?: string | undefined;
  /** The event that has the problem. */
  readonly eventId?: string | undefined;
  readonly message: string;
  readonly hint?: string | undefined;
  /** The limit that was exceeded. */
  readonly limit?: LimitMet | undefined;
}

/** An event that the host product posted. */
export interface ProductEvent {
  /** `eventId` of the event. */
  readonly id: string;
  readonly type: string;
  readonly organization: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  /** Present if the event is for this installation only. */
  readonly installation?: string | undefined;
  /** Number of deliveries when it was accepted. */
  readonly deliveries: number;
  readonly createdAt: string;
}

export interface Published {
  readonly integration: string;
  readonly version: number;
  /** The version waits for the operator's approval. */
  readonly waits?:
    | {
        /** The version that runs meanwhile. */
        readonly activeVersion: number;
      }
    | undefined;
  readonly warnings: readonly Problem[];
}

export interface Refusal {
  /** For the owner. */
  readonly reason: string;
}

export interface Render {
  readonly componentId: string;
  /** The service sets those of a configuration component itself. */
  readonly props?: Readonly<Record<string, unknown>> | undefined;
  /** State of the last answer; absent in the first request. */
  readonly state?: Readonly<Record<string, unknown>> | undefined;
  /** Action of the user, with bindings resolved. */
  readonly action?:
    | {
        readonly action: string;
      }
    | undefined;
  /** Reads a page of choices of a `select` from its URL, and draws nothing. */
  readonly choices?:
    | {
        /** With search and page in its query. */
        readonly url: string;
      }
    | undefined;
  /** Where it is shown. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  /** The user of the host product to whom it is shown. */
  readonly auth?:
    | {
        readonly userId: string;
      }
    | undefined;
}

export interface RenderAt {
  readonly componentId: string;
  /** The service sets those of a configuration component itself. */
  readonly props?: Readonly<Record<string, unknown>> | undefined;
  /** State of the last answer; absent in the first request. */
  readonly state?: Readonly<Record<string, unknown>> | undefined;
  /** Action of the user, with bindings resolved. */
  readonly action?:
    | {
        readonly action: string;
      }
    | undefined;
  /** Reads a page of choices of a `select` from its URL, and draws nothing. */
  readonly choices?:
    | {
        /** With search and page in its query. */
        readonly url: string;
      }
    | undefined;
  /** Where it is shown. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  /** The user of the host product to whom it is shown. */
  readonly auth?:
    | {
        readonly userId: string;
      }
    | undefined;
  /** The installation; by default the own target of the token. */
  readonly installationId?: string | undefined;
  /** Id of a space or a site of the host product. */
  readonly spaceId?: string | undefined;
  /** Id of a space or a site of the host product. */
  readonly siteId?: string | undefined;
}

export type Rendering =
  | {
      readonly type: 'element';
      /** State to send with the next action. */
      readonly state: Readonly<Record<string, unknown>>;
      /** Props to send with the next action. */
      readonly props: Readonly<Record<string, unknown>>;
      /** ContentKit to show, as `/v1/contentkit.schema.json` describes it. */
      readonly element: Readonly<Record<string, unknown>>;
      /**
       * Whether its frames may get the claims of the visitor: by the scope `site:visitor:claims`,
       * unless the code declines.
       */
      readonly canAccessVisitorClaims?: boolean | undefined;
    }
  | {
      readonly type: 'complete';
      readonly returnValue?: unknown | undefined;
    }
  | {
      readonly type: 'choices';
      readonly choices: Page<{
        readonly id: string;
        readonly label: string;
        readonly icon?: string | undefined;
      }> & {
        /** Those that are chosen. */
        readonly selected?:
          | readonly {
              readonly id: string;
              readonly label: string;
              readonly icon?: string | undefined;
            }[]
          | undefined;
        /** URL of the next page, in place of a mark. */
        readonly nextPage?: string | undefined;
      };
    };

export interface Replay {
  readonly installation: string;
  /** Id of a space or a site of the host product. */
  readonly space?: string | undefined;
  /** Id of a space or a site of the host product. */
  readonly site?: string | undefined;
  readonly type?: string | undefined;
  /** Accepted at this time or later. */
  readonly from?: string | undefined;
  /** Accepted before this time. */
  readonly to?: string | undefined;
  readonly state?: 'delivered' | 'unhandled' | 'failed' | 'canceled' | 'held' | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

export interface Replayed {
  /** How many were made pending again; with `dryRun`, would be. */
  readonly replayed: number;
  /** Present if there may be more: repeat the request with this as `cursor`. */
  readonly next?: string | undefined;
}

/** What the operator said; absent of a version that never had to be reviewed. */
export interface Review {
  /** `unreviewed`: passed over by the approval of a later version, or of the first public one. */
  readonly state: 'waiting' | 'approved' | 'refused' | 'unreviewed';
  readonly at: string;
  /** The operator's, of a refusal. */
  readonly reason?: string | undefined;
}

export interface ReviewedVersion {
  readonly integration: string;
  readonly version: number;
  /** What the operator said; absent of a version that never had to be reviewed. */
  readonly review?: Review | undefined;
}

export interface Schedule {
  readonly id: string;
  readonly cron: string;
  readonly timezone: string;
  readonly level: 'installation' | 'integration';
  readonly catchUp: 'one' | 'none';
  /** What its code gets. */
  readonly task: unknown;
  /** Absent while the installation is paused or pending. */
  readonly nextRunAt?: string | undefined;
  /** Whether a run has not ended. The next one begins after it. */
  readonly running: boolean;
  readonly lastRun?: ScheduleRun | undefined;
}

export interface ScheduleRun {
  /** The minute that the cron names; of a run by hand, when it was asked for. */
  readonly at: string;
  readonly startedAt: string;
  /** Id of the delivery of its task. */
  readonly delivery: string;
  readonly state: 'pending' | 'delivered' | 'unhandled' | 'failed' | 'canceled' | 'held';
  /** How it ended. */
  readonly outcome?: string | undefined;
}

export interface Schedules {
  readonly items: readonly Schedule[];
}

export interface Secret {
  readonly name: string;
  /** Whether it has a value. */
  readonly isSet: boolean;
  /** Whether the active version declares it. Calls do not see undeclared secrets. */
  readonly isDeclared: boolean;
  readonly updatedAt?: string | undefined;
}

export interface SelectedEventType {
  readonly type: string;
  readonly title?: string | undefined;
}

export interface Settings {
  readonly settings: readonly {
    /** Without its dashes. */
    readonly flag: string;
    /** Absent for a secret, and where nothing is set; without passwords. */
    readonly value?: string | undefined;
    readonly origin: 'flag' | 'variable' | 'default';
    readonly isSecret: boolean;
    readonly help: string;
  }[];
  readonly limits: readonly {
    readonly name: string;
    readonly value: number;
    /** Another value is that of its variable. */
    readonly default: number;
  }[];
}

/** A user visited a page of a site. */
export interface SiteView {
  readonly type: 'site_view';
  /** Receivers recognize a repeated event by it. Annex makes one if it is absent. */
  readonly eventId?: string | undefined;
  /**
   * The organization that the space or site belongs to. Only its installations receive the
   * event.
   */
  readonly organization: string;
  /** Only this installation receives the event. */
  readonly installationId?: string | undefined;
  /** The site in which it happened. */
  readonly siteId: string;
  readonly spaceId?: string | undefined;
  readonly pageId?: string | undefined;
  readonly visitor: Visitor;
  readonly url: string;
  /** Empty where there is none. */
  readonly referrer: string;
  readonly [member: string]: unknown;
}

export interface SitesGetRenderingQuery {
  readonly componentId: string;
  /** Its props. As JSON. */
  readonly props?: string | undefined;
  /** Where it is shown. As JSON. */
  readonly context?: string | undefined;
}

export interface SitesListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  readonly externalId?: string | undefined;
}

export interface SitesUpdateQuery {
  /**
   * What happens to properties that are not in the body: they stay (`merge`) or are removed
   * (`replace`). By default `replace` for runtime tokens, `merge` for others.
   */
  readonly configuration?: 'merge' | 'replace' | undefined;
}

export interface SourceMap {
  readonly version: 3;
  /** URL of the script in stacks. */
  readonly file: string;
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

/** The content of a space changed. */
export interface SpaceContentUpdated {
  readonly type: 'space_content_updated';
  /** Receivers recognize a repeated event by it. Annex makes one if it is absent. */
  readonly eventId?: string | undefined;
  /**
   * The organization that the space or site belongs to. Only its installations receive the
   * event.
   */
  readonly organization: string;
  /** Only this installation receives the event. */
  readonly installationId?: string | undefined;
  /** The space in which it happened. */
  readonly spaceId: string;
  readonly revisionId: string;
  readonly [member: string]: unknown;
}

/** The Git sync of a space ended, successfully or not. */
export interface SpaceGitsyncCompleted {
  readonly type: 'space_gitsync_completed';
  /** Receivers recognize a repeated event by it. Annex makes one if it is absent. */
  readonly eventId?: string | undefined;
  /**
   * The organization that the space or site belongs to. Only its installations receive the
   * event.
   */
  readonly organization: string;
  /** Only this installation receives the event. */
  readonly installationId?: string | undefined;
  /** The space in which it happened. */
  readonly spaceId: string;
  readonly revisionId: string;
  readonly commitId: string;
  readonly state: 'success' | 'failure';
  readonly [member: string]: unknown;
}

/** The Git sync of a space started. */
export interface SpaceGitsyncStarted {
  readonly type: 'space_gitsync_started';
  /** Receivers recognize a repeated event by it. Annex makes one if it is absent. */
  readonly eventId?: string | undefined;
  /**
   * The organization that the space or site belongs to. Only its installations receive the
   * event.
   */
  readonly organization: string;
  /** Only this installation receives the event. */
  readonly installationId?: string | undefined;
  /** The space in which it happened. */
  readonly spaceId: string;
  readonly revisionId: string;
  readonly commitId: string;
  readonly [member: string]: unknown;
}

/** A user viewed a space. */
export interface SpaceView {
  readonly type: 'space_view';
  /** Receivers recognize a repeated event by it. Annex makes one if it is absent. */
  readonly eventId?: string | undefined;
  /**
   * The organization that the space or site belongs to. Only its installations receive the
   * event.
   */
  readonly organization: string;
  /** Only this installation receives the event. */
  readonly installationId?: string | undefined;
  /** The space in which it happened. */
  readonly spaceId: string;
  readonly pageId?: string | undefined;
  readonly visitor: Visitor;
  readonly url: string;
  /** Empty where there is none. */
  readonly referrer: string;
  readonly [member: string]: unknown;
}

/** The visibility of a space changed. */
export interface SpaceVisibilityUpdated {
  readonly type: 'space_visibility_updated';
  /** Receivers recognize a repeated event by it. Annex makes one if it is absent. */
  readonly eventId?: string | undefined;
  /**
   * The organization that the space or site belongs to. Only its installations receive the
   * event.
   */
  readonly organization: string;
  /** Only this installation receives the event. */
  readonly installationId?: string | undefined;
  /** The space in which it happened. */
  readonly spaceId: string;
  readonly previousVisibility: string;
  readonly visibility: string;
  readonly [member: string]: unknown;
}

export interface SpacesGetRenderingQuery {
  readonly componentId: string;
  /** Its props. As JSON. */
  readonly props?: string | undefined;
  /** Where it is shown. As JSON. */
  readonly context?: string | undefined;
}

export interface SpacesListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  readonly externalId?: string | undefined;
}

export interface SpacesUpdateQuery {
  /**
   * What happens to properties that are not in the body: they stay (`merge`) or are removed
   * (`replace`). By default `replace` for runtime tokens, `merge` for others.
   */
  readonly configuration?: 'merge' | 'replace' | undefined;
}

export interface SpentState {
  /** Whether the state was not spent before. */
  readonly isFirst: boolean;
}

export interface StartedRun {
  readonly eventId: string;
  /** Id of the delivery of its task. */
  readonly delivery: string;
}

export interface StateToSpend {
  /** SHA-256 of the state, in base64url. */
  readonly digest: string;
}

export interface StatementKeys {
  /** Newest first. */
  readonly keys: readonly {
    readonly kid: string;
    readonly state: 'next' | 'signing' | 'previous';
    readonly createdAt: string;
  }[];
}

export interface StatementKeysRotateBody {
  /** Whether all keys so far are withdrawn at once: one has leaked. */
  readonly forget?: boolean | undefined;
}

export interface StorageUsage {
  readonly keys: number;
  /** The limit `storageKeys`. */
  readonly keysMax: number;
  /** Size of all keys and values together. */
  readonly bytes: number;
  /** The limit `storageBytes`. */
  readonly bytesMax: number;
}

export interface StoredIncrement {
  readonly by?: number | undefined;
}

export interface StoredKey {
  readonly key: string;
  readonly kind: 'json' | 'bytes';
  /** Size of key and value together. */
  readonly bytes: number;
  readonly version: number;
  readonly expiresAt?: string | undefined;
  readonly updatedAt: string;
}

export interface StoredSum {
  readonly value: number;
  readonly version: number;
}

export interface StoredVersion {
  readonly version: number;
}

export interface TaskToQueue {
  /** Any JSON value. The event `task` has it as it is here. */
  readonly task: unknown;
  /** Seconds until the task is delivered. */
  readonly schedule?: number | undefined;
}

export interface Token {
  readonly id: string;
  /** What its maker called it. */
  readonly name?: string | undefined;
  readonly kind: 'admin' | 'platform' | 'organization';
  readonly organization?: string | undefined;
  /** What it is narrowed to; absent if it has all rights of its kind. */
  readonly rights?:
    | readonly (
        | 'read'
        | 'publish'
        | 'install'
        | 'render'
        | 'call'
        | 'events:post'
        | 'envelopes:send'
        | 'deliveries'
        | 'introspect'
        | 'operate'
      )[]
    | undefined;
  readonly createdAt: string;
  readonly expiresAt?: string | undefined;
  /** To the minute; absent if it was never used. */
  readonly lastUsedAt?: string | undefined;
}

export interface TokenToCreate {
  readonly kind: 'admin' | 'platform' | 'organization';
  /** Id or subdomain of an organization of the host product. */
  readonly organization?: string | undefined;
  /** For people: what it is for. */
  readonly name?: string | undefined;
  /** Narrows it to these rights; absent: all rights of its kind. */
  readonly rights?:
    | readonly (
        | 'read'
        | 'publish'
        | 'install'
        | 'render'
        | 'call'
        | 'events:post'
        | 'envelopes:send'
        | 'deliveries'
        | 'introspect'
        | 'operate'
      )[]
    | undefined;
  /** Seconds until it expires; absent: valid until it is revoked. */
  readonly expiresIn?: number | undefined;
}

export interface TokenToIntrospect {
  readonly token: string;
}

export interface TokensListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
}

/** An event that the host product posted, and its deliveries. */
export interface TracedEvent {
  /** `eventId` of the event. */
  readonly id: string;
  readonly type: string;
  readonly organization: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  /** Present if the event is for this installation only. */
  readonly installation?: string | undefined;
  /** Number of deliveries when it was accepted. */
  readonly deliveries: number;
  readonly createdAt: string;
  /** As handlers get it; each also gets its own `installationId`. */
  readonly event: Readonly<Record<string, unknown>>;
  /**
   * Each delivery. Log lines of the integration are in the log of the installation, with the
   * id of the delivery as `requestId`.
   */
  readonly trace: readonly Delivery[];
}

export interface UiToken {
  /** Shown only here. */
  readonly token: string;
  readonly expiresAt: string;
}

export interface UiTokenToCreate {
  /** Seconds; 900 by default. */
  readonly expiresIn?: number | undefined;
  /** Origins of the pages that may use it, such as `https://app.example.com`. */
  readonly origins?: readonly string[] | undefined;
  /**
   * Whether it also sets up the webhook of the target: its secret, tests, and deliveries to
   * it.
   */
  readonly webhook?: boolean | undefined;
}

export interface Unfurl {
  /** Id or subdomain of an organization of the host product. */
  readonly organization: string;
  /**
   * Id of the space; without it, only blocks that are available in every space of the
   * organization.
   */
  readonly space?: string | undefined;
  /** The pasted URL. */
  readonly url: string;
  /** Where it is shown. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  /** The user of the host product to whom it is shown. */
  readonly auth?:
    | {
        readonly userId: string;
      }
    | undefined;
}

export interface Upload {
  /**
   * YAML, or the path of an uploaded file; where it is absent, the one `…-manifest.yaml` among
   * the files.
   */
  readonly manifest?: string | undefined;
  /** JSON: name of a secret → its value. */
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  /** Any number; the file name of each is its path relative to the manifest. */
  readonly files?: readonly Blob[] | undefined;
  /** The same as one .tar or .tar.gz, instead of `files`. */
  readonly archive?: Blob | undefined;
  /** One ready ES module; files beside it are its manifest and its images. */
  readonly script?: Blob | undefined;
  /** Whether the values in `secrets` replace stored ones; else they do not. */
  readonly overwriteSecrets?: boolean | undefined;
  /** Name of the environment in `envs` of the manifest; else `default`. */
  readonly env?: string | undefined;
}

export interface Version {
  readonly version: number;
  readonly active: boolean;
  readonly createdAt: string;
  /** What the operator said; absent of a version that never had to be reviewed. */
  readonly review?: Review | undefined;
}

export interface VersionsActivateAnswer {
  readonly integration: string;
  readonly version: number;
}

export interface VersionsListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
}

export interface Visit {
  /** URL that the visitor asked for. */
  readonly location?: string | undefined;
  /** Query of the request. */
  readonly searchParams?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** Cookies of the visitor on the site. */
  readonly cookies?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly action?: 'logout' | undefined;
}

export interface Visitor {
  readonly anonymousId: string;
  readonly userAgent: string;
  readonly ip: string;
  readonly cookies: Readonly<Record<string, string>>;
  readonly language?: string | undefined;
  /** Absent where it is not known. */
  readonly type?: 'human' | 'agent' | undefined;
}

export interface Webhook {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  readonly integration: string;
  readonly organization: string;
  /**
   * `failing`: its receiver has failed and accepted nothing since. `disabled`: nothing is
   * posted, and its deliveries are held.
   */
  readonly state: 'healthy' | 'failing' | 'disabled';
  /** When the state began; absent where it never was another. */
  readonly since?: string | undefined;
  /** When its receiver first failed, and how. */
  readonly failing?:
    | {
        readonly since: string;
        readonly outcome: string;
      }
    | undefined;
  readonly disabled?:
    | {
        /** Kind of the token with which it was disabled; `service`: Annex itself. */
        readonly by: string;
        /**
         * `failing`: for longer than the operator allows. `gone`: its receiver answered 410.
         * `request`: it was asked for.
         */
        readonly reason: 'failing' | 'gone' | 'request';
        readonly note?: string | undefined;
      }
    | undefined;
}

export interface WebhookDisabling {
  /** Why, for people. */
  readonly note?: string | undefined;
}

export interface WebhookEnabling {
  /** Whether to deliver what was held, oldest first. */
  readonly replay?: boolean | undefined;
}

export interface WebhookHeader {
  readonly name: string;
  readonly value: string;
}

export interface WebhookHeaders {
  /** In lower case; the values are never shown. */
  readonly names: readonly string[];
  /** Requests to it alone carry the headers. */
  readonly origin?: string | undefined;
}

export interface WebhookHeadersToSet {
  /** Visible ASCII characters, with spaces inside a value. */
  readonly headers?: readonly WebhookHeader[] | undefined;
  /** HTTP Basic authentication, as `Authorization`. */
  readonly basic?: BasicAuthentication | undefined;
  /** A token, as `Authorization`. */
  readonly bearer?: string | undefined;
}

/** Its webhook, in lists, while that is failing or disabled. */
export interface WebhookHealth {
  /**
   * `failing`: its receiver has failed and accepted nothing since. `disabled`: nothing is
   * posted, and its deliveries are held.
   */
  readonly state: 'healthy' | 'failing' | 'disabled';
  /** When the state began; absent where it never was another. */
  readonly since?: string | undefined;
  /** When its receiver first failed, and how. */
  readonly failing?:
    | {
        readonly since: string;
        readonly outcome: string;
      }
    | undefined;
  readonly disabled?:
    | {
        /** Kind of the token with which it was disabled; `service`: Annex itself. */
        readonly by: string;
        /**
         * `failing`: for longer than the operator allows. `gone`: its receiver answered 410.
         * `request`: it was asked for.
         */
        readonly reason: 'failing' | 'gone' | 'request';
        readonly note?: string | undefined;
      }
    | undefined;
}

/** Webhooks of its spaces and sites, in lists, while one is failing or disabled. */
export interface WebhookNumbers {
  readonly failing: number;
  readonly disabled: number;
}

export interface WebhookOutcome {
  readonly outcome: string;
  readonly deliveries: number;
}

export interface WebhookSecret {
  /** The key of the HMAC is the UTF-8 of this text. */
  readonly secret: string;
  /**
   * The same secret as receivers of Standard Webhooks take it, `whsec_…`, if these webhooks
   * are signed so.
   */
  readonly standardSecret?: string | undefined;
  readonly createdAt: string;
  /**
   * Beginning of the names of the headers, where the operator has set another than
   * `X-Platform`.
   */
  readonly headerPrefix?: string | undefined;
  /** End of the time in which the previous secret signs too, second in the header. */
  readonly previous?:
    | {
        readonly until: string;
      }
    | undefined;
}

export interface WebhookSecretRotation {
  /** Printable ASCII characters without spaces. If absent, a secret is generated. */
  readonly secret?: string | undefined;
  /** Time in which the previous secret signs too. If absent, it stops at once. */
  readonly overlapSeconds?: number | undefined;
}

export interface WebhookTest {
  readonly eventId: string;
  /** 0 if the code does not handle the type or lacks its scope. */
  readonly deliveries: number;
}

export interface WebhookToTest {
  /** A type that the configuration selects; if absent, the first of them. */
  readonly type?: string | undefined;
}

export interface WebhookWithTypes {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  readonly integration: string;
  readonly organization: string;
  /**
   * `failing`: its receiver has failed and accepted nothing since. `disabled`: nothing is
   * posted, and its deliveries are held.
   */
  readonly state: 'healthy' | 'failing' | 'disabled';
  /** When the state began; absent where it never was another. */
  readonly since?: string | undefined;
  /** When its receiver first failed, and how. */
  readonly failing?:
    | {
        readonly since: string;
        readonly outcome: string;
      }
    | undefined;
  readonly disabled?:
    | {
        /** Kind of the token with which it was disabled; `service`: Annex itself. */
        readonly by: string;
        /**
         * `failing`: for longer than the operator allows. `gone`: its receiver answered 410.
         * `request`: it was asked for.
         */
        readonly reason: 'failing' | 'gone' | 'request';
        readonly note?: string | undefined;
      }
    | undefined;
  /**
   * While it is failing: how the last attempts at its deliveries ended, of those that it has
   * not accepted; the most frequent first.
   */
  readonly outcomes?: readonly WebhookOutcome[] | undefined;
  /** Deliveries that are held for a replay; counted up to 10,000. */
  readonly held: number;
  /** Types of events that its settings select: those that a test may have. */
  readonly types: readonly SelectedEventType[];
}

export interface WebhooksListQuery {
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string | undefined;
  readonly limit?: number | undefined;
  readonly state?: 'failing' | 'disabled' | undefined;
  /** Id or subdomain of an organization of the host product. */
  readonly organization?: string | undefined;
  readonly integration?: string | undefined;
}

export interface WholeDelivery {
  /** Also the request id of its lines in the log of the installation. */
  readonly id: string;
  /** By which a receiver recognizes an event that it gets twice. */
  readonly eventId: string;
  readonly type: string;
  /**
   * `handler`: a call of the code. `webhook`: an HTTP post, whose payload and destination the
   * code decides.
   */
  readonly kind: 'handler' | 'webhook' | 'notice';
  readonly integration: string;
  /** The organization that installed; for a task at the level of the integration, its owner. */
  readonly organization: string;
  /** Absent for a task at the level of the integration. */
  readonly installation?: string | undefined;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  /**
   * `pending`: not attempted yet, or to be retried. `delivered`: the handler or the receiver
   * accepted it. `unhandled`: the code does not handle it, or is not subscribed. `failed`:
   * final failure, or out of retries. `canceled`: the target was paused or removed, or the
   * delivery was canceled by request. `held`: its webhook is disabled; it is kept for a
   * replay.
   */
  readonly state: 'pending' | 'delivered' | 'unhandled' | 'failed' | 'canceled' | 'held';
  /** Number of calls or requests made. */
  readonly attempts: number;
  /** Retries used since it was accepted or last redelivered. */
  readonly retries: number;
  /**
   * How an attempt ended, such as `answered 200`, `timeout`, `tls` or `blocked`; for a
   * delivery, its last attempt.
   */
  readonly outcome?: string | undefined;
  readonly createdAt: string;
  /**
   * Time of the next attempt while pending. If it has passed, the attempt is in flight or
   * waits for its turn.
   */
  readonly dueAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  /** The latest hundred attempts, in order. */
  readonly history: readonly DeliveryAttempt[];
  /** Destination of a webhook, without its query, which may contain a key. */
  readonly destination?: string | undefined;
  /** Payload of a webhook: the same bytes at each attempt. */
  readonly payload?: string | undefined;
}

export interface WholeIntegration {
  readonly object: 'integration';
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The owner. */
  readonly organization: string;
  readonly visibility: 'private' | 'unlisted' | 'public';
  /** The active version. */
  readonly version: number;
  /**
   * The newest version that waits for the operator's approval. Shown to the owner and the
   * operator.
   */
  readonly waitingVersion?: number | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Markdown. */
  readonly summary?: string | undefined;
  /** Level at which it can be installed: all, organization, space or site. */
  readonly target: string;
  readonly scopes: readonly string[];
  readonly categories: readonly string[];
  readonly blocks: readonly Block[];
  readonly icon?: string | undefined;
  readonly previewImages: readonly string[];
  readonly externalLinks: readonly {
    readonly label: string;
    readonly url: string;
  }[];
  /** Hosts that its fetch may reach, if the manifest lists them. */
  readonly egress?: readonly string[] | undefined;
  /** Name of the retry schedule of its handlers, or its delays, or none. */
  readonly retries?: string | readonly string[] | undefined;
  /** Names of the properties with the URL of webhooks and the types of events. */
  readonly webhook?:
    | {
        readonly url: string;
        readonly eventTypes: string;
        /** Name of a retry schedule, or its delays. */
        readonly retries?: string | readonly string[] | undefined;
        /** Name of the property with the name of a retry schedule. */
        readonly retriesSetting?: string | undefined;
        /** How webhooks are signed. */
        readonly signature?: 'platform' | 'standard' | 'both' | undefined;
        /** Name of the property with the name of that scheme. */
        readonly signatureSetting?: string | undefined;
        /** Requests per second to a receiver, at most. */
        readonly rate?: number | undefined;
        /** Name of the property with that number. */
        readonly rateSetting?: string | undefined;
      }
    | undefined;
  readonly urls: {
    /** Its record in the API. */
    readonly location: string;
    /** Its page in the host product. */
    readonly app?: string | undefined;
    readonly icon?: string | undefined;
    /** The folder of its images. */
    readonly assets: string;
    /** Its own endpoint, one for all installations. */
    readonly publicEndpoint: string;
    /** The same on the origin without cookies. */
    readonly publicContentEndpoint: string;
    /** The redirect URL to register at a provider of OAuth. */
    readonly oauthCallback?: string | undefined;
  };
  /** The settings of the manifest, by level: account, space and site. */
  readonly configurations: Readonly<Record<string, unknown>>;
  /** Whether it comes with Annex. */
  readonly verified: boolean;
  /** The organization that owns it. */
  readonly owner: {
    readonly object: 'organization';
    readonly id: string;
    /** The id: the product alone knows another. */
    readonly title: string;
    readonly urls: {
      /** Its record in the API of the product. */
      readonly location: string;
      /** Its page in the host product. */
      readonly app?: string | undefined;
    };
  };
  readonly permissions: {
    /** Whether the token may publish and manage it. */
    readonly admin: boolean;
  };
  /** Whether it has an install link. Shown to the owner only. */
  readonly installLink?: boolean | undefined;
}

export interface WholeVersion {
  readonly version: number;
  readonly active: boolean;
  readonly createdAt: string;
  /** What the operator said; absent of a version that never had to be reviewed. */
  readonly review?: Review | undefined;
  readonly title: string;
  readonly description: string;
  readonly visibility: string;
  /** Markdown. */
  readonly summary?: string | undefined;
  /** Level at which it can be installed: all, organization, space or site. */
  readonly target: string;
  readonly scopes: readonly string[];
  readonly categories: readonly string[];
  readonly blocks: readonly Block[];
  readonly icon?: string | undefined;
  readonly previewImages: readonly string[];
  readonly externalLinks: readonly {
    readonly label: string;
    readonly url: string;
  }[];
  /** Hosts that its fetch may reach, if the manifest lists them. */
  readonly egress?: readonly string[] | undefined;
  /** Name of the retry schedule of its handlers, or its delays, or none. */
  readonly retries?: string | readonly string[] | undefined;
  /** Names of the properties with the URL of webhooks and the types of events. */
  readonly webhook?:
    | {
        readonly url: string;
        readonly eventTypes: string;
        /** Name of a retry schedule, or its delays. */
        readonly retries?: string | readonly string[] | undefined;
        /** Name of the property with the name of a retry schedule. */
        readonly retriesSetting?: string | undefined;
        /** How webhooks are signed. */
        readonly signature?: 'platform' | 'standard' | 'both' | undefined;
        /** Name of the property with the name of that scheme. */
        readonly signatureSetting?: string | undefined;
        /** Requests per second to a receiver, at most. */
        readonly rate?: number | undefined;
        /** Name of the property with that number. */
        readonly rateSetting?: string | undefined;
      }
    | undefined;
  readonly script?: string | undefined;
  readonly configurations: Readonly<Record<string, unknown>>;
  readonly contentSecurityPolicy?: unknown | undefined;
}

export interface WholeWebhook {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
  readonly integration: string;
  readonly organization: string;
  /**
   * `failing`: its receiver has failed and accepted nothing since. `disabled`: nothing is
   * posted, and its deliveries are held.
   */
  readonly state: 'healthy' | 'failing' | 'disabled';
  /** When the state began; absent where it never was another. */
  readonly since?: string | undefined;
  /** When its receiver first failed, and how. */
  readonly failing?:
    | {
        readonly since: string;
        readonly outcome: string;
      }
    | undefined;
  readonly disabled?:
    | {
        /** Kind of the token with which it was disabled; `service`: Annex itself. */
        readonly by: string;
        /**
         * `failing`: for longer than the operator allows. `gone`: its receiver answered 410.
         * `request`: it was asked for.
         */
        readonly reason: 'failing' | 'gone' | 'request';
        readonly note?: string | undefined;
      }
    | undefined;
  /**
   * While it is failing: how the last attempts at its deliveries ended, of those that it has
   * not accepted; the most frequent first.
   */
  readonly outcomes?: readonly WebhookOutcome[] | undefined;
  /** Deliveries that are held for a replay; counted up to 10,000. */
  readonly held: number;
}

/** Code of an error → its HTTP status. */
export interface ErrorStatuses {
  /** The request does not fit the schema of the route; the message names the field. */
  readonly REQUEST_INVALID: 400;
  /** The body, or a part of it, is over its limit; the message names the limit. */
  readonly REQUEST_TOO_LARGE: 413;
  /** The URL and the headers are over their limit, or there are too many headers. */
  readonly REQUEST_HEAD_TOO_LARGE: 431;
  /** The request was not sent in time, or its body came too slowly. */
  readonly REQUEST_TOO_SLOW: 408;
  /** Too many requests in a second; the message names the address or the endpoint. */
  readonly REQUEST_RATE_EXCEEDED: 429;
  /** The only accepted `Expect` is `100-continue`. */
  readonly EXPECTATION_UNKNOWN: 417;
  /** The listeners do not accept `TRACE` and `CONNECT`. */
  readonly METHOD_REFUSED: 405;
  /** The listener does not serve the host name in `Host`. */
  readonly HOST_UNKNOWN: 421;
  /** The memory for bodies is used up; try again after `Retry-After`. */
  readonly REQUEST_SHED: 503;
  /** No such method and path on this listener. */
  readonly ROUTE_UNKNOWN: 404;
  /** Send `Authorization: Bearer <token>`. */
  readonly TOKEN_MISSING: 401;
  /** The token is unknown, revoked, or has expired. */
  readonly TOKEN_INVALID: 401;
  /** The token is valid, but its kind, its rights or its organization may not do this. */
  readonly TOKEN_FORBIDDEN: 403;
  /** No token with this id. */
  readonly TOKEN_UNKNOWN: 404;
  /** It is the last admin token that can make others; make another one first. */
  readonly TOKEN_LAST: 409;
  /** There is no endpoint at this URL. */
  readonly ENDPOINT_UNKNOWN: 404;
  /** The installation is paused; it answers after it is resumed. */
  readonly ENDPOINT_PAUSED: 503;
  /**
   * The envelope is not multipart, lacks a part, a part is not JSON, or its event names
   * another target.
   */
  readonly ENVELOPE_INVALID: 400;
  /**
   * The envelope needs a platform token, or a valid `X-Platform-Signature` that is recent and
   * was not used before.
   */
  readonly ENVELOPE_UNAUTHORIZED: 401;
  /**
   * The `state` at the redirect URL of an integration is forged, expired or used, or names no
   * installation of it. Connect again.
   */
  readonly OAUTH_STATE_INVALID: 400;
  /**
   * The manifest lacks the scope that the call or the operator's mapping needs, or the mapping
   * does not open the path.
   */
  readonly SCOPE_MISSING: 403;
  /** The product's API could not be reached, or its answer is over a limit or no valid HTTP. */
  readonly PRODUCT_FAILED: 502;
  /** The product's API did not answer in time; the message names the limit. */
  readonly PRODUCT_TIMED_OUT: 504;
  /**
   * Too many requests to the product's API are in flight; the message names the limit. Try
   * again after `Retry-After`.
   */
  readonly PRODUCT_BUSY: 503;
  /**
   * Too many clients follow logs or deliveries; the message names the limit. Try again after
   * `Retry-After`.
   */
  readonly LOG_BUSY: 503;
  /**
   * The database does not answer, or cannot write now. A change that was interrupted may or
   * may not be stored: try again after `Retry-After`.
   */
  readonly DATABASE_UNAVAILABLE: 503;
  /** No integration of this name that the token may see. */
  readonly INTEGRATION_UNKNOWN: 404;
  /** The integration has no version of this number. */
  readonly VERSION_UNKNOWN: 404;
  /**
   * Public integrations are reviewed, and the operator has not approved this version: activate
   * one that is approved.
   */
  readonly VERSION_UNAPPROVED: 409;
  /** The version is active: activate another one, and refuse it then. */
  readonly VERSION_ACTIVE: 409;
  /** The active version has no image of this path. */
  readonly IMAGE_UNKNOWN: 404;
  /** No installation of this id that the token may see. */
  readonly INSTALLATION_UNKNOWN: 404;
  /** The target is no longer the one in `If-Match`: read it again and repeat the change. */
  readonly INSTALLATION_CHANGED: 412;
  /**
   * Too many lifecycle events of earlier changes are not delivered yet; try again after
   * `Retry-After`.
   */
  readonly INSTALLATION_BUSY: 503;
  /** The request was made within too many nested calls, most likely in a loop. */
  readonly CALL_TOO_DEEP: 508;
  /**
   * The integration cannot be installed in spaces, or in sites: its manifest has another
   * `target`.
   */
  readonly INSTALLATION_LEVEL: 409;
  /** The organization is not declared. */
  readonly ORGANIZATION_UNKNOWN: 404;
  /** The subdomain, or the id, names another organization. */
  readonly ORGANIZATION_TAKEN: 409;
  /**
   * The organization has installed as many integrations as it may; the message names the
   * limit.
   */
  readonly ORGANIZATION_FULL: 409;
  /**
   * The installation is in as many spaces, or sites, as it may be; the message names the
   * limit.
   */
  readonly INSTALLATION_FULL: 409;
  /**
   * The configuration has no property of this name, or not of the required type, or people do
   * not set it.
   */
  readonly PROPERTY_UNKNOWN: 404;
  /** The choices of a `select` could not be read from their URL; the message says why. */
  readonly CHOICES_FAILED: 502;
  /** The integration's `completion_url` did not answer `[{label, value}]`. */
  readonly COMPLETIONS_INVALID: 502;
  /** The integration has no component of this id; the message lists those it has. */
  readonly COMPONENT_UNKNOWN: 404;
  /** The drawing is not valid ContentKit; `problems` has each fault with its path in the tree. */
  readonly RENDER_INVALID: 422;
  /**
   * The component refused with a message for the caller. The status is its own, from 400 to
   * 499.
   */
  readonly RENDER_REFUSED: 400;
  /**
   * The component threw; its log has the reason, the message too if the integration exposes
   * it.
   */
  readonly RENDER_FAILED: 502;
  /**
   * The manifest of the active version has no call of this name; the message lists those it
   * has.
   */
  readonly CALL_UNKNOWN: 404;
  /**
   * The code refused a call of the product with a message for it. The status is its own, from
   * 400 to 499.
   */
  readonly CALL_REFUSED: 400;
  /** The code failed at a call of the product; its log has the reason. */
  readonly CALL_FAILED: 502;
  /** The integration answered with another status, size or type of body than the call needs. */
  readonly ANSWER_INVALID: 502;
  /** No installed block unfurls the URL: keep the link. */
  readonly UNFURL_UNMATCHED: 404;
  /** The integration has no secret of this name. */
  readonly SECRET_UNKNOWN: 404;
  /**
   * The active version declares the secret: it can be set, not removed. Publish a version
   * without it first.
   */
  readonly SECRET_NEEDED: 409;
  /** No install link with this token; it may have been replaced. */
  readonly INSTALL_LINK_UNKNOWN: 404;
  /** The integration has installations; `cascade=true` deletes them too. */
  readonly INTEGRATION_INSTALLED: 409;
  /** No event of this id that the token may see. */
  readonly EVENT_UNKNOWN: 404;
  /**
   * An event with this `eventId` was accepted before, with another body. Nothing of the
   * request was accepted.
   */
  readonly EVENT_CONFLICT: 409;
  /**
   * The data of an event does not fit the schema of its type; `problems` has a JSON pointer
   * for each fault. Nothing of the request was accepted.
   */
  readonly EVENT_DATA_INVALID: 422;
  /** No event type of this name is declared. */
  readonly EVENT_TYPE_UNKNOWN: 404;
  /**
   * The declaration of an event type has faults; `problems` lists them, each with a JSON
   * pointer.
   */
  readonly EVENT_TYPE_INVALID: 422;
  /**
   * Stored events of the type, or its sample, would not fit the changed schema; `problems` has
   * examples. `force=true` changes it anyway.
   */
  readonly EVENT_TYPE_BREAKING: 409;
  /**
   * The event type is handled, selected by a webhook, or has pending deliveries; `users` says
   * by whom. `force=true` deletes it anyway.
   */
  readonly EVENT_TYPE_IN_USE: 409;
  /**
   * The event types are those of the file that the service was started with (`--event-types`):
   * change the file.
   */
  readonly EVENT_TYPES_FIXED: 409;
  /** The limit of declared event types is reached. */
  readonly EVENT_TYPES_FULL: 409;
  /** No delivery of this id that the token may see. */
  readonly DELIVERY_UNKNOWN: 404;
  /** The delivery is in flight or waits for its next attempt. */
  readonly DELIVERY_PENDING: 409;
  /**
   * The delivery has ended: it cannot be canceled. A task that has ended cannot be delivered
   * again.
   */
  readonly DELIVERY_OVER: 409;
  /** Too many tasks are pending, of the target or of the integration. */
  readonly TASKS_FULL: 429;
  /** No value is stored under this key, or it has expired. */
  readonly STORED_VALUE_UNKNOWN: 404;
  /**
   * The stored value is no longer the one in `If-Match`, or there is one and `If-None-Match`
   * is `*`: read it again and repeat the change.
   */
  readonly STORED_VALUE_CHANGED: 412;
  /**
   * Only a whole number can be incremented, and only to one that a number of JavaScript holds
   * exactly.
   */
  readonly STORED_VALUE_NOT_WHOLE: 409;
  /**
   * The code keeps as many keys, or bytes, as it may; the message names the limit. Delete what
   * is no longer needed.
   */
  readonly STORAGE_FULL: 507;
  /** The active version has no schedule of this id and level. */
  readonly SCHEDULE_UNKNOWN: 404;
  /** A run of the schedule has not ended: runs of one do not overlap. */
  readonly SCHEDULE_RUNNING: 409;
  /**
   * Too many tasks, or test events, were each made by the call of the one before, most likely
   * in a loop: queue a task at least a minute later.
   */
  readonly CHAIN_TOO_LONG: 508;
  /**
   * The integration posts no webhooks there: its manifest has no `webhook`, or not for that
   * level.
   */
  readonly WEBHOOK_UNKNOWN: 404;
  /** The call does not hold the lease on the credentials, or not any more. */
  readonly LEASE_OVER: 409;
  /** The webhook is disabled: nothing is posted to its receiver until it is enabled. */
  readonly WEBHOOK_DISABLED: 409;
  /**
   * The settings of the webhook have no URL yet, and its own headers are for the origin of
   * that URL alone: set it first.
   */
  readonly WEBHOOK_URL_MISSING: 409;
  /** The webhook is not disabled, so there is nothing to enable. */
  readonly WEBHOOK_ENABLED: 409;
  /**
   * The settings of the webhook do not select events of this type; the message names the
   * selected types.
   */
  readonly EVENT_UNSELECTED: 409;
  /**
   * The target gets no events: it is paused, or its configuration is not valid; the message
   * says which.
   */
  readonly INSTALLATION_INACTIVE: 409;
  /** The organization has already installed this integration. */
  readonly INSTALLATION_EXISTS: 409;
  /** The integration's visibility does not let this organization install it. */
  readonly INSTALLATION_FORBIDDEN: 403;
  /**
   * The edit would make an active target invalid. Nothing has changed; `problems` has each
   * problem, by property.
   */
  readonly CONFIGURATION_INVALID: 422;
  /** The upload cannot be published; `problems` lists all problems. */
  readonly PUBLISH_INVALID: 422;
  /** The integration threw; the stack is in its log. */
  readonly INTEGRATION_EXCEPTION: 500;
  /** The integration's answer is over the response limit. */
  readonly INTEGRATION_RESPONSE_TOO_LARGE: 502;
  /** The call exceeded its CPU or memory; the message says which. */
  readonly ISOLATE_LIMIT_EXCEEDED: 503;
  /** The call did not finish within its wall time. */
  readonly CALL_TIMED_OUT: 504;
  /**
   * Too many calls are waiting, or this one has waited too long; the message names the limit.
   * Try again after `Retry-After`.
   */
  readonly CALL_SHED: 503;
  /**
   * The circuit breaker is open: the installation passed its limits repeatedly and is refused
   * until `Retry-After`; its log has the reason.
   */
  readonly INSTALLATION_COOLING: 503;
  /**
   * The installation keeps crashing its cell and is refused until `Retry-After`; its log has
   * the reason.
   */
  readonly INSTALLATION_QUARANTINED: 503;
  /**
   * Too many uploads are being bundled, or other work of the machine kept one from being
   * published in time; try again after `Retry-After`.
   */
  readonly PUBLISH_BUSY: 503;
  /** The caller disconnected before the answer. */
  readonly CALL_CANCELED: 499;
  /** The cell that ran the call died; a new one has replaced it. */
  readonly CELL_CRASHED: 503;
  /** The service is shutting down. */
  readonly SERVICE_STOPPING: 503;
  /** A fault of Annex; the log has the cause under the same request id. */
  readonly INTERNAL_ERROR: 500;
}

/** Code of an error of Annex's own. */
export type ErrorCode = keyof ErrorStatuses;

/** Version of the client: that of the service whose routes it has. */
export const VERSION = '0.1.0';
