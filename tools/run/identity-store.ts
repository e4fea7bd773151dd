// What the OpenID Connect provider of `make run` remembers: sessions, codes and tokens, in memory.
import type { Adapter, AdapterConstructor, AdapterPayload } from 'oidc-provider'

/** Beyond this many objects the oldest go. */
const MOST_OBJECTS = 1000

/** Creates a store for one provider: a class, with an instance for each kind of object. */
export function identityStore(): AdapterConstructor {
  const objects = new Map<string, AdapterPayload>()

  return class implements Adapter {
    readonly #kind: string

    constructor(kind: string) {
      this.#kind = kind
    }

    async upsert(id: string, payload: AdapterPayload): Promise<void> {
      objects.set(`${this.#kind} ${id}`, payload)
      const [oldest = ''] = objects.keys()
      if (objects.size > MOST_OBJECTS) objects.delete(oldest)
    }

    // The provider itself checks when an object ends.
    async find(id: string): Promise<AdapterPayload | undefined> {
      return objects.get(`${this.#kind} ${id}`)
    }

    async findByUid(uid: string): Promise<AdapterPayload | undefined> {
      return [...objects.values()].find((payload) => payload.uid === uid)
    }

    /** The device flow, which alone has such codes, is off. */
    async findByUserCode(): Promise<undefined> {
      return undefined
    }

    async consume(id: string): Promise<void> {
      const payload = await this.find(id)
      if (payload) payload['consumed'] = Math.floor(Date.now() / 1000)
    }

    async destroy(id: string): Promise<void> {
      objects.delete(`${this.#kind} ${id}`)
    }

    async revokeByGrantId(grantId: string): Promise<void> {
      for (const [key, payload] of objects) if (payload.grantId === grantId) objects.delete(key)
    }
  }
}
