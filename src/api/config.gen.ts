// Generated from crds/ by `make generate`: do not edit.

import type { Condition, KubeObject } from './objects.ts'

/**
 * Config holds the settings of the platform. The object named platform-manager-config is in force
 * (flag --config-name of the operator and the gateway chooses another name); others are NotInForce.
 * spec holds what people declare. status holds what is in force, and is what clients read.
 */
export type Config = KubeObject<ConfigSettings, ConfigStatus>

/**
 * The declared settings. Every group and field is optional. A second source is the Secret of the
 * same name in the platform's namespace, data key config, YAML in this shape, which may hold client
 * secrets. Objects merge, lists replace, and spec wins. When any setting has a fault, the operator
 * takes none of the declaration: the settings in force stay, and condition Ready lists every fault
 * with its path.
 */
export interface ConfigSettings {
  /**
   * Sign-in and the lifetimes of access keys. The product acts on the lifetimes, and on oidc and
   * password where its sign-in process is installed.
   */
  readonly auth?: AuthSettings
  /**
   * Deprecated: configure OIDC clients by the client UI or a Secret instead. The platform as an
   * OIDC server, through which apps sign people in; enabled switches it on. The product acts on it
   * where its sign-in process is installed.
   */
  readonly oidc?: OidcServer
  /**
   * Apps that the UI offers and where their charts come from. Nothing in this product acts on it.
   */
  readonly apps?: AppsSettings
  /**
   * Audit log of the gateway: which requests it records, where, and for how long. The gateway
   * answers what must be recorded only once it is.
   */
  readonly audit?: AuditSettings
  /**
   * Domain where the platform is hosted, without http:// or https://. The operator and the gateway
   * derive the issuer of tokens from it, https://<platformHost>/oidc, unless flag --issuer-url is
   * set; they take a change at their next start. Absent and without the flag, no tokens are issued.
   * The gateway's own certificate is also valid for it.
   */
  readonly platformHost?: string
  /**
   * Prefix of the namespaces of projects: with team- project web has namespace team-web. It ends in
   * - and has at least one more character. Default p-. The gateway finds the namespaces of a
   * scope's projects by it.
   */
  readonly projectNamespacePrefix?: string
  /**
   * Deprecated: leave it out; nothing replaces it. Subdomain of workspaces, of the form
   * *.workspace.<domain>. Nothing in this product acts on it.
   */
  readonly devPodSubDomain?: string
  /**
   * Appearance of the UI. Nothing in this product acts on it but the sign-in pages, which use
   * logoURL, primaryColor, accentColor and legalTemplate.
   */
  readonly uiSettings?: UiSettings
  /**
   * Secret store whose entries this product acts on: the delivery process copies them into Secrets
   * of projects, and Secrets into it.
   */
  readonly secretStore?: SecretStoreSettings
  /**
   * When true, settings cannot be changed through the UI or the config endpoint: the gateway
   * answers writes to configs with 403. Default false.
   */
  readonly disableConfigEndpoint?: boolean
  /**
   * When true, the gateway answers /version only to callers with a credential. Needs virtual
   * clusters of release 0.27 or later. Default false.
   */
  readonly authenticateVersionEndpoint?: boolean
  /** Settings of hosted cloud deployments only. Nothing in this product acts on it. */
  readonly cloud?: CloudSettings
  /** Cost dashboard. Nothing in this product acts on it. */
  readonly costControl?: CostControlSettings
  /** Database of the platform. Nothing in this product acts on it. */
  readonly platformDB?: PlatformDbSettings
  /** Builder of images for workspaces. Nothing in this product acts on it. */
  readonly imageBuilder?: ImageBuilderSettings
  /**
   * Datastore of a deployment with an embedded orchestrator. Nothing in this product acts on it.
   */
  readonly database?: DatabaseSettings
}

/**
 * Sign-in and the lifetimes of access keys. The product acts on the lifetimes, and on oidc and
 * password where its sign-in process is installed.
 */
