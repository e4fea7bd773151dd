// Secrets and ConfigMaps on the host: their data goes one way (contract 18.5).
import { nestedMap, nestedString, setNestedField } from '../../domain/json/field-path.ts'
import { type JsonMap, ownValue, sameJson } from '../../domain/json/json.ts'
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
  toVirtual: (virtual) => virtual,
}

/**
 * As ConfigMaps. A token of a ServiceAccount becomes an Opaque Secret: the host's token controller would delete it, or
 * fill it with the token of a host ServiceAccount of that name. The virtual cluster's token in it still works.
 */
export const secretsTranslator: KindTranslator = {
  ...configMapsTranslator,
  toHost: (virtual) =>
    typeOf(virtual) === SERVICE_ACCOUNT_TOKEN ? setNestedField(virtual, ['type'], OPAQUE) : virtual,
  needsRecreation: (desired, host) =>
    typeOf(desired) !== typeOf(host) || configMapsTranslator.needsRecreation(desired, host),
}

function typeOf(secret: JsonMap): string {
  const type = nestedString(secret, ['type'])
  return type === '' ? OPAQUE : type
}

/** The API server takes no change of the data of such an object, nor of the mark itself. */
const isFrozen = (object: JsonMap): boolean => ownValue(object, 'immutable') === true

const hasSameData = (desired: JsonMap, host: JsonMap): boolean =>
  isFrozen(desired) &&
  ['data', 'binaryData'].every((name) =>
    sameJson(nestedMap(desired, [name]), nestedMap(host, [name])),
  )
