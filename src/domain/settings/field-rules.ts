// Rules for single fields of the settings: their formats, and which of them are secret. A field without a rule may have
// any value of its type.

import type * as Api from '../../api/config.gen.ts'
import { parseStoreEndpoint } from './store-endpoint.ts'
import { connectorId } from './providers.ts'
import * as format from './formats.ts'

/**
 * Which part of a value is secret (contract 6.3). `whole`: all of it; `url`: the user information of a URL; `dsn`: the
 * same of a data source name, or all of it if it is not a URL; `text`: the user information of URLs in a text; `header`: the
 * same, of a value that earlier versions hid whole. Values of the first three may be a reference `$NAME`.
 */
export type Secrecy = 'whole' | 'url' | 'dsn' | 'text' | 'header'

/** The rule of one field. */
export interface FieldRule {
  readonly kind: 'field'
  readonly secrecy: Secrecy
  /** Checks the format of strings; the schema checks types. */
  readonly check?: format.FormatCheck
  /** Whether 0 counts as absent (contract 6.5). */
  readonly zeroIsAbsent?: boolean
  /** Whether an empty text is a value: an exception from contract 1.2. */
  readonly emptyCounts?: boolean
}

/** The rules of a group of fields, of a list's entries, of a map's values, or of one field. */
export type SettingRule =
  | FieldRule
  | { readonly kind: 'group'; readonly fields: ReadonlyMap<string, SettingRule> }
  | { readonly kind: 'list'; readonly entry: SettingRule }
  | { readonly kind: 'map'; readonly entry: FieldRule; readonly nameCheck?: format.FormatCheck }

type RulesOf<T> = { readonly [Name in keyof T]?: SettingRule }

const group = (fields: Readonly<Record<string, SettingRule>>): SettingRule => ({
  kind: 'group',
  fields: new Map(Object.entries(fields)),
})
const list = (entry: SettingRule): SettingRule => ({ kind: 'list', entry })
const text = (check: format.FormatCheck): FieldRule => ({ kind: 'field', secrecy: 'text', check })
const url = (check: format.FormatCheck): FieldRule => ({ kind: 'field', secrecy: 'url', check })

/** The rule for a field that has no rule of its own. */
export const PLAIN: FieldRule = { kind: 'field', secrecy: 'text' }
/** The rule for a field whose whole value is secret. */
export const SECRET: FieldRule = { kind: 'field', secrecy: 'whole' }
/** Fields with these names are secret at every path. */
export const SECRET_NAMES: ReadonlySet<string | number> = new Set([
  'clientSecret',
  'password',
  'token',
])

const dsn: FieldRule = { kind: 'field', secrecy: 'dsn' }
/** No part of the text stands in the fault. */
const storeEndpoint: format.FormatCheck = (endpoint) => parseStoreEndpoint(endpoint).fault
const emptyCounts: FieldRule = { ...PLAIN, emptyCounts: true }
const zeroIsAbsent: FieldRule = { ...PLAIN, zeroIsAbsent: true }
const webUrl = url(format.webUrl)
const quantities: SettingRule = { kind: 'map', entry: text(format.quantity) }

const providers = {
  oidc: group({
    issuerUrl: webUrl,
    redirectURI: webUrl,
    postLogoutRedirectURI: webUrl,
  } satisfies RulesOf<Api.OidcProvider>),
  sourceHostA: group({
    redirectURI: webUrl,
    hostName: text(format.host),
  } satisfies RulesOf<Api.SourceHostAProvider>),
  sourceHostB: group({
    redirectURI: webUrl,
    baseURL: webUrl,
  } satisfies RulesOf<Api.SourceHostBProvider>),
  idpA: group({ redirectURI: webUrl } satisfies RulesOf<Api.IdpAProvider>),
  idpB: group({ redirectURI: webUrl } satisfies RulesOf<Api.IdpBProvider>),
  saml: group({
    redirectURI: webUrl,
    ssoURL: webUrl,
    caData: text(format.base64),
    nameIDPolicyFormat: text(format.nameIdFormat),
  } satisfies RulesOf<Api.SamlProvider>),
}