export interface AuthSettings {
  /** Sign-in through an OpenID Connect provider. Absent, this provider is not offered. */
  readonly oidc?: OidcProvider
  /** Sign-in through source code host A. Absent, this provider is not offered. */
  readonly sourceHostA?: SourceHostAProvider
  /** Sign-in through source code host B. Absent, this provider is not offered. */
  readonly sourceHostB?: SourceHostBProvider
  /** Sign-in through identity provider A. Absent, this provider is not offered. */
  readonly idpA?: IdpAProvider
  /** Sign-in through identity provider B. Absent, this provider is not offered. */
  readonly idpB?: IdpBProvider
  /**
   * Sign-in through a SAML 2.0 provider. Exactly one of caData, ca and
   * insecureSkipSignatureValidation is needed. Absent, this provider is not offered.
   */
  readonly saml?: SamlProvider
  /** Sign-in with a password. */
  readonly password?: PasswordLogin
  /** Additional providers, each under an id of its own. Absent or empty, none. */
  readonly connectors?: readonly Connector[]
  /**
   * When false, the default, teams are created for new groups of a user who signs in through single
   * sign-on. When true, they are not.
   */
  readonly disableTeamCreation?: boolean
  /**
   * When false, the default, a user object is created at the first sign-in of a user who has none.
   * When true, it is not.
   */
  readonly disableUserCreation?: boolean
  /**
   * Longest life of any access key and token, in seconds (2592000 is 30 days). Absent or 0, no cap.
   * A change takes effect at once, also for existing keys and for keys without a ttl. spec.ttl of a
   * key is never rewritten.
   */
  readonly accessKeyMaxTTLSeconds?: number
  /**
   * Life of a key of type Login without a ttl, in seconds. Absent, 20 days (1728000); 0, no
   * lifetime of its own. A change takes effect at once, also for existing keys.
   */
  readonly loginAccessKeyTTLSeconds?: number
  /**
   * Headers set on the answers of the authentication endpoints, name to value. Every browser sees
   * them, so a value is no secret and stands in status as it is. Headers that frame a message, and
   * those that the pages set for their own safety, are ignored.
   */
  readonly customHttpHeaders?: Readonly<Record<string, string>>
  /**
   * Regular expressions (RE2). Only groups from single sign-on that match one of them are saved in
   * the user. Absent or empty, all groups are saved.
   */
  readonly groupsFilters?: readonly string[]
}

/** Sign-in through an OpenID Connect provider. Absent, this provider is not offered. */
export interface OidcProvider {
  /**
   * URL that the provider signs ID tokens as (the iss claim). It is also where the provider's
   * configuration is discovered, which the provider must implement.
   */
  readonly issuerUrl?: string
  /**
   * Client that a token must be issued for. One client only is trusted; the authorized party claim
   * (azp) is supported.
   */
  readonly clientId?: string
  /**
   * Secret that obtains tokens from the provider. In spec, write $PLATFORM_CONFIG_<NAME>, an
   * environment variable of the operator, or nothing; a literal belongs in the Secret. status shows
   * REDACTED.
   */
  readonly clientSecret?: string
  /**
   * Callback address of this service for the provider. Its path is /auth/<provider>/callback, for a
   * connector /auth/<id of the connector>/callback. Absent, that path at platformHost.
   */
  readonly redirectURI?: string
  /** Where the provider redirects to after logout. Absent, the provider decides. */
  readonly postLogoutRedirectURI?: string
  /** Path to a PEM root certificate of the provider. Absent, the system's roots are used. */
  readonly caFile?: string
  /** When true, the provider's certificates are not validated. Default false. */
  readonly insecureCa?: boolean
  /** Key that holds the preferred user name claim. */
  readonly preferredUsername?: string
  /** Token field used as the platform's user name. */
  readonly platformUsernameClaim?: string
  /** Token field used as the user id. */
  readonly usernameClaim?: string
  /** Token field used as the email address. */
  readonly emailClaim?: string
  /** Extra claims accepted from the provider. Absent or empty, none. */
  readonly allowedExtraClaims?: readonly string[]
  /** Prefix added to mapped user names. Absent, none. */
  readonly usernamePrefix?: string
  /** Token field that holds the groups. Its value must be a string or a list of strings. */
  readonly groupsClaim?: string
  /** When not empty, access is denied unless the user is in at least one of these groups. */
  readonly groups?: readonly string[]
  /** Scopes requested from the provider. Default, also when empty, email and profile. */
  readonly scopes?: readonly string[]
  /**
   * When true, user information is also read from the provider's user info endpoint. Default false.
   */
  readonly getUserInfo?: boolean
  /** Prefix added to mapped group names. Absent, none. */
  readonly groupsPrefix?: string
  /** Kind of provider that the UI displays; nothing else depends on it. */
  readonly type?: string
  /**
   * Value of the parameter resource on requests to the provider's token endpoint. Absent, the
   * parameter is not sent.
   */
  readonly resource?: string
}

