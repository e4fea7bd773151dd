import type { OidcClient, OidcServer } from '../../../api/config.gen.ts'
import { indexedMaps, indexedStrings } from '../../json/json.ts'
import type { UnsourcedFault } from './faults.ts'

type IndexedClients = readonly (readonly [number, OidcClient])[]

/** Faults between the clients of the OIDC server (contract 6.5): wildcards that are not allowed, and shared ids. */
export function oidcClientFaults({
  clients,
  wildcardRedirect,
}: OidcServer): readonly UnsourcedFault[] {
  const list = indexedMaps(clients)
  return [...(wildcardRedirect === true ? [] : wildcardFaults(list)), ...sharedIdFaults(list)]
}

const wildcardFaults = (clients: IndexedClients): readonly UnsourcedFault[] =>
  clients.flatMap(([at, { redirectURIs }]) =>
    indexedStrings(redirectURIs)
      .filter(([, uri]) => uri.includes('*'))
      .map(([entry]) => ({
        path: ['oidc', 'clients', at, 'redirectURIs', entry],
        message: 'contains *: write the whole URI, or set oidc.wildcardRedirect to true',
      })),
  )

function sharedIdFaults(clients: IndexedClients): readonly UnsourcedFault[] {
  const first = new Map<string, number>()
  return clients.flatMap(([at, { clientId }]) => {
    if (typeof clientId !== 'string') return []
    const earlier = first.get(clientId)
    if (earlier === undefined) first.set(clientId, at)
    if (earlier === undefined) return []
    const message = `is the clientId of clients[${earlier}] too: give each its own`
    return [{ path: ['oidc', 'clients', at, 'clientId'], message }]
  })
}
