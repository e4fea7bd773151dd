// What an account may do, by its own word to the API server.

interface Rule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

/** The answer to a question for one's own rights. */
export interface RulesReview {
  readonly status: {
    readonly incomplete: boolean
    readonly resourceRules: readonly Rule[]
    readonly nonResourceRules: readonly Rule[]
  }
}

const PATH = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'

/**
 * The rights of an account in a namespace, as `verbs: resources names of groups`.
 *
 * @param post sends the question as that account
 */
export async function rulesOf(
  post: (path: string, body: object) => Promise<{ readonly body: RulesReview }>,
  namespace: string,
): Promise<readonly string[]> {
  const { body } = await post(PATH, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace },
  })
  const { incomplete, resourceRules, nonResourceRules } = body.status
  if (incomplete) throw new Error('the API server does not know all rights')
  return [...resourceRules, ...nonResourceRules].map(ruleText)
}

function ruleText({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: Rule): string {
  const list = (values: readonly string[]): string => values.toSorted().join(', ')
  if (nonResourceURLs.length > 0) return `${list(verbs)}: path ${list(nonResourceURLs)}`
  const names = resourceNames.length === 0 ? '' : ` ${list(resourceNames)}`
  const groups = list(apiGroups)
  return `${list(verbs)}: ${list(resources)}${names}${groups === '' ? '' : ` of ${groups}`}`
}