/** Sign-in through source code host A. Absent, this provider is not offered. */
export interface SourceHostAProvider {
  /** Client id under which this service is registered at the provider. */
  readonly clientId?: string
  /**
   * Secret that obtains tokens from the provider. In spec, write $PLATFORM_CONFIG_<NAME>, an
   * environment variable of the operator, or nothing; a literal belongs in the Secret. status shows
   * REDACTED.
   */
  readonly clientSecret?: string
  /**
   * Callback address of this service for the provider. Its path is /auth/<provider>/callback, for a
   * connector /auth/<id of the connector>/callback. Absent, that path at platformHost.
   */
  readonly redirectURI?: string
  /**
   * Organizations whose members may sign in; a user must belong to at least one. Group claims take
   * the form <org>:<team>. Absent or empty, no restriction.
   */
  readonly orgs?: readonly SourceHostAOrg[]
  /**
   * Host name of the provider, needed for its enterprise edition only. It must be routable. Absent,
   * the provider's public address.
   */
  readonly hostName?: string
  /**
   * Root certificate of the provider, for an enterprise edition whose root is not trusted by the
   * system.
   */
  readonly rootCA?: string
}

/** An organization whose members may sign in. */
export interface SourceHostAOrg {
  /** Full name of the organization. */
  readonly name?: string
  /**
   * Membership in at least one of these teams is needed. Absent or empty, every member of the
   * organization may sign in.
   */
  readonly teams?: readonly string[]
}

/** Sign-in through source code host B. Absent, this provider is not offered. */
export interface SourceHostBProvider {
  /** Address of the provider. Default, the provider's public hosted address. */
  readonly baseURL?: string
  /** Client id under which this service is registered at the provider. */
  readonly clientId?: string
  /**
   * Secret that obtains tokens from the provider. In spec, write $PLATFORM_CONFIG_<NAME>, an
   * environment variable of the operator, or nothing; a literal belongs in the Secret. status shows
   * REDACTED.
   */
  readonly clientSecret?: string
  /**
   * Callback address of this service for the provider. Its path is /auth/<provider>/callback, for a
   * connector /auth/<id of the connector>/callback. Absent, that path at platformHost.
   */
  readonly redirectURI?: string
  /**
   * Groups that enter the groups claim; a user in none of them can't sign in. Absent or empty, all
   * groups of the user enter the claim and every user can sign in.
   */
  readonly groups?: readonly string[]
}

/** Sign-in through identity provider A. Absent, this provider is not offered. */
export interface IdpAProvider {
  /** Client id under which this service is registered at the provider. */
  readonly clientId?: string
  /**
   * Secret that obtains tokens from the provider. In spec, write $PLATFORM_CONFIG_<NAME>, an
   * environment variable of the operator, or nothing; a literal belongs in the Secret. status shows
   * REDACTED.
   */
  readonly clientSecret?: string
  /**
   * Callback address of this service for the provider. Its path is /auth/<provider>/callback, for a
   * connector /auth/<id of the connector>/callback. Absent, that path at platformHost.
   */
  readonly redirectURI?: string
  /** Scopes requested from the provider. Default profile and email. */
  readonly scopes?: readonly string[]
  /** When not empty, only users of one of these domains may sign in. */
  readonly hostedDomains?: readonly string[]
  /** When not empty, only users of one of these groups may sign in. */
  readonly groups?: readonly string[]
  /**
   * Path to the JSON file of a service account that checks groups through the directory API. It
   * needs adminEmail. Absent, groups are not looked up.
   */
  readonly serviceAccountFilePath?: string
  /**
   * Email address of an administrator that the service account impersonates. Needed when
   * serviceAccountFilePath is set.
   */
  readonly adminEmail?: string
}

/** Sign-in through identity provider B. Absent, this provider is not offered. */
export interface IdpBProvider {
  /** Client id under which this service is registered at the provider. */
  readonly clientId?: string
  /**
   * Secret that obtains tokens from the provider. In spec, write $PLATFORM_CONFIG_<NAME>, an
   * environment variable of the operator, or nothing; a literal belongs in the Secret. status shows
   * REDACTED.
   */
  readonly clientSecret?: string
  /**
   * Callback address of this service for the provider. Its path is /auth/<provider>/callback, for a
   * connector /auth/<id of the connector>/callback. Absent, that path at platformHost.
   */
  readonly redirectURI?: string
  /**
   * Accounts that may sign in. common, the default: personal and business accounts. consumers:
   * personal accounts only. organizations: business or school accounts only. A tenant id or name:
   * that tenant only.
   */
  readonly tenant?: string
  /** When not empty, the user must be in one of these groups. */
  readonly groups?: readonly string[]
  /**
   * When true, the list of groups holds security groups only. Default false, all kinds of groups.
   */
  readonly onlySecurityGroups?: boolean
  /** When true, the groups claim is limited to the groups configured here. Default false. */
  readonly useGroupsAsWhitelist?: boolean
}

