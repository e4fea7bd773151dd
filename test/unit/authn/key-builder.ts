// Builds keys as a watch delivers them, and an index of them.
import { CREATED_ANNOTATION } from '../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { type KeyIndex, createKeyIndex } from '../../../src/authn/credential-index.ts'
import { textAfter } from '../../support/key-builder.ts'
import { type Parts, keyObject } from '../../support/object-builder.ts'

/** The secret of the key of that name. */
export const secretOf = (name: string): string => `pak_${name}_`.padEnd(40, 'x')

/** The key of that name, of user ada, with a secret of its own; created that many seconds after t0. */
export function key(
  name: string,
  spec: OwnedAccessKey['spec'] & object = {},
  { metadata, status }: Parts<OwnedAccessKey> = {},
  createdAfter = 0,
): OwnedAccessKey {
  return keyObject({
    metadata: { name, creationTimestamp: textAfter(createdAfter), ...metadata },
    spec: { user: 'ada', key: secretOf(name), ...spec },
    ...(status ? { status } : {}),
  })
}

/** Metadata of an object that the key of that name owns. */
export const ownedBy = (name: string, uid = `uid-${name}`): Parts<OwnedAccessKey> => ({
  metadata: {
    ownerReferences: [
      {
        apiVersion: 'management.platform.sh/v1',
        kind: 'OwnedAccessKey',
        name,
        uid,
        controller: true,
      },
    ],
  },
})

/** Metadata of a key first seen that many seconds after t0 (contract 2.8). */
export const firstSeen = (seconds: number): Parts<OwnedAccessKey> => ({
  metadata: { annotations: { [CREATED_ANNOTATION]: textAfter(seconds) } },
})

/** An index that has listed these keys. */
export function indexOf(...keys: readonly OwnedAccessKey[]): KeyIndex {
  const index = createKeyIndex(new Uint8Array(32).fill(7))
  index.store.begin()
  for (const one of keys) index.store.put(one)
  index.store.end()
  return index
}
