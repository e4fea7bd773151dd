// Secrets and ConfigMaps on the host: their data goes one way (contract 18.5).
import { nestedMap, nestedString, setNestedField } from '../../domain/json/field-path.ts'
import { type JsonMap, ownValue, sameJson } from '../../domain/json/json.ts'
import { type KindScope, REFERENCED_SCOPE } from './scope.ts'
import type { KindTranslator } from './translator.ts'

/** The type of a Secret with a token of a ServiceAccount. */
export const SERVICE_ACCOUNT_TOKEN = 'kubernetes.io/service-account-token'

/** The type of a Secret without one. */
export const OPAQUE = 'Opaque'

/** All of a ConfigMap crosses as it is; nothing flows back. */
export const configMapsTranslator: KindTranslator = {
  toHost: (virtual) => virtual,
  check: (object) => ({ object, refusals: [] }),
  withHostValues: (desired) => desired,
  needsRecreation: (desired, host) => isFrozen(host) && !hasSameData(desired, host),
  createInstead: () => null,
  toVirtual: (virtual) => virtual,
}

/** Each namespace of each cluster has a ConfigMap with its own CA (contract 16.3). */
export const configMapsScope: KindScope = {
  ...REFERENCED_SCOPE,
  isReserved: ({ name }) => name === 'kube-root-ca.crt',
}

/**
 * The types that cross: plain data, and credentials that Pods name. Other types have a meaning for the host: a release of
 * Helm, a token that controllers fill or delete, a bootstrap token.
 */
const CROSSING_TYPES: ReadonlySet<string> = new Set([
  OPAQUE,
  'kubernetes.io/tls',
  'kubernetes.io/dockercfg',
  'kubernetes.io/dockerconfigjson',
  'kubernetes.io/basic-auth',
  'kubernetes.io/ssh-auth',
])

/** As ConfigMaps, with a type that crosses. Data of another type keep their meaning for Pods that name the Secret. */
export const secretsTranslator: KindTranslator = {
  ...configMapsTranslator,
  toHost: (virtual) =>
    CROSSING_TYPES.has(typeOf(virtual)) ? virtual : setNestedField(virtual, ['type'], OPAQUE),
  needsRecreation: (desired, host) =>
    typeOf(desired) !== typeOf(host) || configMapsTranslator.needsRecreation(desired, host),
}

function typeOf(secret: JsonMap): string {
  const type = nestedString(secret, ['type'])
  return type === '' ? OPAQUE : type
}

/** The API server refuses changes of the data of such an object, and of the mark itself. */
const isFrozen = (object: JsonMap): boolean => ownValue(object, 'immutable') === true

const hasSameData = (desired: JsonMap, host: JsonMap): boolean =>
  isFrozen(desired) &&
  ['data', 'binaryData'].every((name) =>
    sameJson(nestedMap(desired, [name]), nestedMap(host, [name])),
  )
