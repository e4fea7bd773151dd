// What translations of the kinds are given in tests.
import type { Json, JsonMap } from '../../../src/domain/json/json.ts'
import { type AddressSettings, type Cidr, parseCidr } from '../../../src/sync/rules/addresses.ts'
import type { HostPlace } from '../../../src/sync/rules/host-name.ts'
import type { KindTranslator, TranslationContext } from '../../../src/sync/rules/translator.ts'

/** The virtual cluster `vc`, whose objects stand in the host namespace `host`. */
export const SINGLE: HostPlace = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }

/** The same with a host namespace for each virtual one. */
export const SEVERAL: HostPlace = { ...SINGLE, namespaces: [['shop', 'host-shop']] }

/** The Service `web` in the namespace `shop` is all that there is, and nothing is patched. */
export const context = (given: Partial<TranslationContext> = {}): TranslationContext => ({
  place: SINGLE,
  hasService: ({ name, namespace }) => name === 'web' && namespace === 'shop',
  ownsHostService: ({ name, namespace }) => name === 'web-x-shop-x-vc' && namespace === 'host',
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
export const virtual = (fields: Readonly<Record<string, Json>>): JsonMap => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
  ...fields,
})

/** The object as it is written over the host object: translated, checked, with the host's values. */
export function written(
  translator: KindTranslator,
  object: JsonMap,
  host: JsonMap | null,
  given: Partial<TranslationContext> = {},
): JsonMap {
  const checked = translator.check(
    translator.toHost(object, context(given)),
    settings(),
    context(given),
  ).object
  if (checked === null) throw new Error('the object is refused')
  return host === null ? checked : translator.withHostValues(checked, host)
}
