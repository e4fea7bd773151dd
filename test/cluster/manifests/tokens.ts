// DirectClusterEndpointToken beside its scope: what is taken and what is refused (contract 1.4).

import type { Accepted, Refused } from './manifest.ts'

// biome-ignore format: a table
export const acceptedTokens: readonly Accepted[] = [
  { name: 'nothing at all', spec: {} },
  { name: 'ttl 0', spec: { ttl: 0 } },
  { name: 'the longest ttl', spec: { ttl: 2_147_483_647 } },
  { name: 'ttl 1e3', spec: '{"ttl":1e3}', stored: { ttl: 1000 } },
]

// biome-ignore format: a table
export const refusedTokens: readonly Refused[] = [
  { name: 'no spec', field: 'spec', says: /Required value/ },
  { name: 'spec null', spec: 'null', field: 'spec', says: /Required value/ },
  { name: 'ttl -1', spec: { ttl: -1 }, field: 'spec.ttl', says: /greater than or equal to 0/ },
  {
    name: 'ttl 2147483648', spec: { ttl: 2_147_483_648 },
    field: 'spec.ttl', says: /less than or equal to 2147483647/,
  },
  { name: 'ttl "60"', spec: { ttl: '60' }, field: 'spec.ttl', says: /must be of type integer/ },
  { name: 'a field of access keys', spec: { user: 'jane' }, code: 400, says: /unknown field "spec.user"/ },
]