/**
 * Sign-in through a SAML 2.0 provider. Exactly one of caData, ca and
 * insecureSkipSignatureValidation is needed. Absent, this provider is not offered.
 */
export interface SamlProvider {
  /**
   * Callback address of this service. Its path is /auth/saml/callback, for a connector /auth/<id of
   * the connector>/callback. It must equal the Destination element of the response's assertion
   * where that is present. Absent, that path at platformHost.
   */
  readonly redirectURI?: string
  /** URL that the sign-in request is posted to. */
  readonly ssoURL?: string
  /**
   * The certificates that may sign responses, base64 of PEM or DER. A certificate that another one
   * has issued must stand here itself. Exactly one of caData, ca and
   * insecureSkipSignatureValidation is needed.
   */
  readonly caData?: string
  /**
   * Path to a file, PEM or DER, with the certificates that may sign responses. Exactly one of
   * caData, ca and insecureSkipSignatureValidation is needed.
   */
  readonly ca?: string
  /**
   * When true, the provider is not usable, as responses without a signature are not accepted.
   * Exactly one of caData, ca and insecureSkipSignatureValidation is needed. Default false.
   */
  readonly insecureSkipSignatureValidation?: boolean
  /** Attribute of the assertion that is mapped to the user name. */
  readonly usernameAttr?: string
  /** Attribute of the assertion that is mapped to the email address. */
  readonly emailAttr?: string
  /** Attribute of the assertion that is mapped to the groups. Absent, no groups. */
  readonly groupsAttr?: string
  /**
   * Issuer of the AuthnRequest. It also overrides redirectURI as the audience that the response
   * must have.
   */
  readonly entityIssuer?: string
  /** Issuer expected in the response. Absent, it is not checked. */
  readonly ssoIssuer?: string
  /**
   * When set, the groups arrive as one string with this separator. Absent, they arrive as a list.
   */
  readonly groupsDelim?: string
  /** When not empty, the user must be in one of these groups. */
  readonly allowedGroups?: readonly string[]
  /**
   * When true and allowedGroups is set, only the allowed groups are forwarded. Default false, all
   * groups of the user.
   */
  readonly filterGroups?: boolean
  /**
   * Requested NameID format, which becomes the sub claim; its last component alone is accepted.
   * Default urn:oasis:names:tc:SAML:2.0:nameid-format:persistent.
   */
  readonly nameIDPolicyFormat?: string
}

/** Sign-in with a password. */
export interface PasswordLogin {
  /** When true, sign-in with a password is disabled. Default false. */
  readonly disabled?: boolean
}

/** An additional provider; set exactly one of the provider objects. */
export interface Connector {
  /**
   * Id of the connector, shown in the URL. Each id is used once, and none of oidc, sourceHostA,
   * sourceHostB, idpA, idpB, saml, password, login and logout.
   */
  readonly id?: string
  /** Name shown in the UI. */
  readonly displayName?: string
  /** Sign-in through an OpenID Connect provider. Absent, this provider is not offered. */
  readonly oidc?: OidcProvider
  /** Sign-in through source code host A. Absent, this provider is not offered. */
  readonly sourceHostA?: SourceHostAProvider
  /** Sign-in through source code host B. Absent, this provider is not offered. */
  readonly sourceHostB?: SourceHostBProvider
  /** Sign-in through identity provider A. Absent, this provider is not offered. */
  readonly idpA?: IdpAProvider
  /** Sign-in through identity provider B. Absent, this provider is not offered. */
  readonly idpB?: IdpBProvider
  /**
   * Sign-in through a SAML 2.0 provider. Exactly one of caData, ca and
   * insecureSkipSignatureValidation is needed. Absent, this provider is not offered.
   */
  readonly saml?: SamlProvider
  /**
   * When false, the default, teams are created for new groups of a user who signs in through single
   * sign-on. When true, they are not.
   */
  readonly disableTeamCreation?: boolean
  /**
   * When false, the default, a user object is created at the first sign-in of a user who has none.
   * When true, it is not.
   */
  readonly disableUserCreation?: boolean
}

/**
 * Deprecated: configure OIDC clients by the client UI or a Secret instead. The platform as an OIDC
 * server, through which apps sign people in; enabled switches it on. The product acts on it where
 * its sign-in process is installed.
 */
