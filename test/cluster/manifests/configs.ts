// Config: the schema lets faults in, for the operator reports them all at once (contract 6.5). It
// refuses what is of another type, and unknown fields under strict validation.

import type { Accepted, Refused } from './manifest.ts'

// biome-ignore format: a table
export const acceptedConfigs: readonly Accepted[] = [
  { name: 'nothing at all', spec: {} },
  { name: 'a cap of 30 days', spec: { auth: { accessKeyMaxTTLSeconds: 2_592_000, loginAccessKeyTTLSeconds: 0 } } },
  {
    name: 'negative numbers',
    spec: { auth: { accessKeyMaxTTLSeconds: -1 }, audit: { maxSize: -5, dataStoreTTL: -1 } },
  },
  { name: 'an unknown audit level', spec: { audit: { level: 9, policy: { rules: [{ level: 'Everything' }] } } } },
  {
    name: 'an unknown position',
    spec: { uiSettings: { primaryColor: 'red', navBarButtons: [{ position: 'Left' }] } },
  },
  { name: 'a prefix without its end', spec: { projectNamespacePrefix: 'p' } },
  {
    name: 'a duration and a regular expression that are none',
    spec: { secretStore: { syncInterval: 'soon' }, auth: { groupsFilters: ['('] } },
  },
  {
    name: 'connectors with one id',
    spec: { auth: { connectors: [{ id: 'a', saml: {} }, { id: 'a', oidc: { clientSecret: '$PLATFORM_CONFIG_A' } }] } },
  },
  {
    name: 'headers, prices and quantities of any name',
    spec: {
      auth: { customHttpHeaders: { 'X-Frame-Options': '$PLATFORM_CONFIG_FRAME' } },
      imageBuilder: { resources: { limits: { cpu: 2, memory: '1Gi' }, requests: { cpu: '500m' } } },
      costControl: { settings: { averageCPUPricePerNode: { price: 3.5, of: { any: ['shape'] } } } },
    },
  },
]

// biome-ignore format: a table
export const refusedConfigs: readonly Refused[] = [
  { name: 'no spec', field: 'spec', says: /Required value/ },
  {
    name: 'a number in quotes', spec: { auth: { accessKeyMaxTTLSeconds: '60' } },
    field: 'spec.auth.accessKeyMaxTTLSeconds', says: /must be of type integer/,
  },
  {
    name: 'a number that is not whole', spec: { audit: { maxAge: 1.5 } },
    field: 'spec.audit.maxAge', says: /must be of type int64/,
  },
  {
    name: 'a string for a list', spec: { auth: { groupsFilters: 'a' } },
    field: 'spec.auth.groupsFilters', says: /must be of type array/,
  },
  {
    name: 'a quantity that is neither', spec: { imageBuilder: { resources: { limits: { cpu: true } } } },
    field: 'spec.imageBuilder.resources.limits.cpu', says: /must be of type integer,string|int-or-string|type/,
  },
  {
    name: 'an unknown field',
    spec: { auth: { accessKeyMaxTtlSeconds: 60 } }, code: 400,
    says: /unknown field "spec.auth.accessKeyMaxTtlSeconds"/,
  },
]
