// The store of a platform behind a proxy that holds, loses and shows its requests, and the writes that bring a Secret in step with it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { SECRET_STORE_WRITTEN_ANNOTATION } from '../../../src/api/secret-store-names.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { type FaultProxy, type Match, startProxy } from '../../support/fault-proxy.ts'
import {
  AFTER_A_ROUND,
  type Project,
  type StorePlatform,
  startStorePlatform,
  writtenIn,
} from './store-world.ts'

/** A platform whose Config names the proxy. `await using` ends proxy and store. */
export interface FrontedPlatform extends StorePlatform, AsyncDisposable {
  readonly front: FaultProxy
  /** For the delivery process: whom it trusts. */
  readonly flag: string
}

/** Starts store and proxy, and declares the proxy. The manager must run. */
export async function startFrontedPlatform(
  plane: TestControlPlane,
  program: string,
): Promise<FrontedPlatform> {
  const platform = await startStorePlatform(plane, program)
  const front = await startProxy(platform.store)
  const caFile = join(plane.dataDir, 'store-front-ca.pem')
  writeFileSync(caFile, front.caPem)
  await platform.declare({ address: front.url })
  return {
    ...platform,
    front,
    flag: `--secret-store-ca-file=${caFile}`,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]()
      await platform.store[Symbol.asyncDispose]()
    },
  }
}

/** Whether a request writes an entry. */
export const isStoreWrite: Match = ({ method, path }) =>
  method === 'POST' && path.startsWith('/v1/secret/')

/** A Secret in the middle of a write. */
export interface SyncPoint {
  readonly name: string
  readonly direction: 'Pull' | 'Push'
  /** The proxy that sees the write. */
  readonly at: 'store' | 'API server'
  readonly matches: (project: Project, secret: string) => Match
}

const atStore =
  (method: string, api: 'data' | 'metadata'): SyncPoint['matches'] =>
  (project, secret) =>
  (seen) =>
    seen.method === method && seen.path === `/v1/secret/${api}/${project.name}/${secret}`

const patchOf =
  (part: string): SyncPoint['matches'] =>
  ({ namespace }, secret) =>
  ({ method, path, body }) =>
    method === 'PATCH' &&
    path === `/api/v1/namespaces/${namespace}/secrets/${secret}` &&
    body.includes(part)

/** Each write of a sync. */
export const SYNC_WRITES = [
  { name: 'the entry', direction: 'Push', at: 'store', matches: atStore('POST', 'data') },
  { name: 'its owner', direction: 'Push', at: 'store', matches: atStore('POST', 'metadata') },
  {
    name: 'the annotation',
    direction: 'Push',
    at: 'API server',
    matches: patchOf(SECRET_STORE_WRITTEN_ANNOTATION),
  },
  { name: 'the Secret', direction: 'Pull', at: 'API server', matches: patchOf('"data"') },
] as const satisfies readonly SyncPoint[]

/** The read before the first write of a push. */
export const BEFORE_WRITES: SyncPoint = {
  name: 'the read before',
  direction: 'Push',
  at: 'store',
  matches: atStore('GET', 'metadata'),
}

/** One Secret and its entry. */
export interface Synced {
  readonly secret: string
  /** Creates the source, and what follows it. */
  readonly create: (key: string) => Promise<unknown>
  /** Changes the source. */
  readonly change: (key: string) => Promise<unknown>
  /** Waits until both have this. */
  readonly isInStep: (key: string) => Promise<unknown>
  /** Number of the current version of the entry; 0 = none. */
  readonly version: () => Promise<number>
}

/** A Secret of a project with its entry. */
export function synced(
  { store }: Pick<StorePlatform, 'store'>,
  project: Project,
  direction: 'Pull' | 'Push',
  secret: string,
): Synced {
  const path = `${project.name}/${secret}`
  const version = async (): Promise<number> => (await store.get(path))?.metadata.version ?? 0
  const isInStep = (key: string): Promise<void> =>
    eventuallyPasses(
      `${secret} is in step with ${key}`,
      async () => {
        const [entry, object] = [await store.get(path), await project.read(secret)]
        expect(entry?.data).toEqual({ key })
        expect(await project.texts(secret)).toEqual({ key })
        if (direction === 'Pull') return
        const number = String(entry?.metadata.version)
        expect(entry?.metadata.custom_metadata).toMatchObject({ name: secret, version: number })
        expect(writtenIn(object)).toBe(number)
      },
      AFTER_A_ROUND,
    )
  const data = (key: string): Readonly<Record<string, string>> => ({ key })
  return direction === 'Pull'
    ? {
        secret,
        isInStep,
        version,
        create: async (key) => {
          await store.put(path, data(key))
          return project.create(secret, { direction })
        },
        change: (key) => store.put(path, data(key)),
      }
    : {
        secret,
        isInStep,
        version,
        create: (key) => project.create(secret, { direction, data: data(key) }),
        change: (key) => project.change(secret, { stringData: data(key) }),
      }
}