export interface OidcServer {
  /** When true, the platform acts as an OIDC server. Default false. */
  readonly enabled?: boolean
  /** When true, * is allowed in the redirect URIs of clients. Default false. */
  readonly wildcardRedirect?: boolean
  /** Clients of the OIDC server. Absent or empty, none. */
  readonly clients?: readonly OidcClient[]
}

/** A client of the OIDC server. */
export interface OidcClient {
  /** Name of the client. */
  readonly name?: string
  /** Id of the client. */
  readonly clientId?: string
  /**
   * Secret that authenticates the client. In spec, write $PLATFORM_CONFIG_<NAME>, an environment
   * variable of the operator, or nothing; a literal belongs in the Secret. status shows REDACTED.
   */
  readonly clientSecret?: string
  /** Unless the client is public, a redirect must match one of these. */
  readonly redirectURIs?: readonly string[]
}

/** Apps that the UI offers and where their charts come from. Nothing in this product acts on it. */
export interface AppsSettings {
  /** When true, the default apps are not parsed. Default false. */
  readonly noDefault?: boolean
  /** Chart repositories. Absent or empty, none beyond the default. */
  readonly repositories?: readonly AppRepository[]
  /** Apps shown for selection in the UI. Absent or empty, none beyond the default. */
  readonly predefinedApps?: readonly PredefinedApp[]
}

/** A chart repository. */
export interface AppRepository {
  /** Name of the repository. */
  readonly name?: string
  /**
   * URL of the repository. A URL with user information belongs in the Secret, or is written in spec
   * as $PLATFORM_CONFIG_<NAME>, an environment variable of the operator that holds the whole URL.
   * status hides the user information.
   */
  readonly url?: string
  /** User name for the repository. Absent, it is read without authentication. */
  readonly username?: string
  /**
   * Password for the repository. In spec, write $PLATFORM_CONFIG_<NAME>, an environment variable of
   * the operator, or nothing; a literal belongs in the Secret. status shows REDACTED.
   */
  readonly password?: string
  /** When true, charts are fetched without TLS verification. Default false. */
  readonly insecure?: boolean
}

/** An app shown for selection in the UI. */
export interface PredefinedApp {
  /** The chart, as <repository>/<chart>. */
  readonly chart?: string
  /** Version selected at first. Absent, the latest. */
  readonly initialVersion?: string
  /** Values filled in at first; the UI replaces placeholders in them. Absent, none. */
  readonly initialValues?: string
  /** Names of the clusters for which the app is shown. Absent or empty, all. */
  readonly clusters?: readonly string[]
  /** Name shown for the app. Default, the chart's name. */
  readonly title?: string
  /** URL of the app's icon. Default, the icon in the chart's metadata. */
  readonly iconUrl?: string
  /** URL of the app's readme. Default, a URL constructed for a public chart hub. */
  readonly readmeUrl?: string
}

/**
 * Audit log of the gateway: which requests it records, where, and for how long. The gateway answers
 * what must be recorded only once it is.
 */
export interface AuditSettings {
  /**
   * When true, requests to the gateway are recorded according to level or policy, or refused if
   * that fails. Needs path. Default false.
   */
  readonly enabled?: boolean
  /**
   * When true, the agent does not send its audit logs back to the platform. Default false. The
   * agent is the direct endpoint of a connected cluster.
   */
  readonly disableAgentSyncBack?: boolean
  /**
   * Log level for all requests, 1 to 4, instead of policy: set one of the two. Absent or 0, the
   * policy decides.
   */
  readonly level?: number
  /** Which requests are logged. Absent, none unless level is set. */
  readonly policy?: AuditPolicy
  /**
   * Database that the events are copied to, to be asked for: sqlite:///<absolute file>,
   * postgres://user:password@host:port/database or mysql://user:password@host:port/database. A URL
   * with user information belongs in the Secret, or is written in spec as $PLATFORM_CONFIG_<NAME>,
   * an environment variable of the operator that holds the whole URL. status hides the user
   * information. Absent, events are written to files only.
   */
  readonly dataStoreEndpoint?: string
  /** Hours that events are kept in the data store at most. Absent or 0, no limit. */
  readonly dataStoreTTL?: number
  /**
   * Directory of the audit log files, an absolute path; rotated files stay in it. "-" means
   * standard output. Needed when the log is enabled.
   */
  readonly path?: string
  /** Days of 24 hours that rotated log files are kept. Absent or 0, age removes none. */
  readonly maxAge?: number
  /** Number of rotated log files to keep. Absent or 0, all. */
  readonly maxBackups?: number
  /** Size at which a log file is rotated, in megabytes. Default 100, also for 0. */
  readonly maxSize?: number
  /** When true, rotated log files are compressed with gzip. Default false. */
  readonly compress?: boolean
}

