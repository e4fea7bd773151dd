import type { Resource } from '../../src/api/names.ts'
import { type NewObject, pathOf } from '../../src/kube/client/client.ts'
import { type Connection, connect } from '../../src/kube/client/connection.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { eventually } from './eventually.ts'

/** A raw response. */
export interface RawAnswer<Body> {
  readonly code: number
  /** The parsed JSON; the text where it is none. */
  readonly body: Body
  /** By lower-case name; a header that came more than once is joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
}

/** Options of a raw request. */
export interface RawOptions {
  /** Absent: merge patch for PATCH, JSON otherwise. */
  readonly contentType?: string
  /** A header that is an array is sent as often as it has values. */
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** The kubeconfig with the credential to use; absent = the admin's. */
  readonly kubeconfig?: string
}

/**
 * One request; the path may carry a query. A body that is a string is sent as it is, any other as
 * JSON. A response of any code is a result. @throws Error without one
 */
export type Raw = <Body = unknown>(
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  options?: RawOptions,
) => Promise<RawAnswer<Body>>

/** A raw client of the server of each kubeconfig, whose connections stay open until `close`. */
export function createRaw(
  adminKubeconfig: string,
  clock: Clock,
): { readonly call: Raw; close(): Promise<void> } {
  const connections = new Map<string, Promise<Connection>>()
  const connectionOf = (kubeconfig: string): Promise<Connection> => {
    const known =
      connections.get(kubeconfig) ?? connect({ kind: 'files', paths: [kubeconfig] }, clock)
    connections.set(kubeconfig, known)
    return known
  }
  const call: Raw = async <Body>(
    ...[method, path, body, options = {}]: Parameters<Raw>
  ): Promise<RawAnswer<Body>> => {
    const {
      contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    } = options
    const connection = await connectionOf(options.kubeconfig ?? adminKubeconfig)
    const { calls, headers } = await connection.open()
    const answer = await calls.request({
      method,
      path: `${connection.prefix}${path}`,
      headers: {
        ...headers,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': contentType }),
        ...options.headers,
      },
      body: body === undefined || typeof body === 'string' ? (body ?? null) : JSON.stringify(body),
    })
    return {
      code: answer.statusCode,
      body: parsed(await answer.body.text()) as Body,
      headers: joined(answer.headers),
    }
  }
  const close = async (): Promise<void> => {
    for (const connection of connections.values()) await (await connection).close()
  }
  return { call, close }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function joined(headers: Readonly<Record<string, string | string[] | undefined>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value ?? []].flat().join(', ')]),
  )
}

// Access reviews. The API server learns of rights that were just granted by a watch, a moment after they are stored.

/** The user of an access review. */
export interface Person {
  readonly user: string
  /** None when absent. */
  readonly groups?: readonly string[]
}

/** The resource attributes of an access review. */
export interface ReviewedAccess {
  readonly verb: string
  readonly resource: string
  readonly name?: string
  readonly namespace?: string
  readonly group?: string
}

const RIGHTS_WITHIN_MS = 20_000

/** Whether RBAC lets the user make that request, by a SubjectAccessReview. */
export async function may(raw: Raw, who: Person, wish: ReviewedAccess): Promise<boolean> {
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  const review = { spec: { ...who, resourceAttributes: wish } }
  const { code, body } = await raw<{ readonly status: { readonly allowed: boolean } }>(
    'POST',
    path,
    review,
  )
  if (code !== 201) throw new Error(`the review was answered ${code}`)
  return body.status.allowed
}

/** Waits until RBAC lets the user make that request. */
export const untilMay = (raw: Raw, who: Person, wish: ReviewedAccess): Promise<true> =>
  eventually(
    `${who.user} may ${wish.verb} ${wish.resource}`,
    async () => (await may(raw, who, wish)) || undefined,
    { withinMs: RIGHTS_WITHIN_MS },
  )

/** Creates under way at a time. */
const CONCURRENT_CREATES = 32

/** Creates thousands of objects, some at a time. @throws Error when one is refused */
export async function createMany<Kept>(
  { raw }: { readonly raw: Raw },
  resource: Resource,
  objects: readonly NewObject[],
): Promise<readonly Kept[]> {
  const left = [...objects]
  const created: Kept[] = []
  const creators = Array.from({ length: CONCURRENT_CREATES }, async () => {
    for (let object = left.pop(); object; object = left.pop()) {
      const { code, body } = await raw<Kept>('POST', pathOf(resource, {}), object)
      if (code !== 201) throw new Error(`a create was answered ${code}: ${JSON.stringify(body)}`)
      created.push(body)
    }
  })
  await Promise.all(creators)
  return created
}
