// Callers of a gateway by the keys in their hands, who read and write our own kinds.
import { GROUP } from '../../../../src/api/names.ts'
import type { ObjectMeta } from '../../../../src/api/objects.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { eventually } from '../../../support/eventually.ts'
import { type TestGateway, SOON, type UsableKey } from '../test-gateway.ts'

/** What an answer holds, as far as these tests look. */
export interface Held {
  readonly kind: string
  readonly reason?: string
  readonly message?: string
  readonly metadata: ObjectMeta & { readonly continue?: string }
  readonly spec: OwnedAccessKeySpec
  readonly status: JsonMap & { readonly token?: string }
  readonly items: readonly Held[]
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: Held | null }[]
  readonly columnDefinitions: readonly unknown[] | null
}

/** An answer, read. */
export interface Answered {
  readonly code: number
  /** As it came. */
  readonly text: string
  /** Empty where the text is no JSON. */
  readonly json: Held
  readonly headers: Readonly<Record<string, unknown>>
}

/** What a request may hold. */
export interface Sending {
  /** JSON, or text as it is. */
  readonly body?: unknown
  /** Absent: merge patch for PATCH, JSON otherwise. */
  readonly type?: string
  readonly accept?: string
}

/** A key in somebody's hand. */
export interface Hand extends UsableKey {
  readonly name: string
  /** Asks of our group: the path begins with the plural. */
  readonly ask: (method: string, path: string, sending?: Sending) => Promise<Answered>
}

/** Paths of our group. */
export const OURS = `/apis/${GROUP}/v1`

/** A key that an administrator made, in a hand. */
export async function hand(
  front: TestGateway,
  spec: OwnedAccessKeySpec,
  metadata: Partial<ObjectMeta> = {},
): Promise<Hand> {
  return inHand(front, await front.key(spec, metadata))
}

/** A key in a hand. */
export function inHand(front: TestGateway, key: UsableKey): Hand {
  return {
    ...key,
    name: key.object.metadata.name,
    ask: async (method, path, { body, type, accept } = {}) => {
      const merge = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
      const headers = {
        accept: accept ?? 'application/json',
        'user-agent': 'hand/1',
        ...(body === undefined ? {} : { 'content-type': type ?? merge }),
      }
      const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
      const sent = text === undefined ? {} : { body: text }
      const answer = await front.ask(key.token, `${OURS}/${path}`, { method, headers, ...sent })
      return { ...answer, text: answer.body, json: parsed(answer.body) }
    },
  }
}

/** The answer to a watch of a second that tells all: on a busy machine the second may be over before. */
export const tellsAll = (
  watch: () => Promise<Answered>,
  isAll: (text: string) => boolean,
): Promise<Answered> =>
  eventually(
    'a watch tells all',
    async () => {
      const answer = await watch()
      if (answer.code === 200 && !isAll(answer.text)) throw new Error(`it tells ${answer.text}`)
      return answer
    },
    SOON,
  )

function parsed(text: string): Held {
  try {
    return JSON.parse(text) as Held
  } catch {
    return {} as Held
  }
}

/** Table, of this much of the objects in it. */
export const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

/** Metadata alone, of one object and of many. */
export const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
export const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** Types of patches. */
export const JSON_PATCH = 'application/json-patch+json'
export const MERGE_PATCH = 'application/merge-patch+json'
export const APPLY_PATCH = 'application/apply-patch+yaml'