/** Which requests are logged. Absent, none unless level is set. */
export interface AuditPolicy {
  /**
   * Rules in strict order; the first that matches a request applies. A request that no rule matches
   * is not logged (level None); a last rule that matches all sets another default.
   */
  readonly rules?: readonly AuditPolicyRule[]
  /**
   * Stages for which no event is written, in addition to each rule's own list. Absent or empty,
   * none.
   */
  readonly omitStages?: readonly string[]
}

/** Which requests are logged at which level. */
export interface AuditPolicyRule {
  /** How much of a matching request is logged: None, Metadata, Request or RequestResponse. */
  readonly level?: string
  /** Users that the rule applies to. Absent or empty, every user. */
  readonly users?: readonly string[]
  /** Groups of users that the rule applies to. Absent or empty, every group. */
  readonly userGroups?: readonly string[]
  /** Verbs that the rule applies to. Absent or empty, every verb. */
  readonly verbs?: readonly string[]
  /** Resources that the rule applies to. Absent or empty, all kinds in all groups. */
  readonly resources?: readonly AuditPolicyResources[]
  /**
   * Namespaces that the rule applies to; an empty string means requests without a namespace. Absent
   * or empty, every namespace.
   */
  readonly namespaces?: readonly string[]
  /**
   * URL paths that the rule applies to. * alone is every path; at the end of a path it matches
   * every path with that beginning. Absent or empty, the rule applies to resources.
   */
  readonly nonResourceURLs?: readonly string[]
  /**
   * Stages for which no event is written, besides the stages that the policy omits. Absent or
   * empty, no restriction.
   */
  readonly omitStages?: readonly string[]
  /** Targets of requests that the rule applies to. Absent or empty, every request. */
  readonly requestTargets?: readonly string[]
  /**
   * Clusters that the rule applies to; when set, no events are written for requests to other
   * targets than clusters. Absent or empty, no restriction.
   */
  readonly clusters?: readonly string[]
}

/** Resources of one API group. */
export interface AuditPolicyResources {
  /** API group, or * for every group. Absent or empty, the core group. */
  readonly group?: string
  /**
   * Resources of the group: pods, pods/log (a subresource), * (all), pods/* (all subresources of
   * pods) or *\/scale (that subresource of all). Entries must not overlap with a wildcard. Absent
   * or empty, all resources and subresources of the group.
   */
  readonly resources?: readonly string[]
  /** Names of instances; resources is needed with it. Absent or empty, every instance. */
  readonly resourceNames?: readonly string[]
}

/**
 * Appearance of the UI. Nothing in this product acts on it but the sign-in pages, which use
 * logoURL, primaryColor, accentColor and legalTemplate.
 */
export interface UiSettings {
  /** Version of the platform that the UI shows. */
  readonly platformVersion?: string
  /** URL of the logo, which must be reachable by clients of the UI. Absent, the default logo. */
  readonly logoURL?: string
  /** URL of the favicon, which must be reachable by clients of the UI. Absent, the default icon. */
  readonly faviconURL?: string
  /**
   * URL of the small logo, which must be reachable by clients of the UI. Absent, the default logo.
   */
  readonly smallLogoURL?: string
  /** Colour behind the logo, # and hex digits. Absent, the default colour. */
  readonly logoBackgroundColor?: string
  /** Main colour of the UI, # and hex digits. Absent, the default colour. */
  readonly primaryColor?: string
  /** Colour of the side bar, # and hex digits. Absent, the default colour. */
  readonly sidebarColor?: string
  /** Colour of accents, # and hex digits. Absent, the default colour. */
  readonly accentColor?: string
  /** HTML text shown to users when they sign in. Absent, none. */
  readonly legalTemplate?: string
  /** Style sheets that the UI loads. Absent or empty, none. */
  readonly customCss?: readonly string[]
  /** Scripts that the UI loads. Absent or empty, none. */
  readonly customJavaScript?: readonly string[]
  /** Additional buttons of the navigation bar. Absent or empty, none. */
  readonly navBarButtons?: readonly NavBarButton[]
  /** Which external URLs the UI may call. Absent, all. */
  readonly externalURLs?: ExternalUrls
}

/** A button of the navigation bar. */
export interface NavBarButton {
  /** Position of the button: TopStart, TopEnd, BottomStart or BottomEnd. Default BottomEnd. */
  readonly position?: string
  /** Text on the button. */
  readonly text?: string
  /** URL that the button opens. */
  readonly link?: string
  /** URL of the button's icon. Absent, none. */
  readonly icon?: string
}

