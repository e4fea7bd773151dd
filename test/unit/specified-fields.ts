// Every field of the two specifications, and those that contract 1.5 adds, nested.
// (And removalTimestamp, which fixes when a key that a cap ended is deleted: 5.2.) Users and teams have those of 24.1, and
// the name in force in their status, for a column. Claims have those of 28.1 and 28.7, and the end of what is delivered, for one.
// A name stands for a field; names in braces stand inside it, whether it is an object or a list.

/** The scope of keys and tokens. */
const SCOPE = `
  roles { role projects virtualClusters }
  projects { project }
  spaces { project space }
  virtualClusters { project virtualCluster }
  clusters { cluster }
  rules {
    verbs resources { group resources resourceNames } resourceNames namespaces nonResourceURLs
    requestTargets cluster virtualClusters { name namespace }
  }
  allowPlatformCli
`

const CONDITIONS = 'conditions { type status observedGeneration lastTransitionTime reason message }'

const PROVIDERS = `
  oidc {
    issuerUrl clientId clientSecret redirectURI postLogoutRedirectURI caFile insecureCa preferredUsername
    platformUsernameClaim usernameClaim emailClaim allowedExtraClaims usernamePrefix groupsClaim groups scopes
    getUserInfo groupsPrefix type resource
  }
  sourceHostA { clientId clientSecret redirectURI orgs { name teams } hostName rootCA }
  sourceHostB { clientId clientSecret redirectURI baseURL groups }
  idpA {
    clientId clientSecret redirectURI scopes hostedDomains groups serviceAccountFilePath adminEmail
  }
  idpB { clientId clientSecret redirectURI tenant groups onlySecurityGroups useGroupsAsWhitelist }
  saml {
    redirectURI ssoURL caData ca insecureSkipSignatureValidation usernameAttr emailAttr groupsAttr
    entityIssuer ssoIssuer groupsDelim allowedGroups filterGroups nameIDPolicyFormat
  }
  disableTeamCreation disableUserCreation
`

const RESOURCES = 'resources { limits requests claims { name request } }'
const METRICS = `metrics { replicas ${RESOURCES} retention storage { storageClass size } }`

const SETTINGS = `
  auth {
    ${PROVIDERS}
    password { disabled }
    connectors { id displayName ${PROVIDERS} }
    accessKeyMaxTTLSeconds loginAccessKeyTTLSeconds customHttpHeaders groupsFilters
  }
  oidc { enabled wildcardRedirect clients { name clientId clientSecret redirectURIs } }
  apps {
    noDefault repositories { name url username password insecure }
    predefinedApps { chart initialVersion initialValues clusters title iconUrl readmeUrl }
  }
  audit {
    enabled disableAgentSyncBack level
    policy {
      rules {
        level users userGroups verbs resources { group resources resourceNames } namespaces
        nonResourceURLs omitStages requestTargets clusters
      }
      omitStages
    }
    dataStoreEndpoint dataStoreTTL path maxAge maxBackups maxSize compress
  }
  platformHost projectNamespacePrefix devPodSubDomain
  uiSettings {
    platformVersion logoURL faviconURL smallLogoURL logoBackgroundColor primaryColor sidebarColor
    accentColor legalTemplate customCss customJavaScript navBarButtons { position text link icon }
    externalURLs { block allow }
  }
  secretStore {
    enabled address skipTLSVerify namespace auth { token tokenSecretRef { name key optional } }
    syncInterval
  }
  disableConfigEndpoint authenticateVersionEndpoint
  cloud { releaseChannel maintenanceWindow { dayOfWeek timeWindow } }
  costControl {
    enabled global { ${METRICS} } cluster { ${METRICS} costEstimator { replicas ${RESOURCES} } }
    settings { priceCurrency averageCPUPricePerNode averageRAMPricePerNode }
  }
  platformDB { storageClass }
  imageBuilder { enabled replicas ${RESOURCES} }
  database { enabled dataSource identityProvider keyFile certFile caFile extraArgs }
`

/** By the plural of the kind. */
export const SPECIFIED = {
  ownedaccesskeys: `
    spec {
      displayName description user team subject groups key disabled ttl ttlAfterLastActivity
      scope { ${SCOPE} }
      type
      identity {
        userId username preferredUsername email emailVerified extraClaims groups connector connectorData
      }
      identityRefresh oidcProvider { clientId nonce redirectUri scopes } parent
      oidcLogin { idToken accessToken refreshToken lastRefresh }
    }
    status {
      lastActivity expirationTimestamp effectiveTTLSeconds keyID identity observedGeneration ${CONDITIONS}
      removalTimestamp
    }`,
  directclusterendpointtokens: `
    spec { ttl scope { ${SCOPE} } }
    status {
      token expirationTimestamp issuedTimestamp keyID owner { name uid } observedGeneration ${CONDITIONS}
    }`,
  users: `
    spec { username displayName email disabled identities { connector subject } passwordRef { name key } }
    status { username groups { connector name } lastSignIn observedGeneration ${CONDITIONS} }`,
  teams: `
    spec { name displayName users groups { connector name } }
    status { name observedGeneration ${CONDITIONS} }`,
  accesskeyclaims: `
    spec {
      key { displayName description user team subject groups ttl scope { ${SCOPE} } }
      token { ttl scope { ${SCOPE} } }
      rotateAfter overlap suspend
      secret { name type labels annotations data target }
      exchange
    }
    status {
      key { name keyID expirationTimestamp } previous { name keyID expirationTimestamp }
      token { name expirationTimestamp } identity expirationTimestamp nextRotation lastRotation lastRotate
      secretName secretDigest observedGeneration ${CONDITIONS}
    }`,
  configs: `spec { ${SETTINGS} } status { ${SETTINGS} observedGeneration ${CONDITIONS} }`,
} as const

/** The paths that such a text stands for, such as `spec.scope.roles.role`. */
export function pathsIn(text: string): readonly string[] {
  const paths: string[] = []
  const outer: string[] = []
  for (const word of text.trim().split(/\s+/)) {
    if (word === '{') outer.push(paths.at(-1) ?? '')
    else if (word === '}') outer.pop()
    else paths.push([outer.at(-1), word].filter(Boolean).join('.'))
  }
  return paths
}
