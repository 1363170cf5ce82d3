/**
 * The routes of the API that code of an integration may use
 * (docs/contract/environment.md#runtime-tokens),
 * from the service's description at `/v1/openapi.json`. Types only.
 *
 * Generated: `npx vitest run test/service/sdk/api-routes.test.ts -u`.
 */

import type {
  ApiConfigurationForm,
  ApiCredentialsLease,
  ApiInstallation,
  ApiIntegration,
  ApiListQuery,
  ApiPage,
  ApiSiteInstallation,
  ApiSpaceInstallation,
  ApiSpentState,
  ApiWebhookSecret,
  ApiWebhookTest,
} from './api-shapes.ts';

export type * from './api-shapes.ts';

/** Method and path → the parts of a request that the route takes, and its answer. */
export interface ApiRoutes {
  /** Read an integration. */
  'GET /integrations/{name}': {
    readonly answer: ApiIntegration;
  };
  /** List installations. */
  'GET /integrations/{name}/installations': {
    readonly query: ApiListQuery;
    readonly answer: ApiPage<ApiInstallation>;
  };
  /** Read an installation. */
  'GET /integrations/{name}/installations/{id}': {
    readonly headers: {
      /**
       * Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412
       * for a change.
       */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiInstallation;
  };
  /** Edit an installation. */
  'PATCH /integrations/{name}/installations/{id}': {
    readonly query: {
      /**
       * What happens to properties that are not in the body: they stay (`merge`) or are removed
       * (`replace`). By default `replace` for runtime tokens, `merge` for others.
       */
      readonly configuration?: 'merge' | 'replace';
    };
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /**
       * Properties to set; null unsets one. Others are removed where the edit replaces, and stay
       * where it merges.
       */
      readonly configuration?: Readonly<Record<string, unknown>>;
      readonly externalIds?: readonly string[];
      readonly space_selection?: 'all' | 'selected';
      readonly site_selection?: 'all' | 'selected';
    };
    readonly answer: ApiInstallation;
  };
  /** Read an installation in a space. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}': {
    readonly headers: {
      /**
       * Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412
       * for a change.
       */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiSpaceInstallation;
  };
  /** Edit an installation in a space. */
  'PATCH /integrations/{name}/installations/{id}/spaces/{space}': {
    readonly query: {
      /**
       * What happens to properties that are not in the body: they stay (`merge`) or are removed
       * (`replace`). By default `replace` for runtime tokens, `merge` for others.
       */
      readonly configuration?: 'merge' | 'replace';
    };
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /**
       * Properties to set; null unsets one. Others are removed where the edit replaces, and stay
       * where it merges.
       */
      readonly configuration?: Readonly<Record<string, unknown>>;
      readonly externalIds?: readonly string[];
    };
    readonly answer: ApiSpaceInstallation;
  };
  /** Read an installation in a site. */
  'GET /integrations/{name}/installations/{id}/sites/{site}': {
    readonly headers: {
      /**
       * Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412
       * for a change.
       */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiSiteInstallation;
  };
  /** Edit an installation in a site. */
  'PATCH /integrations/{name}/installations/{id}/sites/{site}': {
    readonly query: {
      /**
       * What happens to properties that are not in the body: they stay (`merge`) or are removed
       * (`replace`). By default `replace` for runtime tokens, `merge` for others.
       */
      readonly configuration?: 'merge' | 'replace';
    };
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /**
       * Properties to set; null unsets one. Others are removed where the edit replaces, and stay
       * where it merges.
       */
      readonly configuration?: Readonly<Record<string, unknown>>;
      readonly externalIds?: readonly string[];
    };
    readonly answer: ApiSiteInstallation;
  };
  /** List the spaces of all installations. */
  'GET /integrations/{name}/spaces': {
    readonly query: ApiListQuery;
    readonly answer: ApiPage<ApiSpaceInstallation>;
  };
  /** List the spaces of an installation, by id. */
  'GET /integrations/{name}/installations/{id}/spaces': {
    readonly query: ApiListQuery;
    readonly answer: ApiPage<ApiSpaceInstallation>;
  };
  /** List the sites of all installations. */
  'GET /integrations/{name}/sites': {
    readonly query: ApiListQuery;
    readonly answer: ApiPage<ApiSiteInstallation>;
  };
  /** List the sites of an installation, by id. */
  'GET /integrations/{name}/installations/{id}/sites': {
    readonly query: ApiListQuery;
    readonly answer: ApiPage<ApiSiteInstallation>;
  };
  /** Read the webhook secret of an installation in a space. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}/webhook-secret': {
    readonly answer: ApiWebhookSecret;
  };
  /** Rotate the webhook secret of an installation in a space. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/webhook-secret/rotate': {
    readonly body: {
      /** Printable ASCII characters without spaces. If absent, a secret is generated. */
      readonly secret?: string;
      /** Time in which the previous secret signs too. If absent, it stops at once. */
      readonly overlapSeconds?: number;
    };
    readonly answer: ApiWebhookSecret;
  };
  /** Read the webhook secret of an installation in a site. */
  'GET /integrations/{name}/installations/{id}/sites/{site}/webhook-secret': {
    readonly answer: ApiWebhookSecret;
  };
  /** Rotate the webhook secret of an installation in a site. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/webhook-secret/rotate': {
    readonly body: {
      /** Printable ASCII characters without spaces. If absent, a secret is generated. */
      readonly secret?: string;
      /** Time in which the previous secret signs too. If absent, it stops at once. */
      readonly overlapSeconds?: number;
    };
    readonly answer: ApiWebhookSecret;
  };
  /** Test the webhook of an installation in a space. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/webhook-test': {
    readonly body?: {
      /** A type that the configuration selects; if absent, the first of them. */
      readonly type?: string;
    };
    readonly answer: ApiWebhookTest;
  };
  /** Test the webhook of an installation in a site. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/webhook-test': {
    readonly body?: {
      /** A type that the configuration selects; if absent, the first of them. */
      readonly type?: string;
    };
    readonly answer: ApiWebhookTest;
  };
  /** Read the configuration of an installation as a form. */
  'GET /integrations/{name}/installations/{id}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Read the configuration of an installation in a space as a form. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Read the configuration of an installation in a site as a form. */
  'GET /integrations/{name}/installations/{id}/sites/{site}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Get a runtime token of an installation. */
  'POST /integrations/{name}/installations/{id}/tokens': {
    readonly answer: {
      /** A runtime token of the installation, of kind `installation`. */
      readonly token: string;
    };
  };
  /** Lease the credentials of an installation to renew them. */
  'POST /integrations/{name}/installations/{id}/credentials/lease': {
    readonly body: {
      /** A lease that the call holds, to extend it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Release the lease of the credentials of an installation. */
  'DELETE /integrations/{name}/installations/{id}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Report that no provider renews the credentials of an installation any more. */
  'POST /integrations/{name}/installations/{id}/credentials/lost': {
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** The lease with which the renewal was refused. */
      readonly lease: string;
    };
    readonly answer: undefined;
  };
  /** Spend the state of an OAuth flow of an installation. */
  'POST /integrations/{name}/installations/{id}/credentials/states': {
    readonly body: {
      /** SHA-256 of the state, in base64url. */
      readonly digest: string;
    };
    readonly answer: ApiSpentState;
  };
  /** Lease the credentials of an installation in a space to renew them. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/credentials/lease': {
    readonly body: {
      /** A lease that the call holds, to extend it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Release the lease of the credentials of an installation in a space. */
  'DELETE /integrations/{name}/installations/{id}/spaces/{space}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Report that no provider renews the credentials of an installation in a space any more. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/credentials/lost': {
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** The lease with which the renewal was refused. */
      readonly lease: string;
    };
    readonly answer: undefined;
  };
  /** Spend the state of an OAuth flow of an installation in a space. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/credentials/states': {
    readonly body: {
      /** SHA-256 of the state, in base64url. */
      readonly digest: string;
    };
    readonly answer: ApiSpentState;
  };
  /** Lease the credentials of an installation in a site to renew them. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/credentials/lease': {
    readonly body: {
      /** A lease that the call holds, to extend it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Release the lease of the credentials of an installation in a site. */
  'DELETE /integrations/{name}/installations/{id}/sites/{site}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Report that no provider renews the credentials of an installation in a site any more. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/credentials/lost': {
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** The lease with which the renewal was refused. */
      readonly lease: string;
    };
    readonly answer: undefined;
  };
  /** Spend the state of an OAuth flow of an installation in a site. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/credentials/states': {
    readonly body: {
      /** SHA-256 of the state, in base64url. */
      readonly digest: string;
    };
    readonly answer: ApiSpentState;
  };
  /** Draw a component of an integration, after an action if one is sent. */
  'POST /integrations/{name}/render': {
    readonly body: {
      readonly componentId: string;
      /** The service sets those of a configuration component itself. */
      readonly props?: Readonly<Record<never, never>>;
      /** State of the last answer; absent in the first request. */
      readonly state?: Readonly<Record<never, never>>;
      /** Action of the user, with bindings resolved. */
      readonly action?: {
        readonly action: string;
      };
      /** Reads a page of choices of a `select` from its URL, and draws nothing. */
      readonly choices?: {
        /** With search and page in its query. */
        readonly url: string;
      };
      /** Where it is shown. */
      readonly context?: Readonly<Record<never, never>>;
      /** The user of the host product to whom it is shown. */
      readonly auth?: {
        readonly userId: string;
      };
      /** The installation; by default the own target of the token. */
      readonly installationId?: string;
      /** Id of a space or a site of the host product. */
      readonly spaceId?: string;
      /** Id of a space or a site of the host product. */
      readonly siteId?: string;
    };
    readonly answer: unknown;
  };
  /** Draw a component of an integration in its initial state. */
  'GET /integrations/{name}/render': {
    readonly query: {
      readonly componentId: string;
      /** Its props. As JSON. */
      readonly props?: string;
      /** Where it is shown. As JSON. */
      readonly context?: string;
      /** The installation; by default the own target of the token. */
      readonly installationId?: string;
      /** Id of a space or a site of the host product. */
      readonly spaceId?: string;
      /** Id of a space or a site of the host product. */
      readonly siteId?: string;
    };
    readonly headers: {
      /**
       * Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412
       * for a change.
       */
      readonly 'if-none-match'?: string;
    };
    readonly answer: unknown;
  };
  /** Queue a task. */
  'POST /integrations/{name}/tasks': {
    readonly body: {
      /** Any JSON value. The event `task` has it as it is here. */
      readonly task: unknown;
      /** Seconds until the task is delivered. */
      readonly schedule?: number;
    };
    readonly answer: undefined;
  };
  /** List the keys that code has stored for an installation, by key. */
  'GET /integrations/{name}/installations/{id}/storage': {
    readonly query: {
      /** `next` of the page before. */
      readonly cursor?: string;
      /** `next.page` of the page before. The answer then has a `next.page`, too. */
      readonly page?: string;
      readonly limit?: number;
      /** Only keys that begin with it. */
      readonly prefix?: string;
    };
    readonly answer: ApiPage<{
      readonly key: string;
      readonly kind: 'json' | 'bytes';
      /** Size of key and value together. */
      readonly bytes: number;
      readonly version: number;
      readonly expiresAt?: string;
      readonly updatedAt: string;
    }>;
  };
  /** Read a value that code has stored for an installation. */
  'GET /integrations/{name}/installations/{id}/storage/{key}': {
    readonly headers: {
      /**
       * Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412
       * for a change.
       */
      readonly 'if-none-match'?: string;
    };
    readonly answer: undefined;
  };
  /** Delete a value that code has stored for an installation. */
  'DELETE /integrations/{name}/installations/{id}/storage/{key}': {
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly answer: undefined;
  };
  /** Store a value for an installation. */
  'PUT /integrations/{name}/installations/{id}/storage/{key}': {
    readonly query: {
      /** Seconds until it expires; never, if absent. */
      readonly expiresIn?: number;
    };
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
      /**
       * Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412
       * for a change.
       */
      readonly 'if-none-match'?: string;
    };
    readonly answer: {
      readonly version: number;
    };
  };
  /** Add to a whole number that is stored for an installation. */
  'POST /integrations/{name}/installations/{id}/storage/{key}/increment': {
    readonly body?: {
      readonly by?: number;
    };
    readonly answer: {
      readonly value: number;
      readonly version: number;
    };
  };
  /** List the keys that code has stored for an integration, shared by its installations, by key. */
  'GET /integrations/{name}/storage': {
    readonly query: {
      /** `next` of the page before. */
      readonly cursor?: string;
      /** `next.page` of the page before. The answer then has a `next.page`, too. */
      readonly page?: string;
      readonly limit?: number;
      /** Only keys that begin with it. */
      readonly prefix?: string;
    };
    readonly answer: ApiPage<{
      readonly key: string;
      readonly kind: 'json' | 'bytes';
      /** Size of key and value together. */
      readonly bytes: number;
      readonly version: number;
      readonly expiresAt?: string;
      readonly updatedAt: string;
    }>;
  };
  /** Read a value that code has stored for an integration, shared by its installations. */
  'GET /integrations/{name}/storage/{key}': {
    readonly headers: {
      /**
       * Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412
       * for a change.
       */
      readonly 'if-none-match'?: string;
    };
    readonly answer: undefined;
  };
  /** Delete a value that code has stored for an integration, shared by its installations. */
  'DELETE /integrations/{name}/storage/{key}': {
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly answer: undefined;
  };
  /** Store a value for an integration, shared by its installations. */
  'PUT /integrations/{name}/storage/{key}': {
    readonly query: {
      /** Seconds until it expires; never, if absent. */
      readonly expiresIn?: number;
    };
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
      /**
       * Only if its `ETag` is none of these, or, for `*`, if there is none; otherwise 304, and 412
       * for a change.
       */
      readonly 'if-none-match'?: string;
    };
    readonly answer: {
      readonly version: number;
    };
  };
  /** Add to a whole number that is stored for an integration, shared by its installations. */
  'POST /integrations/{name}/storage/{key}/increment': {
    readonly body?: {
      readonly by?: number;
    };
    readonly answer: {
      readonly value: number;
      readonly version: number;
    };
  };
}
