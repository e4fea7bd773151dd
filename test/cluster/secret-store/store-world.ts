// A platform with a secret store: projects with Secrets, the store's real engine, and the delivery process with its own account.
import {
  DELIVERY_SETTINGS_SECRET,
  SECRET_STORE_LABEL,
  SECRET_STORE_PATH_ANNOTATION,
  SECRET_STORE_VERSION_ANNOTATION,
  SECRET_STORE_WRITTEN_ANNOTATION,
} from '../../../src/api/secret-store-names.ts'
import {
  secretData,
  type Condition,
  type ObjectMeta,
  type Secret,
} from '../../../src/api/objects.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import { ensureKvStore } from '../../../tools/kv-store/program.ts'
import { settingsOf } from '../../support/config-client.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type KvStore,
  type StoreTokenParts,
  startKvStore,
} from '../../support/kv-store/kv-store.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'

/** Above two intervals of 10 seconds, on a busy machine. */
export const AFTER_A_ROUND = { withinMs: 60_000 }

/** What a project asks of the store by a Secret. */
interface AskingSecret {
  readonly direction: 'Pull' | 'Push'
  /** Absent = its name. */
  readonly path?: string
  readonly engine?: '1' | '2'
  readonly type?: string
  readonly data?: Readonly<Record<string, string | Buffer>>
  readonly labels?: Readonly<Record<string, string>>
}

/** A project with its namespace. */
export interface Project {
  readonly name: string
  readonly namespace: string
  readonly create: (name: string, asking: AskingSecret) => Promise<Secret>
  /** Merges into the Secret; null removes. */
  readonly change: (name: string, parts: object) => Promise<Secret>
  readonly remove: (name: string) => Promise<void>
  /** null = there is none. */
  readonly read: (name: string) => Promise<Secret | null>
  /** Its data as texts. */
  readonly texts: (name: string) => Promise<Readonly<Record<string, string>>>
  /** Waits until the Secret has these data as texts, and nothing else. */
  readonly has: (name: string, texts: Readonly<Record<string, string>>) => Promise<void>
  /** Waits for an Event with this reason about the Secret. @returns its note */
  readonly event: (name: string, reason: string) => Promise<string>
}

/** Creates a namespace of a project, which lets the delivery process in. */
export async function createProject(
  plane: TestControlPlane,
  { allows = true }: { readonly allows?: boolean } = {},
): Promise<Project> {
  const name = uniqueName('web').slice(0, 12)
  const namespace = `p-${name}`
  const { raw } = plane
  await mustKubectl(plane, ['create', 'namespace', namespace])
  if (allows) await allowDelivery(plane, namespace)
  const at = `/api/v1/namespaces/${namespace}/secrets`
  const read: Project['read'] = async (secret) => {
    const { code, body } = await raw<Secret>('GET', `${at}/${secret}`)
    return code === 404 ? null : body
  }
  const texts: Project['texts'] = async (secret) =>
    Object.fromEntries(
      Object.entries((await read(secret))?.data ?? {}).map(([key, base64]) => [
        key,
        Buffer.from(base64, 'base64').toString(),
      ]),
    )
  return {
    name,
    namespace,
    read,
    texts,
    create: async (secret, asking) => {
      const { code, body } = await raw<Secret>('POST', at, manifestOf(secret, asking))
      if (code !== 201) throw new Error(`${secret}: ${code} ${JSON.stringify(body)}`)
      return body
    },
    change: async (secret, parts) => {
      const options = { contentType: 'application/merge-patch+json' }
      const { code, body } = await raw<Secret>('PATCH', `${at}/${secret}`, parts, options)
      if (code !== 200) throw new Error(`${secret}: ${code} ${JSON.stringify(body)}`)
      return body
    },
    remove: async (secret) => void (await raw('DELETE', `${at}/${secret}`)),
    has: async (secret, wanted) => {
      await eventually(
        `Secret ${secret} has the data`,
        async () => {
          const found = await texts(secret)
          const isSame = JSON.stringify(sorted(found)) === JSON.stringify(sorted(wanted))
          if (isSame) return true
          throw new Error(JSON.stringify(found))
        },
        AFTER_A_ROUND,
      )
    },
    event: (secret, reason) =>
      eventually(
        `Event ${reason} of ${secret}`,
        async () => {
          const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
          const { body } = await raw<{ readonly items: readonly SeenEvent[] }>('GET', path)
          return body.items.findLast(
            (event) => event.reason === reason && event.regarding.name === secret,
          )?.note
        },
        AFTER_A_ROUND,
      ),
  }
}

