// The passwords of Users, as the watches of this process deliver them (contract 25.5).
import { createHash } from 'node:crypto'
import { SECRETS } from '../../api/names.ts'
import { type Secret, secretText } from '../../api/objects.ts'
import { isLockedOut } from '../../domain/people/user.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { SignInUsers, WatchedUser } from './sign-in-user.ts'

/** The hashes of passwords, from memory. */
export class PasswordHashes {
  readonly #users: SignInUsers
  readonly #secrets: Store<FullObject<Secret>>
  readonly #namespace: string

  /** @param secrets those of the sign-in namespace */
  constructor(users: SignInUsers, secrets: Store<FullObject<Secret>>, namespace: string) {
    this.#users = users
    this.#secrets = secrets
    this.#namespace = namespace
  }

  /** Whether both watches have delivered everything once: before, each password looks as if it had been taken away. */
  get isComplete(): boolean {
    return this.#users.store.synced && this.#secrets.synced
  }

  /** The hash by which a person may sign in; null = no such User, a User who is locked out, or one without a password. */
  usable(username: string): string | null {
    const user = this.#users.named(username)
    return user === undefined || isLockedOut(user) ? null : this.#hashOf(user)
  }

  /**
   * SHA-256 in hex of the hash of a password, which tells whether it has changed; null = the User has none. A User who is locked
   * out keeps it, as keys come back when the User is enabled (contract 24.2).
   */
  digest(username: string): string | null {
    const user = this.#users.named(username)
    return digestOf(user === undefined ? null : this.#hashOf(user))
  }

  #hashOf({ passwordRef }: WatchedUser): string | null {
    if (passwordRef === null) return null
    const { name, key } = passwordRef
    return secretText(this.#secrets.get(name, this.#namespace)?.object, key)
  }
}

/** As `digest` of PasswordHashes, of a User as the API server has it now: the watch of Secrets may be behind. */
export async function readPasswordDigest(
  { passwordRef }: WatchedUser,
  { client, namespace }: { readonly client: Pick<KubeClient, 'get'>; readonly namespace: string },
): Promise<string | null> {
  if (passwordRef === null) return null
  const { name, key } = passwordRef
  const secret = await client.get<Secret>(SECRETS, { namespace, name })
  return digestOf(secretText(secret ?? undefined, key))
}

const digestOf = (hash: string | null): string | null =>
  hash === null ? null : createHash('sha256').update(hash).digest('hex')
