/**
 * The routes of the API that code of an integration may ask, as the service describes them at `/v1/openapi.json`. Types
 * only.
 *
 * Generated: `npx vitest run test/sdk-api-routes.test.ts -u`.
 */

export interface ApiInstallation {
  readonly id: string;
  readonly integration: string;
  readonly organization: string;
  readonly status: 'active' | 'pending' | 'paused';
  /** Without what `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Properties that are set and whose values are never shown. */
  readonly sealed?: readonly string[];
  readonly externalIds: readonly string[];
  readonly urls: {
    readonly publicEndpoint: string;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly space_selection: 'all' | 'selected';
  readonly site_selection: 'all' | 'selected';
  /** What keeps the configuration from being valid, by property; absent where nothing does, and in lists. */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

export interface ApiSpaceInstallation {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly space: string;
  readonly integration: string;
  readonly organization: string;
  readonly status: 'active' | 'pending' | 'paused';
  /** Without what `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Properties that are set and whose values are never shown. */
  readonly sealed?: readonly string[];
  readonly externalIds: readonly string[];
  readonly urls: {
    readonly publicEndpoint: string;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
  /** What keeps the configuration from being valid, by property; absent where nothing does, and in lists. */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

export interface ApiSiteInstallation {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly site: string;
  readonly integration: string;
  readonly organization: string;
  readonly status: 'active' | 'pending' | 'paused';
  /** Without what `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Properties that are set and whose values are never shown. */
  readonly sealed?: readonly string[];
  readonly externalIds: readonly string[];
  readonly urls: {
    readonly publicEndpoint: string;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
  /** What keeps the configuration from being valid, by property; absent where nothing does, and in lists. */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

export interface ApiConfigurationForm {
  readonly level: 'organization' | 'space' | 'site';
  readonly status: 'active' | 'pending' | 'paused';
  /** The component that draws the settings itself, instead of fields. */
  readonly componentId?: string;
  /** In the manifest's order. */
  readonly properties?: readonly {
    readonly name: string;
    readonly type: 'string' | 'number' | 'boolean' | 'button';
    readonly title?: string;
    readonly description?: string;
    readonly required: boolean;
    readonly default?: unknown;
    /** Choices of a dropdown. */
    readonly enum?: readonly string[];
    /** Several of them may be chosen: the value is a list. */
    readonly multiple?: boolean;
    /** The integration supplies the choices: ask for them at `…/completions`. */
    readonly completion?: boolean;
    readonly button_text?: string;
    /** Where the button leads; absolute. */
    readonly callback_url?: string;
    /** Absent where nothing is set, and for what is sealed. */
    readonly value?: unknown;
    /** It holds credentials, which are never shown. */
    readonly sealed?: boolean;
    /** Whether it has a value; of what is sealed. */
    readonly isSet?: boolean;
  }[];
  /** What keeps the configuration from being valid. */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

export interface ApiCredentialsLease {
  /** Absent while another call holds it: try again. */
  readonly lease?: string;
  readonly expiresAt?: string;
  /** `oauth_credentials` as they are now. */
  readonly credentials?: Readonly<Record<string, unknown>>;
}

export interface ApiWebhookSecret {
  /** The key of the HMAC is its UTF-8 text as it stands here. */
  readonly secret: string;
  readonly createdAt: string;
  /** While the secret before it signs, too: until when. Behind the new one in the header. */
  readonly previous?: {
    readonly until: string;
  };
}

export interface ApiWebhookTest {
  readonly eventId: string;
  /** None where the code does not handle the type, or lacks its scope. */
  readonly deliveries: number;
}

/** Method and path → what goes in, what comes out. A member that is not there, the route does not take. */
export interface ApiRoutes {
  /** Read an integration. */
  'GET /integrations/{name}': {
    readonly answer: {
      readonly name: string;
      readonly title: string;
      readonly description: string;
      /** The owner. */
      readonly organization: string;
      readonly visibility: 'private' | 'unlisted' | 'public';
      /** The active version. */
      readonly version: number;
      readonly createdAt: string;
      readonly updatedAt: string;
      /** Markdown. */
      readonly summary?: string;
      /** Where it can be installed: all, organization, space or site. */
      readonly target: string;
      readonly scopes: readonly string[];
      readonly categories: readonly string[];
      readonly blocks: readonly {
        readonly id: string;
        readonly title: string;
        readonly description?: string;
        readonly icon?: string;
        readonly urlUnfurl?: readonly string[];
        readonly markdown?: {
          readonly codeblock: string;
          readonly body: string;
        };
      }[];
      readonly icon?: string;
      readonly previewImages: readonly string[];
      readonly externalLinks: readonly {
        readonly label: string;
        readonly url: string;
      }[];
      /** The hosts that its fetch may reach, where the manifest lists them. */
      readonly egress?: readonly string[];
      /** Where it posts webhooks: the settings that hold the URL and the types of events. */
      readonly webhook?: {
        readonly url: string;
        readonly eventTypes: string;
      };
      /** Whether it has an install link. Only its owner is told. */
      readonly installLink?: boolean;
    };
  };
  /** List installations. */
  'GET /integrations/{name}/installations': {
    readonly query: {
      /** `next` of the page before. */
      readonly cursor?: string;
      readonly limit?: number;
      readonly externalId?: string;
    };
    readonly answer: {
      readonly items: readonly ApiInstallation[];
      /** Cursor of the next page; absent on the last. */
      readonly next?: string;
    };
  };
  /** Read an installation. */
  'GET /integrations/{name}/installations/{id}': {
    readonly headers: {
      /** Only where its `ETag` is none of these; 304 where it is one. */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiInstallation;
  };
  /** Edit an installation. */
  'PATCH /integrations/{name}/installations/{id}': {
    readonly headers: {
      /** Only where its `ETag` is one of these; 412 where it is not. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** Properties to set; null unsets one. Others stay. */
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
      /** Only where its `ETag` is none of these; 304 where it is one. */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiSpaceInstallation;
  };
  /** Edit an installation in a space. */
  'PATCH /integrations/{name}/installations/{id}/spaces/{space}': {
    readonly headers: {
      /** Only where its `ETag` is one of these; 412 where it is not. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** Properties to set; null unsets one. Others stay. */
      readonly configuration?: Readonly<Record<string, unknown>>;
      readonly externalIds?: readonly string[];
    };
    readonly answer: ApiSpaceInstallation;
  };
  /** Read an installation in a site. */
  'GET /integrations/{name}/installations/{id}/sites/{site}': {
    readonly headers: {
      /** Only where its `ETag` is none of these; 304 where it is one. */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiSiteInstallation;
  };
  /** Edit an installation in a site. */
  'PATCH /integrations/{name}/installations/{id}/sites/{site}': {
    readonly headers: {
      /** Only where its `ETag` is one of these; 412 where it is not. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** Properties to set; null unsets one. Others stay. */
      readonly configuration?: Readonly<Record<string, unknown>>;
      readonly externalIds?: readonly string[];
    };
    readonly answer: ApiSiteInstallation;
  };
  /** List the spaces that it is installed in, by id. */
  'GET /integrations/{name}/installations/{id}/spaces': {
    readonly query: {
      /** `next` of the page before. */
      readonly cursor?: string;
      readonly limit?: number;
      readonly externalId?: string;
    };
    readonly answer: {
      readonly items: readonly ApiSpaceInstallation[];
      /** Cursor of the next page; absent on the last. */
      readonly next?: string;
    };
  };
  /** List the sites that it is installed in, by id. */
  'GET /integrations/{name}/installations/{id}/sites': {
    readonly query: {
      /** `next` of the page before. */
      readonly cursor?: string;
      readonly limit?: number;
      readonly externalId?: string;
    };
    readonly answer: {
      readonly items: readonly ApiSiteInstallation[];
      /** Cursor of the next page; absent on the last. */
      readonly next?: string;
    };
  };
  /** Show what webhooks of an installation in a space are signed with. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}/webhook-secret': {
    readonly answer: ApiWebhookSecret;
  };
  /** Replace what webhooks of an installation in a space are signed with. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/webhook-secret/rotate': {
    readonly body: {
      /** One of your own: printable ASCII characters without spaces. One is made unless given. */
      readonly secret?: string;
      /** How long the secret before it goes on signing, too. It stops at once unless given. */
      readonly overlapSeconds?: number;
    };
    readonly answer: ApiWebhookSecret;
  };
  /** Show what webhooks of an installation in a site are signed with. */
  'GET /integrations/{name}/installations/{id}/sites/{site}/webhook-secret': {
    readonly answer: ApiWebhookSecret;
  };
  /** Replace what webhooks of an installation in a site are signed with. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/webhook-secret/rotate': {
    readonly body: {
      /** One of your own: printable ASCII characters without spaces. One is made unless given. */
      readonly secret?: string;
      /** How long the secret before it goes on signing, too. It stops at once unless given. */
      readonly overlapSeconds?: number;
    };
    readonly answer: ApiWebhookSecret;
  };
  /** Try the webhook of an installation in a space out. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/webhook-test': {
    readonly body?: {
      /** One that is selected there; unless given, the first of those. */
      readonly type?: 'space_content_updated';
    };
    readonly answer: ApiWebhookTest;
  };
  /** Try the webhook of an installation in a site out. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/webhook-test': {
    readonly body?: {
      /** One that is selected there; unless given, the first of those. */
      readonly type?: 'site_view' | 'page_feedback';
    };
    readonly answer: ApiWebhookTest;
  };
  /** Read the settings of an installation as a form. */
  'GET /integrations/{name}/installations/{id}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Read the settings of an installation in a space as a form. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Read the settings of an installation in a site as a form. */
  'GET /integrations/{name}/installations/{id}/sites/{site}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Be the one to renew the credentials of an installation. */
  'POST /integrations/{name}/installations/{id}/credentials/lease': {
    readonly body: {
      /** One that is held already: more time for it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Let others renew the credentials of an installation. */
  'DELETE /integrations/{name}/installations/{id}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Be the one to renew the credentials of an installation in a space. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/credentials/lease': {
    readonly body: {
      /** One that is held already: more time for it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Let others renew the credentials of an installation in a space. */
  'DELETE /integrations/{name}/installations/{id}/spaces/{space}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Be the one to renew the credentials of an installation in a site. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/credentials/lease': {
    readonly body: {
      /** One that is held already: more time for it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Let others renew the credentials of an installation in a site. */
  'DELETE /integrations/{name}/installations/{id}/sites/{site}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
}
