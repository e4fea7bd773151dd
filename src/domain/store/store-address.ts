// Whether a store can be asked with its settings (contract 36.1). Faults are sentences without any part of the settings.
import { withoutBrackets } from '../ip-address.ts'
import { isLoopbackHost } from '../settings/store-endpoint.ts'
import type { StoreSettings } from './store-settings.ts'

/** Where the store is, or why it is not asked: the fault says which setting is unusable. */
type StoreAddress =
  | { readonly url: URL; readonly fault: null }
  | { readonly url: null; readonly fault: string; readonly setting: 'address' | 'token' }

/** The characters of a header. */
const HEADER_TEXT = /^[\x21-\x7e]*$/

const unusable = (setting: 'address' | 'token', fault: string): StoreAddress => ({
  url: null,
  fault,
  setting,
})

/** The store of an address, a token and a namespace of the store. */
export function storeAddressOf({
  address,
  token,
  namespace,
}: Pick<StoreSettings, 'namespace'> & {
  readonly address: string
  readonly token: string
}): StoreAddress {
  const url = URL.parse(address)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return unusable(
      'address',
      'secretStore.address does not name a server: write https://host:port',
    )
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return unusable(
      'address',
      'secretStore.address has a user, a query or a fragment: write https://host:port',
    )
  if (url.protocol === 'http:' && !isLoopbackHost(withoutBrackets(url.hostname)))
    return unusable(
      'address',
      'secretStore.address begins with http, which only a loopback host may: write https',
    )
  if (!HEADER_TEXT.test(namespace))
    return unusable(
      'address',
      'secretStore.namespace has white space or another character than ASCII',
    )
  if (token === '') return unusable('token', 'the token of the store is empty')
  if (!HEADER_TEXT.test(token))
    return unusable(
      'token',
      'the token of the store has white space or another character than ASCII',
    )
  return { url, fault: null }
}