/** Which external URLs the UI may call. Absent, all. */
export interface ExternalUrls {
  /** When true, requests of the UI to external URLs are blocked. Default false. */
  readonly block?: boolean
  /** URLs that stay allowed while block is true. Absent or empty, none. */
  readonly allow?: readonly string[]
}

/**
 * Secret store whose entries this product acts on: the delivery process copies them into Secrets of
 * projects, and Secrets into it.
 */
export interface SecretStoreSettings {
  /**
   * When true, secrets may be synced to and from the store. It does not set up authentication
   * methods or secret engines in it. Default false.
   */
  readonly enabled?: boolean
  /**
   * Address of the store. A URL with user information belongs in the Secret, or is written in spec
   * as $PLATFORM_CONFIG_<NAME>, an environment variable of the operator that holds the whole URL.
   * status hides the user information. Absent, the environment variable of the store's client.
   */
  readonly address?: string
  /** When true, the store's certificate is not verified. Default false. */
  readonly skipTLSVerify?: boolean
  /** Namespace of the store that holds the secrets. Absent, the store's root. */
  readonly namespace?: string
  /** How the platform authenticates against the store. */
  readonly auth?: SecretStoreAuth
  /** Time between two syncs in Go's duration syntax, for example 90s. Default 1m. */
  readonly syncInterval?: string
}

/** How the platform authenticates against the store. */
export interface SecretStoreAuth {
  /**
   * Token for the store. In spec, write $PLATFORM_CONFIG_<NAME>, an environment variable of the
   * operator, or nothing; a literal belongs in the Secret. status shows REDACTED. Absent,
   * tokenSecretRef is used.
   */
  readonly token?: string
  /** Secret that holds the token; used when token is absent. */
  readonly tokenSecretRef?: SecretKeyRef
}

/** Secret that holds the token; used when token is absent. */
export interface SecretKeyRef {
  /** Name of the Secret. */
  readonly name?: string
  /** Key in the Secret's data that holds the token. Default token. */
  readonly key?: string
  /** When true, the Secret or its key may be missing. Default false. */
  readonly optional?: boolean
}

/** Settings of hosted cloud deployments only. Nothing in this product acts on it. */
export interface CloudSettings {
  /** Release channel: which updates or versions apply. */
  readonly releaseChannel?: string
  /** When maintenance may take place. Absent, at any time. */
  readonly maintenanceWindow?: MaintenanceWindow
}

/** When maintenance may take place. Absent, at any time. */
export interface MaintenanceWindow {
  /** Day of the week, for example Sunday. */
  readonly dayOfWeek?: string
  /** Range of the day in UTC, 24 hours, HH:MM-HH:MM, for example 22:00-23:30. */
  readonly timeWindow?: string
}

/** Cost dashboard. Nothing in this product acts on it. */
export interface CostControlSettings {
  /**
   * When true, the dashboard is available and the infrastructure of its metrics is deployed.
   * Default false.
   */
  readonly enabled?: boolean
  /** Components that run once, beside the platform. */
  readonly global?: CostControlGlobal
  /** Components that run in each connected cluster. */
  readonly cluster?: CostControlCluster
  /** Prices for computing costs. */
  readonly settings?: CostControlPrices
}

/** Components that run once, beside the platform. */
export interface CostControlGlobal {
  /**
   * Metrics backend. Under global, the one that aggregates all connected clusters; under cluster,
   * the one in each connected cluster, which a cluster's own spec may override.
   */
  readonly metrics?: CostControlMetrics
}

/**
 * Metrics backend. Under global, the one that aggregates all connected clusters; under cluster, the
 * one in each connected cluster, which a cluster's own spec may override.
 */
export interface CostControlMetrics {
  /** Number of replicas. */
  readonly replicas?: number
  /** Compute resources of each replica, in the form of a Kubernetes container's resources. */
  readonly resources?: ComputeResources
  /** How long metrics are kept, for example 90d. Default 1y. */
  readonly retention?: string
  /** Volume claim of the metrics backend. */
  readonly storage?: CostControlStorage
}

/** Compute resources of each replica, in the form of a Kubernetes container's resources. */
export interface ComputeResources {
  /**
   * Maximum that may be used, resource name to quantity, for example cpu 500m. Absent, no limits.
   */
  readonly limits?: Readonly<Record<string, number | string>>
  /**
   * Minimum that is needed, resource name to quantity; never above limits. Absent, limits where
   * set.
   */
  readonly requests?: Readonly<Record<string, number | string>>
  /** Resource claims of the container. Absent or empty, none. Immutable. */
  readonly claims?: readonly ResourceClaim[]
}

