// The keys that the sign-in process makes for people (contract 25.4, 26.3).
import { createHash } from 'node:crypto'
import { API_VERSION, USERS } from '../../api/names.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { formatTimestamp } from '../../domain/time.ts'
import { newKeyObject, withCreation } from '../../issuance/new-object.ts'
import type { NewObject } from '../../kube/client/client.ts'
import type { SignInUser } from '../people/sign-in-user.ts'

/** A key to be. */
interface PersonKey {
  readonly name: string
  /** Owns the key, which acts as this person. */
  readonly user: Pick<SignInUser, 'name' | 'uid' | 'username'>
  /** Fields of spec beside user and key. */
  readonly spec: JsonMap
  /** Only its digest is in the object. */
  readonly secret: string
}

/** The object to create, with finalizer and time of creation in the one write. */
export function personKey({ name, user, spec, secret }: PersonKey, nowMs: number): NewObject {
  const digest = `sha256:${createHash('sha256').update(secret).digest('hex')}`
  const owner = { apiVersion: API_VERSION, kind: USERS.kind, name: user.name, uid: user.uid }
  const sent = {
    metadata: { name, ownerReferences: [owner] },
    spec: { ...spec, user: user.username },
  }
  const key = newKeyObject(null, { sent, newKey: () => digest, issuer: null })
  const { object } = withCreation(key, formatTimestamp(nowMs))
  return object as unknown as NewObject
}
