// Names in the shipped manifests, and their folder.
import { join } from 'node:path'
import { must } from './kubectl.ts'

/** The folder of the kustomizations. */
export const CONFIG = join(import.meta.dirname, '../../config')

/** The namespace of the shipped manifests. */
export const NAMESPACE = 'platform-system'

/** The namespace of config/sign-in, which not every cluster has. */
const SIGN_IN_NAMESPACE = `${NAMESPACE}-sign-in`

/** The Deployments of the shipped manifests. */
export const DEPLOYMENTS = ['manager', 'gateway', 'delivery'] as const

/** Labels of every object of the shipped manifests, components included. */
export const LABELS = {
  'app.kubernetes.io/name': 'management-operator',
  'app.kubernetes.io/part-of': 'management-operator',
} as const

const PART_OF = 'app.kubernetes.io/part-of' satisfies keyof typeof LABELS

/** Label selector of every object of the product. */
export const SELECTOR = `${PART_OF}=${LABELS[PART_OF]}`

/**
 * Does nothing where the product is in no namespace but ours. An overlay may have put it into another one: its cluster
 * roles and policies are the same objects, so we would take them away from it.
 *
 * @throws Error that names the other namespace, or when kubectl fails
 */
export async function onlyInOurs(): Promise<void> {
  const path = '{range .items[*]}{.metadata.namespace}{"\\n"}{end}'
  const args = [
    'get',
    'serviceaccounts',
    '--all-namespaces',
    '-l',
    SELECTOR,
    '-o',
    `jsonpath=${path}`,
  ]
  const found = (await must(args)).split('\n').filter(Boolean)
  const other = found.find(
    (namespace) => namespace !== NAMESPACE && namespace !== SIGN_IN_NAMESPACE,
  )
  if (other !== undefined)
    throw new Error(
      `the operator is in namespace ${other}, by an overlay: make knows ${NAMESPACE} only. ` +
        'Go on with kubectl and that overlay; docs/install.md, Another namespace.',
    )
}