interface SeenEvent {
  readonly reason: string
  readonly note: string
  readonly regarding: { readonly name: string }
}

const sorted = (texts: object): object =>
  Object.fromEntries(Object.entries(texts).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** The binding that an owner makes (28.4). */
export const allowDelivery = (plane: TestControlPlane, namespace: string): Promise<string> =>
  mustKubectl(plane, [
    'create',
    'rolebinding',
    'platform-secret-delivery',
    '--clusterrole=platform-secret-delivery',
    '--serviceaccount=platform-system:delivery',
    `--namespace=${namespace}`,
  ])

function manifestOf(name: string, asking: AskingSecret): object {
  const { direction, path, engine, type = 'Opaque', data = {}, labels = {} } = asking
  const annotations = {
    ...(path === undefined ? {} : { [SECRET_STORE_PATH_ANNOTATION]: path }),
    ...(engine === undefined ? {} : { [SECRET_STORE_VERSION_ANNOTATION]: engine }),
  }
  const metadata = { name, labels: { ...labels, [SECRET_STORE_LABEL]: direction }, annotations }
  return { apiVersion: 'v1', kind: 'Secret', metadata, type, data: secretData(data) }
}

/** The version that the annotation of a Secret names; empty = none. */
export const writtenIn = (secret: Secret | null): string =>
  secret?.metadata.annotations?.[SECRET_STORE_WRITTEN_ANNOTATION] ?? ''

/** A platform whose Config has the store. */
export interface StorePlatform {
  readonly store: KvStore
  /** Sets `secretStore` of the Config; its token is in Secret `store-token`. */
  readonly declare: (settings?: object) => Promise<void>
  /** Puts a token into that Secret; null removes the Secret. */
  readonly setToken: (token: string | null) => Promise<void>
  /** Waits for condition SecretStoreReady with this reason. */
  readonly says: (reason: string) => Promise<Condition>
}

/** The rights of a token that may pull and push, in version 2 at `secret` and version 1 at `kv1`. */
export const PLATFORM_TOKEN: StoreTokenParts = {
  rules: [
    { path: 'secret/data/*', capabilities: ['create', 'read', 'update'] },
    { path: 'secret/metadata/*', capabilities: ['create', 'read', 'update'] },
    { path: 'kv1/*', capabilities: ['read'] },
  ],
}

const TOKEN_SECRET = 'store-token'

/** The program of the store; without it the tests that follow are skipped, and say why. */
export const storeProgram = (): Promise<string> => programOrSkip(ensureKvStore)

/** Starts the store and declares it with a token. The manager must run. */
export async function startStorePlatform(
  plane: TestControlPlane,
  program: string,
): Promise<StorePlatform> {
  const store = await startKvStore(program)
  const settings = settingsOf(plane)
  const at = '/api/v1/namespaces/platform-system/secrets'
  const setToken: StorePlatform['setToken'] = async (token) => {
    await plane.raw('DELETE', `${at}/${TOKEN_SECRET}`)
    if (token === null) return
    const metadata: Partial<ObjectMeta> = { name: TOKEN_SECRET }
    const object = { apiVersion: 'v1', kind: 'Secret', metadata, data: secretData({ token }) }
    const { code } = await plane.raw('POST', at, object)
    if (code !== 201) throw new Error(`the token's Secret: ${code}`)
  }
  const declare: StorePlatform['declare'] = async (parts = {}) => {
    const auth = { tokenSecretRef: { name: TOKEN_SECRET } }
    const secretStore = { enabled: true, address: store.url, auth, syncInterval: '10s', ...parts }
    await settings.declare({ secretStore })
  }
  await setToken(await store.makeToken(PLATFORM_TOKEN))
  await declare()
  return {
    store,
    declare,
    setToken,
    says: (reason) =>
      eventually(
        `SecretStoreReady says ${reason}`,
        async () => {
          const { status } = await settings.read()
          const found = findCondition(status?.conditions ?? [], 'SecretStoreReady')
          if (found?.reason === reason) return found
          throw new Error(JSON.stringify(found))
        },
        AFTER_A_ROUND,
      ),
  }
}

/** The settings that reach the delivery process; empty = none were written. */
export async function deliverySettings({ raw }: TestControlPlane): Promise<string> {
  const path = `/api/v1/namespaces/platform-system/secrets/${DELIVERY_SETTINGS_SECRET}`
  const { body } = await raw<Secret>('GET', path)
  return Buffer.from(body.data?.['config'] ?? '', 'base64').toString()
}
