// What translations of the kinds are given in tests.
import type { FieldPath } from '../../../src/domain/json/field-path.ts'
import type { Json, JsonMap } from '../../../src/domain/json/json.ts'
import { type Cidr, parseCidr } from '../../../src/domain/ip-address.ts'
import type { AddressSettings } from '../../../src/sync/kinds/addresses.ts'
import type { HostPlace } from '../../../src/sync/objects/host-name.ts'
import { TRANSLATORS } from '../../../src/sync/kinds/translators.ts'
import type { Patch } from '../../../src/sync/patches/parse.ts'
import type { TranslationContext } from '../../../src/sync/kinds/translator.ts'

/** The virtual cluster `vc`, whose objects stand in the host namespace `host`. */
export const SINGLE: HostPlace = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }

/** The same with a host namespace for each virtual one. */
export const SEVERAL: HostPlace = { ...SINGLE, namespaces: [['shop', 'host-shop']] }

/** The Service `web` in the namespace `shop` is all that there is, and nothing is patched. */
export const context = (given: Partial<TranslationContext> = {}): TranslationContext => ({
  place: SINGLE,
  hasService: ({ name, namespace }) => name === 'web' && namespace === 'shop',
  ownsHostService: ({ name, namespace }) => name === 'web-x-shop-x-vc' && namespace === 'host',
  choosesIpFamilies: true,
  patchKindAt: () => null,
  ...given,
})

/** The parsed ranges of flags. */
export const cidrs = (...texts: readonly string[]): readonly Cidr[] =>
  texts.map((text) => parseCidr(text) ?? fail(text))

function fail(text: string): never {
  throw new Error(`${text} is no CIDR`)
}

export const settings = (given: Partial<AddressSettings> = {}): AddressSettings => ({
  denied: [],
  allowedExternal: [],
  ...given,
})

/** A virtual object of the namespace `shop`. */
export const virtual = (fields: Fields): JsonMap => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
  ...fields,
})

/** A spec. */
export type Fields = Readonly<Record<string, Json>>

/** The Service as it is written: translated, checked, and with what the host Service keeps; null = there is none. */
export function writtenService(
  service: JsonMap,
  host: JsonMap | null,
  given: Partial<TranslationContext> = {},
): JsonMap {
  const { services } = TRANSLATORS
  const desired = services.toHost(service, context(given))
  const { object } = services.check(desired, settings(), context(given))
  if (object === null) throw new Error('the Service is refused')
  return host === null ? object : services.withHostValues(object, host)
}

/** The spec of the host Service after an update. */
export const updatedSpec = (
  spec: Fields,
  host: Fields,
  given?: Partial<TranslationContext>,
): Json => writtenService(virtual({ spec }), virtual({ spec: host }), given)['spec'] ?? null

/** A patch of this kind acts on this field alone. */
export const patchedAt =
  (field: FieldPath, kind: Patch['kind']) =>
  (path: FieldPath): Patch['kind'] | null =>
    JSON.stringify(path) === JSON.stringify(field) ? kind : null
