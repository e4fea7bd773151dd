// What becomes of a host namespace whose virtual one is gone or leads elsewhere, by what is left in it (contract 17.5).
import { nestedString } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { isMadeByEndpointsController } from '../kinds/endpoints.ts'

/** What is in a host namespace besides the objects of its virtual one. `unknown`: not all of it can be read. */
export type NamespaceRest =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'objects' | 'unknown'; readonly content: string }

/**
 * `delete`: nothing is left in a namespace that the syncer made. `unmark`: others have made it, and it is theirs alone.
 * `keep`: it may still be in use, and is examined again. The note is the sentence of its Event.
 */
type EndPlan =
  | { readonly step: 'delete' }
  | { readonly step: 'unmark' | 'keep'; readonly note: string }

/** The plan once the objects of the virtual namespace are deleted. @param rest null = the syncer has not made it */
export function planEnd(hostName: string, rest: NamespaceRest | null): EndPlan {
  if (rest === null) return { step: 'unmark', note: keptNote(hostName, rest) }
  if (rest.kind === 'nothing') return { step: 'delete' }
  return { step: 'keep', note: keptNote(hostName, rest) }
}

/** The sentence for a namespace that stays. @param rest null = the syncer has not made it */
function keptNote(
  hostName: string,
  rest: Exclude<NamespaceRest, { readonly kind: 'nothing' }> | null,
): string {
  const because =
    rest === null
      ? 'the syncer has not made it'
      : rest.kind === 'objects'
        ? `it has ${rest.content}`
        : `not all that it has can be read: ${rest.content}`
  return `The objects of this namespace are deleted from namespace ${hostName} of the host, which stays: ${because}.`
}

/** A kind of object, and the metadata of one. */
interface FoundObject {
  readonly group: string
  readonly plural: string
  readonly metadata: JsonMap
}

/** The label of slices with the controller that made them, and those that make them from Services and Endpoints. */
const SLICE_MADE_BY = 'endpointslice.kubernetes.io/managed-by'
const SLICE_CONTROLLERS = [
  'endpointslice-controller.k8s.io',
  'endpointslicemirroring-controller.k8s.io',
]

/**
 * Whether the host's own controllers put the object into every namespace, or make it from objects that are listed
 * themselves: it holds up no deletion.
 */
export function isOwnContent({ group, plural, metadata }: FoundObject): boolean {
  const name = nestedString(metadata, ['name'])
  switch (`${plural}.${group}`) {
    case 'events.':
    case 'events.events.k8s.io':
      return true
    case 'serviceaccounts.':
      return name === 'default'
    case 'configmaps.':
      return name === 'kube-root-ca.crt'
    case 'endpoints.':
      return isMadeByEndpointsController(metadata)
    case 'endpointslices.discovery.k8s.io':
      return SLICE_CONTROLLERS.includes(nestedString(metadata, ['labels', SLICE_MADE_BY]))
    default:
      return false
  }
}
