// A gateway with callers of every kind, for the tests that read and write objects of management.platform.sh through it.
import { beforeAll } from 'vitest'
import { GROUP } from '../../../../src/api/names.ts'
import type { ObjectMeta } from '../../../../src/api/objects.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { privateControlPlane } from '../../../support/control-plane.ts'
import { eventually } from '../../../support/eventually.ts'
import { bindRole } from '../../policies/rbac-users.ts'
import { type TestGateway, SOON, type UsableKey, startTestGateway } from '../test-gateway.ts'

/** A scope on one project. */
export const SHOP = { projects: [{ project: 'shop' }] }
/** A narrower scope: one space of that project. */
export const CORNER = { spaces: [{ project: 'shop', space: 'corner' }] }
/** The project, and the right to objects of management.platform.sh in it. */
export const KEEPER = {
  ...SHOP,
  rules: [{ resources: [{ group: 'management.platform.sh' }], requestTargets: ['Management'] }],
}

const CALLERS = {
  login: { user: 'ada', type: 'Login', groups: ['dev'] },
  userKey: { user: 'ada', type: 'User' },
  expiring: { user: 'ada', type: 'User', ttl: 3600 },
  scoped: { user: 'ada', type: 'User', scope: KEEPER },
  /** Its user is a cluster admin by RBAC. */
  admin: { user: 'root-user', type: 'Login' },
  adminUserKey: { user: 'root-user', type: 'User' },
  adminTeamKey: { user: '', team: 'admins', type: 'User' },
  adminScopedKey: { user: 'root-user', type: 'Login', scope: KEEPER },
  team: { user: '', team: 'ops', type: 'User' },
} as const satisfies Readonly<Record<string, OwnedAccessKeySpec>>

/** The callers; `child` has a key that was created with `userKey`. */
export type CallerName = keyof typeof CALLERS | 'child'

/** The gateway and its callers. */
export interface SelfServiceSetup extends TestGateway {
  /** Filled before the first test. */
  readonly callers: Readonly<Record<CallerName, KeyCaller>>
  /** Creates a key through the gateway. */
  readonly createKey: (
    by: CallerName | KeyCaller,
    spec?: OwnedAccessKeySpec,
    metadata?: object,
  ) => Promise<ParsedAnswer>
  /** The code that the gateway answers to a request with this key that needs no rights. */
  readonly codeFor: (key: string | undefined) => Promise<number>
  /** A caller with the key that an answer shows, once the gateway accepts it. */
  readonly callerFrom: (answer: { readonly json: ResponseObject }) => Promise<KeyCaller>
}

/** Starts the gateway for one test file. */
export async function startSelfService(): Promise<SelfServiceSetup> {
  const setup = await startTestGateway(await privateControlPlane())
  const callers = {} as Record<CallerName, KeyCaller>
  beforeAll(async () => {
    await Promise.all([
      ...['root-user', 'platform:team:admins'].map((user) =>
        bindRole(setup.plane, user, 'cluster-admin'),
      ),
      ...(Object.keys(CALLERS) as (keyof typeof CALLERS)[]).map(async (by) => {
        callers[by] = await createCaller(setup, CALLERS[by])
      }),
    ])
    callers.child = await callerFrom(await createKey('userKey'))
  })
  const codeFor: SelfServiceSetup['codeFor'] = async (key) =>
    (await setup.ask(key ?? '', '/version')).code
  const createKey: SelfServiceSetup['createKey'] = (by, spec = {}, metadata = {}) => {
    const caller = typeof by === 'string' ? callers[by] : by
    return caller.ask('POST', 'ownedaccesskeys', { body: { metadata, spec } })
  }
  const callerFrom: SelfServiceSetup['callerFrom'] = async ({ json }) => {
    const object = await setup.keys.shown(json, 'Active')
    const isAccepted = async () => (await codeFor(json.spec.key)) === 200 || undefined
    await eventually('the gateway accepts the key', isAccepted, SOON)
    return callerWith(setup, { object, token: json.spec.key ?? '', kubeconfig: '' })
  }
  return { ...setup, callers, createKey, codeFor, callerFrom }
}

/** The body of an answer, with the fields that these tests read. */
export interface ResponseObject {
  readonly kind: string
  readonly reason?: string
  readonly message?: string
  readonly metadata: ObjectMeta & { readonly continue?: string }
  readonly spec: OwnedAccessKeySpec
  readonly status: JsonMap & { readonly token?: string }
  readonly items: readonly ResponseObject[]
  readonly rows: readonly {
    readonly cells: readonly unknown[]
    readonly object: ResponseObject | null
  }[]
  readonly columnDefinitions: readonly unknown[] | null
}

/** An answer with its body parsed. */
export interface ParsedAnswer {
  readonly code: number
  /** The body as it was received. */
  readonly text: string
  /** Empty where the body is not JSON. */
  readonly json: ResponseObject
  readonly headers: Readonly<Record<string, unknown>>
}

/** The optional parts of a request. */
export interface RequestParts {
  /** An object is sent as JSON, a string unchanged. */
  readonly body?: unknown
  /** The content type. Absent: merge patch for PATCH, JSON otherwise. */
  readonly type?: string
  readonly accept?: string
}

/** A client of the gateway that calls with one key. */
export interface KeyCaller extends UsableKey {
  readonly name: string
  /** @param path below the API group: it begins with the plural */
  readonly ask: (method: string, path: string, parts?: RequestParts) => Promise<ParsedAnswer>
}

/** The path of the platform's API group. */
export const GROUP_PATH = `/apis/${GROUP}/v1`

/** A caller with a new key, which an administrator creates past the gateway. */
export async function createCaller(
  setup: TestGateway,
  spec: OwnedAccessKeySpec,
  metadata: Partial<ObjectMeta> = {},
): Promise<KeyCaller> {
  return callerWith(setup, await setup.key(spec, metadata))
}

function callerWith(setup: TestGateway, key: UsableKey): KeyCaller {
  return {
    ...key,
    name: key.object.metadata.name,
    ask: async (method, path, { body, type, accept } = {}) => {
      const usual = method === 'PATCH' ? MERGE_PATCH : 'application/json'
      const headers = {
        accept: accept ?? 'application/json',
        'user-agent': 'caller/1',
        ...(body === undefined ? {} : { 'content-type': type ?? usual }),
      }
      const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
      const sent = text === undefined ? {} : { body: text }
      const url = `${GROUP_PATH}/${path}`
      const answer = await setup.ask(key.token, url, { method, headers, ...sent })
      return { ...answer, text: answer.body, json: parsed(answer.body) }
    },
  }
}

/** Repeats a watch of one second until its events are complete: on a busy machine one second may not be enough. */
export const watchUntil = (
  watch: () => Promise<ParsedAnswer>,
  isComplete: (text: string) => boolean,
): Promise<ParsedAnswer> =>
  eventually(
    'a watch delivers all events',
    async () => {
      const answer = await watch()
      if (answer.code === 200 && !isComplete(answer.text))
        throw new Error(`it delivers ${answer.text}`)
      return answer
    },
    SOON,
  )

function parsed(text: string): ResponseObject {
  try {
    return JSON.parse(text) as ResponseObject
  } catch {
    return {} as ResponseObject
  }
}

/** Media types: a Table, and the metadata of one object and of a list. */
export const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
export const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
export const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** Content types of patches. */
export const JSON_PATCH = 'application/json-patch+json'
export const MERGE_PATCH = 'application/merge-patch+json'
export const APPLY_PATCH = 'application/apply-patch+yaml'