const resources = group({
  limits: quantities,
  requests: quantities,
} satisfies RulesOf<Api.ComputeResources>)
const metrics = group({
  resources,
  retention: text(format.prometheusDuration),
  storage: group({
    storageClass: emptyCounts,
    size: text(format.quantity),
  } satisfies RulesOf<Api.CostControlStorage>),
} satisfies RulesOf<Api.CostControlMetrics>)

/** The rules of all settings. */
export const SETTING_RULES: SettingRule = group({
  auth: group({
    ...providers,
    connectors: list(
      group({ id: text(connectorId), ...providers } satisfies RulesOf<Api.Connector>),
    ),
    customHttpHeaders: {
      kind: 'map',
      entry: { kind: 'field', secrecy: 'header', check: format.headerValue },
      nameCheck: format.headerName,
    },
    groupsFilters: list(text(format.re2)),
  } satisfies RulesOf<Api.AuthSettings>),
  oidc: group({
    clients: list(
      group({ redirectURIs: list(url(format.redirectUri)) } satisfies RulesOf<Api.OidcClient>),
    ),
  } satisfies RulesOf<Api.OidcServer>),
  apps: group({
    repositories: list(
      group({
        url: url(format.urlOf('https', 'http', 'oci')),
      } satisfies RulesOf<Api.AppRepository>),
    ),
    predefinedApps: list(
      group({ iconUrl: webUrl, readmeUrl: webUrl } satisfies RulesOf<Api.PredefinedApp>),
    ),
  } satisfies RulesOf<Api.AppsSettings>),
  audit: group({
    level: zeroIsAbsent,
    policy: group({
      rules: list(
        group({
          namespaces: list(emptyCounts),
          requestTargets: list(text(format.requestTarget)),
        } satisfies RulesOf<Api.AuditPolicyRule>),
      ),
    } satisfies RulesOf<Api.AuditPolicy>),
    dataStoreEndpoint: { ...dsn, check: storeEndpoint },
    dataStoreTTL: zeroIsAbsent,
    path: text(format.auditPath),
    maxAge: zeroIsAbsent,
    maxBackups: zeroIsAbsent,
    maxSize: zeroIsAbsent,
  } satisfies RulesOf<Api.AuditSettings>),
  platformHost: text(format.host),
  projectNamespacePrefix: text(format.namespacePrefix),
  devPodSubDomain: text(format.workspaceDomain),
  uiSettings: group({
    logoURL: webUrl,
    faviconURL: webUrl,
    smallLogoURL: webUrl,
    logoBackgroundColor: text(format.colour),
    primaryColor: text(format.colour),
    sidebarColor: text(format.colour),
    accentColor: text(format.colour),
    customCss: list(webUrl),
    customJavaScript: list(webUrl),
    navBarButtons: list(
      group({
        position: text(format.position),
        link: url(format.link),
        icon: webUrl,
      } satisfies RulesOf<Api.NavBarButton>),
    ),
    externalURLs: group({
      allow: list(url(format.externalUrl)),
    } satisfies RulesOf<Api.ExternalUrls>),
  } satisfies RulesOf<Api.UiSettings>),
  secretStore: group({
    address: webUrl,
    syncInterval: text(format.goDuration),
  } satisfies RulesOf<Api.SecretStoreSettings>),
  cloud: group({
    maintenanceWindow: group({
      dayOfWeek: text(format.weekday),
      timeWindow: text(format.timeWindow),
    } satisfies RulesOf<Api.MaintenanceWindow>),
  } satisfies RulesOf<Api.CloudSettings>),
  costControl: group({
    global: group({ metrics } satisfies RulesOf<Api.CostControlGlobal>),
    cluster: group({
      metrics,
      costEstimator: group({ resources } satisfies RulesOf<Api.CostEstimator>),
    } satisfies RulesOf<Api.CostControlCluster>),
  } satisfies RulesOf<Api.CostControlSettings>),
  imageBuilder: group({ resources } satisfies RulesOf<Api.ImageBuilderSettings>),
  database: group({
    dataSource: dsn,
    extraArgs: list(SECRET),
  } satisfies RulesOf<Api.DatabaseSettings>),
} satisfies RulesOf<Api.ConfigSettings>)