/** A resource claim of the pod. */
export interface ResourceClaim {
  /** Name of an entry of the pod's resourceClaims. */
  readonly name?: string
  /** Request in the claim. Absent or empty, the whole claim. */
  readonly request?: string
}

/** Volume claim of the metrics backend. */
export interface CostControlStorage {
  /**
   * Storage class of the volume claim. "-" or empty disables dynamic provisioning; absent, the
   * cluster's default class.
   */
  readonly storageClass?: string
  /** Size of the volume as a Kubernetes quantity, for example 20Gi. */
  readonly size?: string
}

/** Components that run in each connected cluster. */
export interface CostControlCluster {
  /**
   * Metrics backend. Under global, the one that aggregates all connected clusters; under cluster,
   * the one in each connected cluster, which a cluster's own spec may override.
   */
  readonly metrics?: CostControlMetrics
  /** Cost estimator in each connected cluster; a cluster's own spec may override it. */
  readonly costEstimator?: CostEstimator
}

/** Cost estimator in each connected cluster; a cluster's own spec may override it. */
export interface CostEstimator {
  /** Number of replicas. */
  readonly replicas?: number
  /** Compute resources of each replica, in the form of a Kubernetes container's resources. */
  readonly resources?: ComputeResources
}

/** Prices for computing costs. */
export interface CostControlPrices {
  /** Currency of the prices. */
  readonly priceCurrency?: string
  /** Average price of a node's CPU, in the fields of the cost dashboard. */
  readonly averageCPUPricePerNode?: Readonly<Record<string, unknown>>
  /** Average price of a node's memory, in the fields of the cost dashboard. */
  readonly averageRAMPricePerNode?: Readonly<Record<string, unknown>>
}

/** Database of the platform. Nothing in this product acts on it. */
export interface PlatformDbSettings {
  /** Storage class of the database's volume claim. Absent, the cluster's default class. */
  readonly storageClass?: string
}

/** Builder of images for workspaces. Nothing in this product acts on it. */
export interface ImageBuilderSettings {
  /** When true, images can be built ad hoc from devcontainer definitions. Default false. */
  readonly enabled?: boolean
  /** Number of replicas. */
  readonly replicas?: number
  /** Compute resources of each replica, in the form of a Kubernetes container's resources. */
  readonly resources?: ComputeResources
}

/** Datastore of a deployment with an embedded orchestrator. Nothing in this product acts on it. */
export interface DatabaseSettings {
  /** When true, the datastore described here is used. Default false. */
  readonly enabled?: boolean
  /**
   * Data source name, whose form depends on the database, for example
   * mysql://user:password@tcp(host:3306)/name or postgres://user:password@host:5432/name. A URL
   * with user information, and a name in another form, belong in the Secret, or in an environment
   * variable of the operator that spec names as $PLATFORM_CONFIG_<NAME> in place of the data source
   * name. status hides a URL's user information, and the whole of a name in another form. Optional
   * for an external database.
   */
  readonly dataSource?: string
  /** Identity provider of temporary tokens for the database. Optional for an external database. */
  readonly identityProvider?: string
  /** Path to the key file for the database. Optional. */
  readonly keyFile?: string
  /** Path to the certificate file for the database. Optional. */
  readonly certFile?: string
  /** Path to the CA certificate file of the database. Optional. */
  readonly caFile?: string
  /**
   * Extra arguments for the datastore. In spec, write each as $PLATFORM_CONFIG_<NAME>, an
   * environment variable of the operator; literals belong in the Secret. status shows REDACTED for
   * each. Absent or empty, none.
   */
  readonly extraArgs?: readonly string[]
}

/**
 * The settings in force, from the Secret, spec and defaults, and whether they are the declared
 * ones. Secrets are shown as REDACTED. A field that another field manager writes here stays in
 * force where neither source sets it.
 */
export interface ConfigStatus extends ConfigSettings {
  /** metadata.generation that the status was computed from; -1 means none yet. */
  readonly observedGeneration?: number
  /**
   * State of the settings. Ready is True (Applied) when the declared settings are in force, else
   * False: Invalid (the message lists every fault; the last good settings stay in force) or
   * NotInForce (another object is). Stalled is True with the same reason while Ready is False.
   * PartsNotServed lists what is switched on although nothing in this product acts on it.
   * SigningKeyCorrupt: a Secret with a signing key is damaged. SignInReady is False while a sign-in
   * provider does not work, and absent without the sign-in process.
   */
  readonly conditions?: readonly Condition[]
}
